"""The look that has to follow a broken glass: open until another person has looked and written what they found.

Guarantees: one is opened in the transaction that breaks the glass, and closed once, with its event; neither who broke
the glass nor who asked for the call closes it, under any account; and not before the call has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import askers, audit, moves, reach
from checkvalve.approvals.clock import Clock, rfc3339
from checkvalve.approvals.errors import ConflictError, NotFoundError, QueueError, StoreCorruptError
from checkvalve.approvals.handed import CLOSED, GLASS, OPENED, REVIEWER
from checkvalve.approvals.own_call import own_call
from checkvalve.approvals.people import same_person
from checkvalve.approvals.records import State
from checkvalve.approvals.refusals import DoneAlreadyError, SecondPersonError
from checkvalve.approvals.review_tables import afterlooks
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, account_of, require_role
from checkvalve.approvals.spoken import kept, letters
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import events
from checkvalve.filters.strictjson import JSON

LOOKERS: Final = (Role.AUDITOR, Role.APPROVER, Role.ADMINISTRATOR)
"""Who may look afterwards."""
MIN_FINDING: Final = 20
MAX_FINDING: Final = 2_000
"""Characters of what somebody found."""
_TOO_SOON: Final = frozenset({State.APPROVED, State.EXECUTING})
_row = afterlooks.c


@dataclass(frozen=True, slots=True)
class Glass:
    """The settings: whether there is a glass to break at all, and how many after-looks may be open at a time."""

    enabled: bool = False
    max_open: int = 3


@dataclass(frozen=True, slots=True)
class AfterLook:
    """One call for which the glass was broken, by whom and why; and what another person found, empty until then.

    ``disagreed``: whoever looked would not have let it run.
    """

    proposal_id: str
    by: str
    at: int
    reason: str
    looked_by: str = ""
    looked_at: int | None = None
    finding: str = ""
    disagreed: bool = False

    @property
    def is_open(self) -> bool:
        """Say whether nobody has looked yet."""
        return self.looked_at is None

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {
            "approval": self.proposal_id,
            "state": "open" if self.is_open else "closed",
            "by": self.by,
            "at": rfc3339(self.at),
            "reason": self.reason,
            "looked_by": self.looked_by,
            "looked_at": None if self.looked_at is None else rfc3339(self.looked_at),
            "finding": self.finding,
            "disagreed": self.disagreed,
        }


Found = list[AfterLook]


class AfterLooks:
    """The after-looks in one store."""

    def __init__(self, store: Store, clock: Clock, people: Reviewers) -> None:
        """Read nothing yet; ``people`` checks that whoever looks still is a reviewer."""
        self._store = store
        self._clock = clock
        self._people = people

    def list(self, *, everything: bool = False) -> Found:
        """Return those that are open, or all that there ever were, oldest first."""
        with self._store.read() as connection:
            return entries(connection, everything=everything)

    def close(self, proposal_id: str, reviewer: Reviewer, finding: str, *, disagreed: bool = False) -> AfterLook:
        """Write down what somebody found who looked at the call and its effect, and whether it should not have run.

        Raises:
            CredentialError: no reviewer any more.
            NotFoundError: no glass was broken for this call.
            NotAllowedError: not their role, or they broke the glass or asked for the call themselves.
            ConflictError: somebody has looked already, or the call has not ended.
            QueueError: the finding is too short or too long.
            StoreCorruptError: the record was changed beside the log.
        """
        said = words(finding, "a finding", MIN_FINDING, MAX_FINDING)
        with self._store.write() as connection:
            now = self._clock()
            self._people.require(connection, reviewer)
            found = find(connection, proposal_id)
            if found is None:
                raise NotFoundError("no glass was broken for this call", remedy="checkvalve approvals afterlook list")
            require_recorded(connection, proposal_id)
            account = require_role(connection, reviewer, *LOOKERS)
            broke = account_of(connection, found.by)
            proposal = moves.load(connection, proposal_id)
            if same_person(account.person, broke.person) or same_person(account.name, broke.name):
                raise SecondPersonError("you broke this glass yourself", remedy="another person has to look")
            earlier = askers.require_as_told(connection, proposal.asked_by, {account.name, broke.name})
            if account.person in earlier or reach.asked(connection, proposal.asked_by, account):
                raise own_call(connection, proposal, account, remedy="another person has to look")
            if not found.is_open:
                raise DoneAlreadyError(f"{found.looked_by} has looked already", remedy="nothing was changed")
            if proposal.state in _TOO_SOON:
                raise ConflictError(
                    f"the call is {proposal.state.value}: it has not ended", remedy="look when its effect can be seen"
                )
            open_ = sa.update(afterlooks).where(_row.proposal_id == proposal_id, _row.looked_at.is_(None))
            values = {"looked_by": account.name, "looked_at": now, "finding": said, "disagreed": disagreed}
            if connection.execute(open_.values(values)).rowcount != 1:
                raise DoneAlreadyError("somebody has looked already", remedy="nothing was changed")
            body: dict[str, JSON] = {"by": REVIEWER + account.name, "finding": said, "disagreed": disagreed}
            audit.append(connection, at=now, kind=CLOSED, subject=proposal_id, body=body)
        return AfterLook(found.proposal_id, found.by, found.at, found.reason, account.name, now, said, disagreed)


def open_for(connection: sa.Connection, proposal_id: str, *, by: str, at: int, reason: str) -> None:
    """Open one, inside the transaction that breaks the glass."""
    connection.execute(
        sa.insert(afterlooks).values(
            proposal_id=proposal_id,
            by=by,
            at=at,
            reason=reason,
            looked_by="",
            looked_at=None,
            finding="",
            disagreed=False,
        )
    )
    body: dict[str, JSON] = {"by": GLASS + by, "reason": reason}
    audit.append(connection, at=at, kind=OPENED, subject=proposal_id, body=body)


def count_open(connection: sa.Connection) -> int:
    """Return how many nobody has looked at yet."""
    query = sa.select(sa.func.count()).select_from(afterlooks).where(_row.looked_at.is_(None))
    return int(connection.execute(query).scalar_one())


def require_counted(connection: sa.Connection) -> int:
    """Return how many nobody has looked at yet, if log and table agree on which.

    Raises:
        StoreCorruptError: they do not: one was closed or removed by hand, so that a further glass could be broken.
    """
    row = events.c
    told = connection.execute(sa.select(row.subject, row.kind).where(row.kind.in_((OPENED, CLOSED)))).all()
    closed = {event.subject for event in told if event.kind == CLOSED}
    open_ = {event.subject for event in told if event.kind == OPENED} - closed
    if open_ != {one.proposal_id for one in entries(connection)}:
        raise StoreCorruptError(
            "the after-looks are not what the log says", remedy="verify the audit log: checkvalve audit verify"
        )
    return len(open_)


def entries(connection: sa.Connection, *, everything: bool = False) -> Found:
    """Return the after-looks of a store, the open ones or all, oldest first."""
    query = sa.select(afterlooks).order_by(_row.at, _row.proposal_id)
    chosen = query if everything else query.where(_row.looked_at.is_(None))
    return [AfterLook(**item) for item in connection.execute(chosen).mappings().all()]


def find(connection: sa.Connection, proposal_id: str) -> AfterLook | None:
    """Return the after-look of a call, None where no glass was broken for it."""
    row = connection.execute(sa.select(afterlooks).where(_row.proposal_id == proposal_id)).mappings().one_or_none()
    return None if row is None else AfterLook(**row)


def words(text: str, what: str, least: int, most: int) -> str:
    """Return ``text`` on one line, if somebody has said something with it.

    Raises:
        QueueError: it is too short, too long, or no words.
    """
    said = " ".join(kept(text).split())
    if not least <= len(said) <= most or letters(said) * 2 < least:
        raise QueueError(f"{what} is words, {least} to {most} characters", remedy="say it so that others understand it")
    return said


__all__ = [
    "LOOKERS", "MAX_FINDING", "MIN_FINDING", "AfterLook", "AfterLooks", "Glass", "count_open", "entries", "find",
    "open_for", "require_counted", "words",
]  # fmt: skip
