"""Edited calls on the agent's side, and deciding one anew where only the store is at hand.

1. The session of the task is rebuilt from the stored history, as another process would rebuild it. 2. The call is
decided as if a guarded model had proposed it with these arguments: in no case with the references or the isolation of
a pipeline, since a person who typed a value has seen content. 3. Results of the turn that proposed the call do not
count, as they did not then. 4. The pinned schema and the sandbox are those that the recorded decision had.

Guarantees: what cannot be rebuilt makes the decision stricter, never milder; where the rules at hand are not those
that the call was decided by, nothing is decided at all; right before the effect the edited call is decided so again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.edits import Decide
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.manifest import manifest_digest
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.verdicts import Verdict
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call, turn_suffix
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession

_ANY_NUMBER: Final = 1_000_000_000
"""Questions that a task may have put: what a person edits is no question of the agent."""
_TURN: Final = 8  # hexadecimal characters of a turn's digest in the name of a call


def deciding(services: Services) -> Decide:
    """Return how edited calls are decided with the rules of this process.

    The function that is returned raises :class:`ConflictError` where the call was decided by other rules.
    """

    def decide(old: Proposal, args: Mapping[str, JSON]) -> Decision:
        _same_rules(services, old)
        items = services.content.items(old.thread)
        call = Call(
            tool=old.tool,
            args=args,
            id=old.call_id,
            server=old.server,
            turn=_turn_of(old.call_id, items),
            schema_digest=_text(old.decision.get("schema_digest")) or None,
            sandboxed=_fact(old, "sandboxed"),
        )
        return _decided(services, old, call)

    return decide


def recheck(services: Services, proposal: Proposal, call: Call) -> Callable[[], Verdict]:
    """Return the check right before the effect of an edited call; ``call`` is the one that its agent proposed."""

    def check() -> Verdict:
        return _decided(services, proposal, as_edited(call, proposal)).verdict

    return check


def as_edited(call: Call, proposal: Proposal) -> Call:
    """Return the call that runs: with the arguments and the name of the record."""
    return replace(call, args=proposal.args(), id=proposal.call_id, references={})


def changed_names(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> list[str]:
    """Return the arguments that differ, by their own names and with no value."""
    return sorted(name for name in {*before, *after} if _differs(before, after, name))


def _differs(before: Mapping[str, JSON], after: Mapping[str, JSON], name: str) -> bool:
    if (name in before) != (name in after):
        return True
    one, two = before[name], after[name]
    return type(one) is not type(two) or one != two


def _decided(services: Services, proposal: Proposal, call: Call) -> Decision:
    session = GuardSession(replace(services, max_questions=_ANY_NUMBER), proposal.thread, proposal.requester)
    return session.decision(call)


def _same_rules(services: Services, old: Proposal) -> None:
    """Refuse to decide by other rules than those of the agent's gateway: they may be milder."""
    here = (services.policy.digest, manifest_digest(services.manifest), services.profile)
    told = tuple(_text(old.decision.get(name)) for name in ("policy_digest", "manifest_digest", "profile"))
    if here != told:
        raise ConflictError(
            "the rules here are not those that this call was decided by",
            remedy="edit it where the settings of the agent's gateway are used, or reject it and say what is wanted",
        )


def _turn_of(call_id: str, items: Iterable[HistoryItem]) -> str:
    """Return the turn that proposed a call, as its results carry it; empty where no result of it is stored.

    A call's name ends with its turn, or with the start of the turn's digest; edits add a number.
    """
    suffix = turn_suffix(call_id).partition("~")[0]
    if not suffix:
        return ""
    values = (item.value for item in items if item.kind == "result" and isinstance(item.value, dict))
    turns = {_text(value.get("turn")) for value in values}
    own = call_id.rpartition("@")[0]
    fitting = sorted(turn for turn in turns if turn and _is_named(turn, suffix))
    return next((turn for turn in fitting if own.startswith(turn.rpartition("/")[0])), "")


def _is_named(turn: str, suffix: str) -> bool:
    digest = hashlib.sha256(turn.encode("utf-8", "surrogatepass")).hexdigest()[:_TURN]
    return suffix in {turn, turn.rpartition("/")[2], digest}


def _fact(old: Proposal, name: str) -> bool:
    facts = old.decision.get("facts")
    return isinstance(facts, dict) and facts.get(name) is True


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


__all__ = ["as_edited", "changed_names", "deciding", "recheck"]
