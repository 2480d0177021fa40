"""What the events say of one proposal, taken in one after the other: pure, and the other side of ``tablecheck``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from checkvalve.approvals.accounts_said import KINDS, AccountSaid
from checkvalve.approvals.doubts import DOUBTED
from checkvalve.approvals.handed import HANDED, Told
from checkvalve.approvals.quorum_said import QUORUM_KINDS, QuorumTold
from checkvalve.approvals.reliedcheck import Relied, relied_on
from checkvalve.approvals.ruleset_said import KINDS as RULE_KINDS
from checkvalve.approvals.ruleset_said import RulesTold
from checkvalve.approvals.seed_said import KINDS as SEEDED
from checkvalve.approvals.seed_said import SeedTold
from checkvalve.approvals.standing_check import STANDING, StandingTold
from checkvalve.approvals.talked import TALK, Talk
from checkvalve.approvals.undo_check import UNDO_KINDS, UndoTold

ENDORSEMENT: Final = ("thread", "value_digest", "source", "role", "tool", "kind")
"""The columns that make an endorsement the one it is."""
NOT_HERE: Final = -1
"""In the place of when an account was added, where other events say so."""
_COLUMNS: Final = (
    "thread",
    "call_id",
    "requester",
    "server",
    "tool",
    "mode",
    "verdict",
    "rule",
    "reason",
    "decide_by",
)
"""What the first event holds of a proposal in plain words, in every version of this program."""

_PARTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(HANDED, "handed"),
    **dict.fromkeys(QUORUM_KINDS, "quorum"),
    **dict.fromkeys(UNDO_KINDS, "undo"),
    **dict.fromkeys(TALK, "talk"),
    **dict.fromkeys(SEEDED, "seed"),
}
"""Which part of :class:`Seen` takes in the events of a kind."""


@dataclass(slots=True)
class Seen:
    """What the events say of one subject; the empty subject has the reviewers."""

    state: str = ""
    version: int = 0
    at: int = 0
    digest: str = ""
    decision: str = ""
    record: str = ""  # of everything that never changes; empty where an older version wrote the event
    columns: dict[str, str] = field(default_factory=dict)
    torn: bool = False  # a move that did not start from where the one before had ended: the row was edited between
    by: str | None = None
    code: str = ""
    note_: str = ""
    self_approved: bool = False
    granted_by: str = ""
    granted_at: int = 0
    execute_by: str | None = None
    attempt: dict[str, Any] | None = None
    endorsed: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    mandate: dict[str, Any] | None = None
    relied: Relied = frozenset()  # what the permit of a call rests on; empty where an older version recorded it
    used: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)  # by item and the call that used it
    reviewers: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    disabled: dict[str, int] = field(default_factory=dict)
    account: AccountSaid | None = None  # of an account, a session, or who proved themselves for this call
    handed: Told = field(default_factory=Told)  # who stands in, who broke the glass, who was reminded
    quorum: QuorumTold = field(default_factory=QuorumTold)  # how this call is answered, and who said what; or roles
    undo: UndoTold = field(default_factory=UndoTold)  # what undoes this call
    talk: Talk = field(default_factory=Talk)  # what was asked and answered about this call, and who put it off
    standing: StandingTold = field(default_factory=StandingTold)  # a standing rule, and what used it up
    rules: RulesTold = field(default_factory=RulesTold)  # which rules a gateway may run under, and who agreed
    seed: SeedTold = field(default_factory=SeedTold)  # a seeded item, or a consent to such
    erased: str = ""  # the digest of its rows, where its content was erased: its events say nothing else any more

    doubted: bool = False  # its log was closed in doubt: it is compared with the digest, and nothing relies on it

    def has(self, what: str) -> bool:
        """Say whether there is such a row: a ``proposal``, its ``permit`` or its ``attempt``."""
        there = {"proposal": bool(self.state), "permit": bool(self.granted_by), "attempt": self.attempt is not None}
        return there[what]

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event."""
        if kind == DOUBTED:
            self._doubt(body)
        elif (part := _PARTS.get(kind)) is not None:
            getattr(self, part).note(kind, body, at)
        elif kind.startswith(STANDING):
            self.standing.note(kind, body, at)
        elif kind.startswith(RULE_KINDS):
            self.rules.note(kind, body, at)
        elif kind.startswith(KINDS):
            self.account = self.account or AccountSaid()
            self.account.note(kind, body, at)
        elif kind.startswith("endorsement."):
            self._note_endorsement(kind, body, at)
        elif kind.startswith("mandate."):
            self._note_mandate(kind, body, at)
        elif kind.startswith("reviewer."):
            self._note_reviewer(kind, body, at)
        else:
            self._note_call(kind, body, at)

    def _doubt(self, body: Mapping[str, Any]) -> None:
        """Forget what was said before: the log was closed, and this is in doubt."""
        for name, empty in ((one.name, getattr(Seen(), one.name)) for one in fields(self)):
            setattr(self, name, empty)
        self.doubted, self.erased = True, str(body.get("rows_digest") or "")

    def _note_reviewer(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in what is about an account."""
        name = str(body.get("reviewer"))
        if kind == "reviewer.added":
            self.reviewers[name] = (str(body.get("credential")), str(body.get("by")), at)
        elif kind == "reviewer.token":
            _, by, added = self.reviewers.get(name, ("", "", NOT_HERE))
            self.reviewers[name] = (str(body.get("credential")), by, added)
        elif kind == "reviewer.disabled":
            self.disabled[name] = at

    def _note_call(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in what is about a call, its permit, its attempt or its erasure."""
        if kind.startswith("proposal."):
            self._note_move(kind, body, at)
        elif kind == "grant.issued":
            self.granted_by, self.granted_at = str(body.get("issued_by")), at
            self.execute_by = str(body.get("execute_by"))
        elif kind == "attempt.intent":
            told = {name: body.get(name) for name in ("fence", "owner", "idempotency_key", "lease_until")}
            self.attempt = {**told, "started_at": at, "finished_at": None, "result": None, "error": None}
        elif kind == "attempt.late" and body.get("kept", False):
            self._note_end(body, at)
        elif kind == "content.erased":
            self._note_erasure(body)

    def _note_move(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        version = _number(body.get("version"))
        started = kind == "proposal.recorded" or body.get("from") == self.state
        self.torn = self.torn or not started or version != self.version + 1
        self.state, self.version, self.at = str(body.get("state")), version, at
        self.digest = str(body.get("digest"))
        if kind == "proposal.recorded":
            self.decision = str(body.get("decision_digest"))
            self.record = str(body.get("record_digest") or "")
            self.quorum.plan = str(body.get("plan_digest") or "")
            self.columns = {name: str(body.get(name)) for name in _COLUMNS}
            relied = relied_on(body.get("uses"), at)
            self.relied, self.torn = relied or frozenset(), self.torn or relied is None
        self.by = None if body.get("by") is None else str(body["by"])  # an older version did not say who began it
        self.code, self.note_ = str(body.get("code") or ""), str(body.get("note") or "") or self.note_
        self.self_approved = self.self_approved or body.get("self_approved") is True
        if "error" in body:  # the move is an attempt's end
            self._note_end(body, at)

    def _note_erasure(self, body: Mapping[str, Any]) -> None:
        self.erased = str(body.get("rows_digest"))
        told = body.get("used")
        uses = [use for use in told if isinstance(use, list)] if isinstance(told, list) else []
        self.used = {(str(item), str(proposal)): ("", _number(at)) for item, proposal, at in uses}

    def _note_endorsement(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        key = tuple(str(body.get(name)) for name in ENDORSEMENT)
        if kind == "endorsement.stored":
            given = {"endorsed_by": str(body.get("by")), "endorsed_at": at, "ended_at": None, "ended_by": ""}
            deadline = {"expires_at": body["expires_at"]} if "expires_at" in body else {}
            self.endorsed[key] = {**given, **deadline}
        elif kind == "endorsement.used":
            self.used[str(body.get("endorsement")), str(body.get("proposal"))] = ("", at)
        elif key in self.endorsed:
            self.endorsed[key] |= {"ended_at": at, "ended_by": str(body.get("by"))}

    def _note_mandate(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        if kind == "mandate.granted":
            plain = ("tenant", "thread", "requester", "expires_at", "mandate_digest", "version")
            told = {name: body.get(name) for name in plain}
            self.mandate = {**told, "granted_by": body.get("by"), "granted_at": at, "ended_at": None, "ended_by": ""}
        elif self.mandate is not None:
            self.torn = self.torn or _number(body.get("version")) != _number(self.mandate["version"]) + 1
            self.mandate["version"] = body.get("version")
            if kind == "mandate.used":
                self.used["", str(body.get("proposal"))] = (str(body.get("amount")), at)
            else:
                self.mandate |= {"ended_at": at, "ended_by": str(body.get("by"))}

    def _note_end(self, body: Mapping[str, Any], at: int) -> None:
        if self.attempt is None:
            return
        self.attempt["finished_at"] = at
        for name in ("result", "error"):
            if f"{name}_digest" in body:
                self.attempt[name] = body[f"{name}_digest"]
            else:
                self.attempt.pop(name, None)  # an older version kept no digest: it cannot be compared


@dataclass(slots=True)
class People:
    """What the events say of the accounts: of each the digest of its credential, who added it and when, and its end."""

    reviewers: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    disabled: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, seen: Mapping[str, Seen]) -> People:
        """Put together what stands under the accounts' own names, and what an older version wrote in one place."""
        found, older = cls(), seen.get("", Seen())
        for said in (older, *(one for name, one in seen.items() if name and (one.reviewers or one.disabled))):
            for name, told in said.reviewers.items():
                earlier = found.reviewers.get(name, ("", "", 0))
                found.reviewers[name] = (told[0], *earlier[1:]) if told[2] == NOT_HERE else told
            found.disabled |= said.disabled
        return found


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0  # an edited event may hold anything
