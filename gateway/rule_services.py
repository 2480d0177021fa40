"""The parts that decide calls, as settings describe them, for whoever decides beside a gateway: edits and undoings.

Guarantees: everything that decides is what the gateway of these settings has, its own files and its sandbox included;
nothing here runs an agent, signs or checks what was adopted.
"""

from __future__ import annotations

from pathlib import Path

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.gateway.app import own_paths
from checkvalve.gateway.inbound import inbound_of
from checkvalve.gateway.outbound import outbound_rules
from checkvalve.gateway.rulefiles import RuleFiles
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.services import Services


def rule_services(queue: Queue, settings: Settings, settings_file: Path | None, rules: RuleFiles) -> Services:
    """Return the parts; ``settings_file`` is where the settings came from, which no tool may touch.

    Raises:
        SettingsError: a filter that they name cannot be used.
    """
    return Services(
        manifest=rules.manifest,
        policy=rules.policy,
        queue=queue,
        executor=Executor(queue),
        content=SqlContentStore(queue.store),
        profile=settings.profile,
        protected=own_paths(settings, settings_file),
        sandbox=settings.sandbox != "off",
        inbound=inbound_of(settings, (outbound := outbound_rules(settings)).registered),
        outbound=outbound,
    )


__all__ = ["rule_services"]
