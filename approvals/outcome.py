"""How a call ended, as a value: what is stored, and what the executor hands back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Final

from checkvalve.approvals.errors import NotStartedError, OutcomeUnknownError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.strictjson import JSON

MAX_RESULT: Final = 16 * 1024 * 1024
"""Characters of a stored result; a larger one still succeeded, but a second reader is told that it was not kept."""
MAX_ERROR: Final = 4_096
"""Characters of a tool's error text that are kept; the text is untrusted content like any result."""

RETRY_FAILED: Final = "retry_failed"
"""Why a call is unknown of which a further try failed: that says nothing about the tries before it."""
NOT_KEPT: Final = "checkvalve_result_not_kept"
"""The only key of what is stored in place of a result that could not be kept; its value says why."""

ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE})
"""States after an attempt."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a proposal.

    ``ran_here`` is true for the one caller whose effect ran. ``error`` has ``type`` and ``text`` as the tool gave them
    (untrusted text), and ``raised`` is the exception itself, only where it was raised here.
    """

    proposal: Proposal
    result: JSON = None
    error: dict[str, JSON] | None = None
    ran_here: bool = False
    raised: Exception | None = field(default=None, compare=False)

    @property
    def state(self) -> State:
        """Where the proposal stands."""
        return self.proposal.state

    @property
    def executed(self) -> bool:
        """Say whether an attempt was made, here or elsewhere, now or earlier."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Ending:
    """How an effect ended, before it is recorded."""

    state: State
    code: str
    result: str | None = None
    error: dict[str, JSON] | None = None


def returned(value: object) -> Ending:
    """Return the ending of an effect that returned ``value``: it happened, whether or not the value can be kept."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        return Ending(State.SUCCEEDED, "returned", json.dumps({NOT_KEPT: type(error).__name__}))
    if len(text) > MAX_RESULT:
        return Ending(State.SUCCEEDED, "returned", json.dumps({NOT_KEPT: "too_long"}))
    return Ending(State.SUCCEEDED, "returned", text)


def raised(error: BaseException, idempotency: Idempotency, *, again: bool = False) -> Ending:
    """Return the ending of an effect that raised; ``again``: an earlier try of it may have had its effect.

    1. What has to come before the effect failed, so that it was not begun: failed.
    2. The tool says that it does not know, or was cut off in the middle (cancelled, interrupted): unknown.
    3. The connection broke or ran out of time after it may have been used: unknown, except for a tool that only reads.
    4. Anything else: the tool spoke, and what it said is that it failed.
    5. A further try with the same key that failed in whatever way: unknown, since the one before it may not have.
    """
    return _after_others(_first(error, idempotency), idempotency, again=again)


def not_started(idempotency: Idempotency, *, again: bool = False) -> Ending:
    """Return the ending of a claim that was given up before the effect began; ``again`` as for :func:`raised`."""
    return _after_others(NOT_STARTED, idempotency, again=again)


def _after_others(ending: Ending, idempotency: Idempotency, *, again: bool) -> Ending:
    """Do step 5."""
    if not again or idempotency is not Idempotency.KEY or ending.state is not State.FAILED:
        return ending
    return replace(ending, state=State.UNKNOWN, code=RETRY_FAILED)


def _first(error: BaseException, idempotency: Idempotency) -> Ending:
    told: dict[str, JSON] = {"type": type(error).__name__, "text": str(error)[:MAX_ERROR]}
    if isinstance(error, NotStartedError):
        return Ending(State.FAILED, "not_started", error=told)
    if isinstance(error, OutcomeUnknownError) or not isinstance(error, Exception):
        return Ending(State.UNKNOWN, "cut_off", error=told)
    broken = isinstance(error, TimeoutError | ConnectionError) and not isinstance(error, ConnectionRefusedError)
    if broken and idempotency is not Idempotency.READ:
        return Ending(State.UNKNOWN, "connection_lost", error=told)
    return Ending(State.FAILED, "raised", error=told)


NOT_STARTED: Final = Ending(
    State.FAILED, "not_started", error={"type": "NotStarted", "text": "the call was given up before it began"}
)
"""The ending of a claim that was given up before the effect began: nothing happened, and that is known."""
