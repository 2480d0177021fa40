"""Deciding edited calls where reviewers are: in the terminal and on the pages, beside agents that run elsewhere.

Manifest, policy and filters are loaded from the same settings as a gateway's, when the first edit needs them. Where
they cannot be, or are not those that a call was decided by, an edit is refused and the question stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.edits import Decide
from checkvalve.approvals.errors import ConfigError, EditRefusedError, NotAdoptedError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.errors import GatewayError
from checkvalve.gateway.rule_services import rule_services
from checkvalve.gateway.rulefiles import load_adopted, rule_files
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.edited import deciding
from checkvalve.graphs.services import Services

Deciding: TypeAlias = Callable[[Queue], Decide]
"""Gives, for a queue, what decides edited calls."""


def deciding_by(settings: Settings, settings_file: Path | None = None) -> Deciding:
    """Return what decides edited calls by these settings; nothing is loaded before it is needed."""
    lock, known = Lock(), dict[int, Decide]()

    def for_queue(queue: Queue) -> Decide:
        def decide(old: Proposal, args: Mapping[str, JSON]) -> Decision:
            with lock:
                if id(queue) not in known:
                    known[id(queue)] = deciding(_loaded(queue, settings, settings_file))
            return known[id(queue)](old, args)

        return decide

    return for_queue


def _loaded(queue: Queue, settings: Settings, settings_file: Path | None) -> Services:
    try:
        return _services(queue, settings, settings_file)
    except (ConfigError, GatewayError, NotAdoptedError) as error:
        raise EditRefusedError(
            f"the rules of the agent's gateway cannot be loaded here: {error}",
            remedy="use the settings file of that gateway",
        ) from error


def _services(queue: Queue, settings: Settings, settings_file: Path | None) -> Services:
    """Return the parts that deciding needs, and nothing that runs or signs.

    Raises:
        EditRefusedError: no manifest is named.
        ConfigError, GatewayError: a file of rules cannot be used.
        NotAdoptedError: people adopted other rules than these.
    """
    if settings.manifest is None:
        raise EditRefusedError(
            "an edit is decided by the rules of the agent's gateway, and no manifest is set here",
            remedy="use the settings file of that gateway",
        )
    rules = rule_files(settings)
    load_adopted(queue.adopted, queue.store, queue.clock(), rules.texts)
    return rule_services(queue, settings, settings_file, rules)


__all__ = ["Deciding", "deciding_by"]
