"""The one error tree of this folder: every refusal names what is wrong and, where one is known, what to do about it.

Guarantees: each has a ``cause`` of the closed set in :mod:`causes`, which is what programs act on; no text is. The
finer kinds of a refusal are in :mod:`refusals`.
"""

from __future__ import annotations

from typing import ClassVar

from checkvalve.approvals.causes import Cause, Present


class ApprovalError(Exception):
    """Root of every error raised by ``approvals``. ``remedy`` is one sentence a person can act on, or empty."""

    usual: ClassVar[Cause] = Cause.FAILED
    """The cause where whoever raises it names none."""

    def __init__(
        self, message: str, *, remedy: str = "", cause: Cause | None = None, present: Present | None = None
    ) -> None:
        """Keep message, remedy and cause apart; ``present`` is how it stands now, where that is what was refused."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.cause = cause or self.usual
        self.present = present

    def __str__(self) -> str:
        """Return the message, followed by the remedy when there is one."""
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class ConfigError(ApprovalError):
    """A file the deployer wrote cannot be used; says which file, which line and which field."""

    usual = Cause.UNUSABLE

    def __init__(
        self, message: str, *, file: str = "", line: int | None = None, field: str = "", remedy: str = ""
    ) -> None:
        """Remember where the problem is; ``line`` counts from 1, ``field`` is a dotted path."""
        super().__init__(message, remedy=remedy)
        self.file = file
        self.line = line
        self.field = field

    def __str__(self) -> str:
        """Return ``file:line: field: message (remedy)``, leaving out what is not known."""
        place = (
            f"{self.file}:{self.line}"
            if self.file and self.line
            else self.file or (f"line {self.line}" if self.line else "")
        )
        return ": ".join(part for part in (place, self.field, super().__str__()) if part)


class ManifestError(ConfigError):
    """The tool manifest cannot be used."""


class PolicyError(ConfigError):
    """The Cedar policy or its schema cannot be used; ``field`` is the rule's ``@id`` where one is known."""


class ReviewRulesError(ConfigError):
    """The file of review rules cannot be used, or asks for people whom nobody is."""


class MandateError(ApprovalError):
    """A mandate cannot be what it says; nothing was granted."""

    usual = Cause.UNUSABLE


class MandateSpentError(ApprovalError):
    """What a mandate allows was used up, or the mandate ended, after the call was decided: decide it again."""

    usual = Cause.USED_UP


class StandingRuleError(ApprovalError):
    """A standing rule cannot be what it says, or cannot be made of this call; nothing was made."""

    usual = Cause.UNUSABLE


class NotAdoptedError(ApprovalError):
    """The rules that were loaded are not those that people adopted; nothing was decided or run under them."""

    usual = Cause.RULES_NOT_ADOPTED


class StoreError(ApprovalError):
    """The store cannot do its work; nothing was executed."""


class StoreUnreachableError(StoreError):
    """The database cannot be opened or reached."""


class StoreCorruptError(StoreError):
    """The database answers, but what it holds cannot be trusted."""

    usual = Cause.DAMAGED


class StoreBusyError(StoreError):
    """Another writer held the database for longer than the time allowed."""

    usual = Cause.BUSY


class QueueError(ApprovalError):
    """A move in the review queue was refused."""

    usual = Cause.UNUSABLE


class NotFoundError(QueueError):
    """No such proposal."""

    usual = Cause.UNKNOWN


class ConflictError(QueueError):
    """The proposal is not in the state this move starts from."""

    usual = Cause.CONFLICT


class NotAllowedError(QueueError):
    """This person may not decide this proposal."""

    usual = Cause.NOT_ALLOWED


class BudgetError(QueueError):
    """This person has said yes as often as one can look within an hour: the question waits, or somebody else looks."""

    usual = Cause.BUDGET_USED_UP


class RoleNeededError(NotAllowedError):
    """This person's roles do not reach as far; the remedy says whose do."""

    usual = Cause.ROLE_MISSING


class OtherChannelError(NotAllowedError):
    """A yes to this call is not taken here; the remedy says where it is."""

    usual = Cause.NOT_ON_THIS_CHANNEL


class NoteNeededError(QueueError):
    """A yes to this call takes a reason in words, and none was given."""

    usual = Cause.NOTE_NEEDED


class CredentialError(ApprovalError):
    """A reviewer's credential is missing, unknown or wrong."""

    usual = Cause.CREDENTIAL


class StepUpError(QueueError):
    """This decision takes a fresh proof of who decides, made for exactly this call; there was none, or another one."""

    usual = Cause.STEP_UP_NEEDED


class AccountError(QueueError):
    """A password, passkey, link or identity cannot be what was asked for; nothing was changed."""


class StoreVersionError(StoreError):
    """The database was written by another version, or by another program."""


class DigestError(QueueError):
    """The decision was not bound to what is stored: the digest prefix is too short or does not match."""

    usual = Cause.WRONG_DIGEST


class EditRefusedError(QueueError):
    """An edit of a call cannot be a call, or a rule refuses what it makes of it; the question stays as it was.

    ``rule`` is the rule that refused it, empty where none did.
    """

    usual = Cause.EDIT_REFUSED
    rule = ""

    @classmethod
    def by_rule(cls, rule: str, remedy: str) -> EditRefusedError:
        """Return the error for an edited call that a rule refuses."""
        error = cls(f"the edited call is refused by the rule {rule}", remedy=remedy, cause=Cause.EDIT_DENIED)
        error.rule = rule
        return error


class OutcomeUnknownError(ApprovalError):
    """Raise it from an effect that started and cannot say how it ended: the call becomes ``unknown``, never a retry."""


class NotStartedError(ApprovalError):
    """What has to come right before an effect failed, so the effect was not begun."""


class LeaseHeldError(QueueError):
    """Another run is at work on this thread."""

    usual = Cause.RUN_BUSY

    code = "lease_held"


class LeaseLostError(QueueError):
    """The lease of this run is over, or somebody else has taken it: stop, and save nothing more."""

    usual = Cause.RUN_BUSY

    code = "lease_lost"


class LogError(ApprovalError):
    """The audit log cannot be signed or judged: a key, a checkpoint or a file is missing, bad or of another log."""


class SignerError(LogError):
    """What holds a key of the log cannot be reached, or gave no signature of that key. Nothing was signed with it."""


class LogTamperedError(LogError):
    """The audit log is not what was signed: events were changed, removed, or an older state was put back."""

    usual = Cause.DAMAGED
