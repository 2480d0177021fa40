"""Why something was refused, as one word of a closed set: what programs act on, in every surface.

Guarantees: every refusal of the queue has exactly one; a text may change, a word of this set does not; where a question
was decided meanwhile the refusal also says how it stands now.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.moments import rfc3339
from checkvalve.filters.strictjson import JSON


class Cause(enum.StrEnum):
    """One reason. :data:`MEANINGS` has each in words."""

    ALREADY_APPROVED = "already_approved"
    ALREADY_EXECUTING = "already_executing"
    ALREADY_SUCCEEDED = "already_succeeded"
    ALREADY_FAILED = "already_failed"
    ALREADY_UNKNOWN = "already_unknown"
    ALREADY_CONFIRMED_DONE = "already_confirmed_done"
    ALREADY_CONFIRMED_NOT_DONE = "already_confirmed_not_done"
    ALREADY_DENIED = "already_denied"
    ALREADY_REJECTED = "already_rejected"
    ALREADY_EXPIRED = "already_expired"
    ALREADY_CANCELLED = "already_cancelled"
    ALREADY_SUPERSEDED = "already_superseded"
    ALREADY_LAPSED = "already_lapsed"
    ALREADY_INVALIDATED = "already_invalidated"
    ALREADY_REVOKED = "already_revoked"
    QUORUM_OPEN = "quorum_open"
    STALE = "stale"
    NOT_READ = "not_read"
    VOTE_GIVEN = "vote_given"
    ENDED = "ended"
    DONE_ALREADY = "done_already"
    TOO_MANY = "too_many"
    AMBIGUOUS = "ambiguous"
    CONFLICT = "conflict"
    SEEDED = "seeded"
    UNKNOWN = "unknown"
    DIGEST_NEEDED = "digest_needed"
    WRONG_DIGEST = "wrong_digest"
    OWN_CALL = "own_call"
    REQUESTER_UNKNOWN = "requester_unknown"
    NOT_A_PERSON = "not_a_person"
    NOT_YOURS = "not_yours"
    EDITOR_ALONE = "editor_alone"
    SECOND_PERSON = "second_person"
    ROLE_MISSING = "role_missing"
    OUT_OF_SCOPE = "out_of_scope"
    NOT_ON_THIS_CHANNEL = "not_on_this_channel"
    NOT_OFFERED = "not_offered"
    NOT_ALLOWED = "not_allowed"
    STEP_UP_NEEDED = "step_up_needed"
    STEP_UP_OTHER = "step_up_other"
    STEP_UP_OLD = "step_up_old"
    CREDENTIAL = "credential"
    NOT_AUTHENTICATED = "not_authenticated"
    SCOPE_MISSING = "scope_missing"
    NOT_A_REVIEWER = "not_a_reviewer"
    BUDGET_USED_UP = "budget_used_up"
    TOO_OFTEN = "too_often"
    NOT_SHOWN = "not_shown"
    INERT = "inert"
    NOTE_NEEDED = "note_needed"
    EDIT_REFUSED = "edit_refused"
    EDIT_DENIED = "edit_denied"
    UNUSABLE = "unusable"
    USED_UP = "used_up"
    RULES_NOT_ADOPTED = "rules_not_adopted"
    RUN_BUSY = "run_busy"
    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    DAMAGED = "damaged"
    BUSY = "busy"
    FAILED = "failed"


MEANINGS: Final[Mapping[Cause, str]] = {
    Cause.ALREADY_APPROVED: "somebody said yes before; the call has not run yet",
    Cause.ALREADY_EXECUTING: "the call is running",
    Cause.ALREADY_SUCCEEDED: "the call ran and has its result",
    Cause.ALREADY_FAILED: "the call ran and failed",
    Cause.ALREADY_UNKNOWN: "the call ran, and nobody knows how it ended; a person has to look",
    Cause.ALREADY_CONFIRMED_DONE: "a person or a probe looked: the effect happened",
    Cause.ALREADY_CONFIRMED_NOT_DONE: "a person or a probe looked: the effect did not happen",
    Cause.ALREADY_DENIED: "a rule refused the call; nobody is asked",
    Cause.ALREADY_REJECTED: "somebody said no before",
    Cause.ALREADY_EXPIRED: "nobody decided in time",
    Cause.ALREADY_CANCELLED: "whoever asked took the question back, or the run ended",
    Cause.ALREADY_SUPERSEDED: "another call took its place: an edit, or a new message of the user",
    Cause.ALREADY_LAPSED: "it was approved, and the time to run it is over",
    Cause.ALREADY_INVALIDATED: "it was approved, and was not to run any more when it was looked at again",
    Cause.ALREADY_REVOKED: "it was approved, and a person took that back before it ran",
    Cause.QUORUM_OPEN: "the question is open: not enough people have decided it",
    Cause.STALE: "it has changed since you looked at it: look again",
    Cause.NOT_READ: "what the call points at has not been read yet: wait until the agent's process has done so",
    Cause.VOTE_GIVEN: "you, or whom you stand in for, have answered this question before",
    Cause.ENDED: "what you name has ended: a mandate, accepted data, a standing rule, a hand-over, a change of rules",
    Cause.DONE_ALREADY: "it is so already; nothing was changed",
    Cause.TOO_MANY: "there are as many as there may be: end some first",
    Cause.AMBIGUOUS: "this start of an id names several",
    Cause.CONFLICT: "it does not fit what is stored now; the text says why",
    Cause.SEEDED: "this question was made up, and you have answered it",
    Cause.UNKNOWN: "there is none of this id that you may see",
    Cause.DIGEST_NEEDED: "a decision names the call that was looked at, in If-Match",
    Cause.WRONG_DIGEST: "the digest is not that of the stored call, or the revision not the one shown now",
    Cause.OWN_CALL: "you asked for this call, under this account or another one",
    Cause.REQUESTER_UNKNOWN: "nobody knows who asked for this call, so anybody may have",
    Cause.NOT_A_PERSON: "this account is a program's, and decisions are people's",
    Cause.NOT_YOURS: "only whom it belongs to may do this",
    Cause.EDITOR_ALONE: "you made this edit yourself: another person has to look",
    Cause.SECOND_PERSON: "you did the first step yourself: another person has to do this one",
    Cause.ROLE_MISSING: "your account does not have the role that this takes",
    Cause.OUT_OF_SCOPE: "your role does not reach this call: its tool, tenant, risk or amount",
    Cause.NOT_ON_THIS_CHANNEL: "a yes to a call of this risk is not taken here",
    Cause.NOT_OFFERED: "the settings or the review rule of this call do not allow it to anybody",
    Cause.NOT_ALLOWED: "you may not do this; the text says why",
    Cause.STEP_UP_NEEDED: "this takes a fresh proof of who you are, made for exactly this call",
    Cause.STEP_UP_OTHER: "the proof was made for another call or decision, by another person, or was used",
    Cause.STEP_UP_OLD: "the proof is too old",
    Cause.CREDENTIAL: "the credential is wrong, was taken back, or does not open this account any more",
    Cause.NOT_AUTHENTICATED: "there is no token, or none that is accepted",
    Cause.SCOPE_MISSING: "the token lacks the scope that this takes",
    Cause.NOT_A_REVIEWER: "this takes a reviewer's credential, and a program's token is none",
    Cause.BUDGET_USED_UP: "you have said yes as often as one can look within an hour",
    Cause.TOO_OFTEN: "too many tries or connections: try later",
    Cause.NOT_SHOWN: "you were not shown this card, or it is another one than you were shown",
    Cause.INERT: "the card has only just appeared: look at it first",
    Cause.NOTE_NEEDED: "a yes to this call takes a reason in words",
    Cause.EDIT_REFUSED: "the edited call cannot be a call",
    Cause.EDIT_DENIED: "a rule refuses the edited call",
    Cause.UNUSABLE: "what was sent cannot be taken; the text says which part",
    Cause.USED_UP: "what a mandate or a standing rule allows was used up",
    Cause.RULES_NOT_ADOPTED: "this gateway was started with other rules than those in force",
    Cause.RUN_BUSY: "another process is at work on this run",
    Cause.NOT_JSON: "a body is one JSON value, said to be one",
    Cause.TOO_LARGE: "the body is too large",
    Cause.DAMAGED: "what is stored is not what the log says; nothing was done",
    Cause.BUSY: "the store was busy for too long: try again",
    Cause.FAILED: "the gateway cannot do it now; the operator has to look",
}
"""What each cause means, for a person."""


def cause_of(state: str) -> Cause:
    """Return the cause for a move that found a call in ``state``, a word of ``records.State``.

    Raises:
        ValueError: there is no such state.
    """
    return Cause.QUORUM_OPEN if state == "pending" else Cause(f"already_{state}")


@dataclass(frozen=True, slots=True)
class Present:
    """How what was asked about stands now. What is empty is not known here; ``at`` is microseconds since 1970.

    ``by`` is who decided, as the record has it (``reviewer:ann``, ``clock``); ``digest`` is what a decision names.
    """

    state: str = ""
    by: str = ""
    at: int | None = None
    version: int | None = None
    digest: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Return the published members, without what is not known."""
        when = "" if self.at is None else rfc3339(self.at)
        told: dict[str, JSON] = {"state": self.state, "decided_by": self.by, "decided_at": when}
        told |= {"version": self.version, "digest": self.digest}
        return {name: value for name, value in told.items() if value not in {"", None}}


__all__ = ["MEANINGS", "Cause", "Present", "cause_of"]
