"""What was asked within a span, and how each question ended: the ground of every report."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.attention import SHOWN
from checkvalve.approvals.moments import micros_of
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events, proposals

NO_SOURCE: Final = "nowhere"
_CALL: Final = re.compile(r"/[^#]*")  # of a source such as tool:read_mail/c1#body: which call it was
_REVIEWER: Final = "reviewer:"
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Decided:
    """One question, and how it ended: a state of the queue's, ``pending`` while it waits."""

    proposal: Proposal
    end: str
    by: str
    at: int | None
    shown_at: int | None

    @property
    def key(self) -> tuple[str, str, str]:
        """The rule, the tool, and the source of what was in doubt."""
        row = self.proposal
        return row.rule, f"{row.server}/{row.tool}" if row.server else row.tool, source_of_doubt(row)

    @property
    def waited(self) -> float | None:
        """Seconds from the question to its end; None while it waits."""
        return None if self.at is None else (self.at - self.proposal.created_at) / _SECOND

    @property
    def looked(self) -> float | None:
        """Seconds from the card to the answer; None where no card is known to have been shown."""
        return None if self.at is None or self.shown_at is None else (self.at - self.shown_at) / _SECOND


def decided(store: Store, since: int) -> list[Decided]:
    """Return every call that a person was asked about since then, oldest first."""
    row = proposals.c
    asked = sa.select(proposals).where(row.verdict == "review", row.created_at >= since, row.mode != OBSERVE)
    with store.read() as connection:
        rows = [from_row(found) for found in connection.execute(asked.order_by(row.created_at, row.id)).mappings()]
        later = sa.select(events.c.subject, events.c.kind, events.c.at, events.c.body)
        later = later.where(events.c.at >= since, events.c.kind.like("proposal.%") | (events.c.kind == SHOWN))
        told: dict[str, list[Any]] = defaultdict(list)
        for event in connection.execute(later.order_by(events.c.seq)):
            told[event.subject].append(event)
    return [_decided(proposal, told[proposal.id]) for proposal in rows]


def _decided(proposal: Proposal, told: Iterable[Any]) -> Decided:
    """Read the first answer, and when it had been shown to whoever gave it."""
    shown: dict[str, int] = {}
    for event in told:
        body: Mapping[str, Any] = json.loads(event.body) if event.body else {}
        by = str(body.get("by") or "")
        if event.kind == SHOWN:
            shown.setdefault(by, _moment(body.get("shown_at")) or event.at)
        elif event.kind != "proposal.recorded" and body.get("from") == State.PENDING.value:
            end = event.kind.removeprefix("proposal.")
            return Decided(proposal, end, by, event.at, shown.get(by))
    return Decided(proposal, State.PENDING.value, "", None, None)


def _moment(text: object) -> int | None:
    try:
        return micros_of(datetime.fromisoformat(str(text)))
    except (ValueError, TypeError):
        return None


def source_of_doubt(proposal: Proposal) -> str:
    """Return where the arguments that were not sufficient came from: the tool and field, without which call it was."""
    arguments = proposal.decision.get("arguments")
    found: set[str] = set()
    for report_ in arguments if isinstance(arguments, list) else []:
        if isinstance(report_, dict) and report_.get("sufficient") is False:
            origins = report_.get("origins")
            sources = [item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else []
            found |= {_CALL.sub("", str(item.get("source")), count=1) for item in sources} or {NO_SOURCE}
    return ", ".join(sorted(found)) or NO_SOURCE


def is_person(item: Decided) -> bool:
    """Say whether a person answered, in the ordinary way."""
    return item.by.startswith(_REVIEWER) and item.end in {"approved", "rejected"}


def reviewer_of(by: str) -> str:
    """Return the account in the name of who did something."""
    return by.removeprefix(_REVIEWER)


__all__ = ["NO_SOURCE", "Decided", "decided", "is_person", "reviewer_of", "source_of_doubt"]
