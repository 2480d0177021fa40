"""The finer kinds of what the queue refuses: leaves of the tree of errors, each with a cause of its own."""

from __future__ import annotations

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.errors import ConflictError, NotAllowedError, RoleNeededError, StepUpError


class StaleError(ConflictError):
    """Somebody changed it between the look and the answer: look again."""

    usual = Cause.STALE


class EndedError(ConflictError):
    """What is named has ended, or waits no more."""

    usual = Cause.ENDED


class DoneAlreadyError(ConflictError):
    """It is so already."""

    usual = Cause.DONE_ALREADY


class TooManyError(ConflictError):
    """There are as many as there may be."""

    usual = Cause.TOO_MANY


class AmbiguousError(ConflictError):
    """The start of an id names several, or is too short to name one."""

    usual = Cause.AMBIGUOUS


class NotReadError(ConflictError):
    """What a call points at has not been read yet, so a yes would be bound to no version of it."""

    usual = Cause.NOT_READ


class VoteGivenError(ConflictError):
    """This voice was used; ``present`` says by whom and when."""

    usual = Cause.VOTE_GIVEN


class SeededError(ConflictError):
    """This question was made up, and was answered."""

    usual = Cause.SEEDED


class OwnCallError(NotAllowedError):
    """Whoever asked for a call decides nothing about it."""

    usual = Cause.OWN_CALL


class RequesterUnknownError(NotAllowedError):
    """Nobody knows who asked, so everybody may have."""

    usual = Cause.REQUESTER_UNKNOWN


class NotYoursError(NotAllowedError):
    """Only whom it belongs to may do this."""

    usual = Cause.NOT_YOURS


class EditorAloneError(NotAllowedError):
    """Who edited a call is not the one who lets it run."""

    usual = Cause.EDITOR_ALONE


class SecondPersonError(NotAllowedError):
    """Another person has to do this than who did the step before it."""

    usual = Cause.SECOND_PERSON


class NotOfferedError(NotAllowedError):
    """Settings or review rules let nobody do this."""

    usual = Cause.NOT_OFFERED


class OutOfScopeError(RoleNeededError):
    """The role is there, and does not reach this call."""

    usual = Cause.OUT_OF_SCOPE


class StepUpOtherError(StepUpError):
    """The proof was made for something else, by somebody else, or was used."""

    usual = Cause.STEP_UP_OTHER


class StepUpOldError(StepUpError):
    """The proof is too old."""

    usual = Cause.STEP_UP_OLD


__all__ = [
    "AmbiguousError",
    "DoneAlreadyError",
    "EditorAloneError",
    "EndedError",
    "NotOfferedError",
    "NotReadError",
    "NotYoursError",
    "OutOfScopeError",
    "OwnCallError",
    "RequesterUnknownError",
    "SecondPersonError",
    "SeededError",
    "StaleError",
    "StepUpOldError",
    "StepUpOtherError",
    "TooManyError",
    "VoteGivenError",
]
