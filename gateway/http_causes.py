"""Which HTTP status each cause has, and the coarser word beside it.

1. 410: what was asked about is over for good, and asking again changes nothing. 2. 409: it is otherwise than the
request takes it for, or somebody else's answer was first; look again. 3. 403: not with these rights, roles, proofs, or
not here. 4. 412 and 428: the digest in ``If-Match`` is another one, or missing. 5. 422: what was sent cannot be taken.
6. 503: not now.

Guarantees: the status follows from the cause alone, and no handler reads a message; what is not an answer of the queue
keeps its words to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.errors import (
    AccountError,
    ApprovalError,
    BudgetError,
    ConflictError,
    CredentialError,
    DigestError,
    EditRefusedError,
    MandateError,
    MandateSpentError,
    NotAdoptedError,
    NotAllowedError,
    NoteNeededError,
    QueueError,
    StandingRuleError,
    StepUpError,
)

STATUS: Final[Mapping[Cause, int]] = {
    **{cause: 410 for cause in Cause if cause.startswith("already_")},
    Cause.ALREADY_APPROVED: 409,
    Cause.ALREADY_REJECTED: 409,  # who lost a race is told so in one way, whoever won it
    Cause.ALREADY_EXECUTING: 409,
    Cause.ALREADY_UNKNOWN: 409,
    Cause.ENDED: 410,
    Cause.SEEDED: 410,
    Cause.QUORUM_OPEN: 409,
    Cause.STALE: 409,
    Cause.NOT_READ: 409,
    Cause.VOTE_GIVEN: 409,
    Cause.DONE_ALREADY: 409,
    Cause.TOO_MANY: 409,
    Cause.AMBIGUOUS: 409,
    Cause.CONFLICT: 409,
    Cause.USED_UP: 409,
    Cause.RULES_NOT_ADOPTED: 409,
    Cause.RUN_BUSY: 409,
    Cause.NOT_SHOWN: 409,
    Cause.INERT: 425,
    Cause.UNKNOWN: 404,
    Cause.DIGEST_NEEDED: 428,
    Cause.WRONG_DIGEST: 412,
    Cause.OWN_CALL: 403,
    Cause.REQUESTER_UNKNOWN: 403,
    Cause.NOT_A_PERSON: 403,
    Cause.NOT_YOURS: 403,
    Cause.EDITOR_ALONE: 403,
    Cause.SECOND_PERSON: 403,
    Cause.ROLE_MISSING: 403,
    Cause.OUT_OF_SCOPE: 403,
    Cause.NOT_ON_THIS_CHANNEL: 403,
    Cause.NOT_OFFERED: 403,
    Cause.NOT_ALLOWED: 403,
    Cause.STEP_UP_NEEDED: 403,
    Cause.STEP_UP_OTHER: 403,
    Cause.STEP_UP_OLD: 403,
    Cause.CREDENTIAL: 403,
    Cause.NOT_AUTHENTICATED: 401,
    Cause.SCOPE_MISSING: 403,
    Cause.NOT_A_REVIEWER: 403,
    Cause.BUDGET_USED_UP: 429,
    Cause.TOO_OFTEN: 429,
    Cause.NOTE_NEEDED: 422,
    Cause.EDIT_REFUSED: 422,
    Cause.EDIT_DENIED: 422,
    Cause.UNUSABLE: 422,
    Cause.NOT_JSON: 415,
    Cause.TOO_LARGE: 413,
    Cause.DAMAGED: 503,
    Cause.BUSY: 503,
    Cause.FAILED: 503,
}
"""The status of an answer that is refused for this cause."""


def code_of(error: ApprovalError) -> str:
    """Return the coarser word for what was refused; empty for what is no answer of the queue: its words stay here."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "")
    if STATUS[error.cause] == _NOT_NOW:
        return ""
    if isinstance(error, ConflictError) and error.cause.startswith("already_"):
        return "expired" if error.cause in _LATE else "decided"
    return code


_NOT_NOW: Final = 503
_LATE: Final = frozenset({Cause.ALREADY_EXPIRED, Cause.ALREADY_LAPSED})
_CODES: Final[tuple[tuple[type[ApprovalError], str], ...]] = (
    (NotAllowedError, "not_allowed"),
    (StepUpError, "step_up_required"),
    (CredentialError, "credential"),
    (BudgetError, "budget_used_up"),
    (DigestError, "other_digest"),
    (NoteNeededError, "note_needed"),
    (EditRefusedError, "edit_refused"),
    (ConflictError, "conflict"),
    (AccountError, "refused"),
    (QueueError, "refused"),
    (NotAdoptedError, "rules_not_adopted"),
    (MandateError, "invalid_mandate"),
    (MandateSpentError, "conflict"),
    (StandingRuleError, "no_such_standing_rule"),
)
"""The coarser word for a kind of refusal; the first that fits."""


__all__ = ["STATUS", "code_of"]
