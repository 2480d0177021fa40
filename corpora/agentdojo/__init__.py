"""AgentDojo without a model: every user task, every attack, and an actor that is fully in the attacker's hands."""

from __future__ import annotations

from checkvalve.corpora.agentdojo.run import DEFAULT_VERSION, GUARDS, SCHEDULES, SUITES, run_agentdojo

__all__ = ["DEFAULT_VERSION", "GUARDS", "SCHEDULES", "SUITES", "run_agentdojo"]
