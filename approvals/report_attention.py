"""Counting the figures of attention over a span: what was asked, who answered how, and which yes did not last.

1. The calls that were asked about since the start, as in :mod:`report`. 2. The answers of people to them: each vote is
one. 3. Whether the arguments had been shown whole to who answered: by the events of the log. On the pages an answer
takes a card or a table, so no card is known to be no card; elsewhere it says nothing. 4. Which approvals were taken
back, undone, or disagreed with. 5. The questions of each task.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import afterlooks
from checkvalve.approvals.asides import ASIDES
from checkvalve.approvals.attention import SHOWN, WHOLE
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.records import State
from checkvalve.approvals.report_decided import Decided, is_person, reviewer_of
from checkvalve.approvals.report_figures import (
    NOT_KNOWN,
    NOT_OPENED,
    OPENED,
    Attention,
    Middle,
    Reversals,
    Share,
    opened_of,
    prompts_of,
)
from checkvalve.approvals.review_tables import undos
from checkvalve.approvals.tables import events, proposals
from checkvalve.approvals.undos import DONE
from checkvalve.approvals.votes import CAST, NO, YES

_PAGES: Final = "web"
_REVOKED: Final = f"proposal.{State.REVOKED.value}"
_ENDED: Final = frozenset({"approved", "rejected", "expired"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of one person: ``known`` says whether the arguments had been shown to them whole."""

    proposal_id: str
    by: str
    yes: bool
    turned: bool
    known: str


def attention_of(
    connection: sa.Connection, found: Sequence[Decided], *, since: int, until: int, fast: float
) -> Attention:
    """Return the figures of calls that were asked about in a span; ``fast`` is in seconds."""
    answered = [item for item in found if is_person(item)]
    told = answers(connection, {item.proposal.id for item in found}, since)
    ended = [item for item in found if item.end in _ENDED]
    rules: dict[str, list[Decided]] = defaultdict(list)
    for item in answered:
        rules[item.proposal.rule].append(item)
    return Attention(
        asked=len(found),
        approved=approved(answered),
        expired=Share(sum(item.end == "expired" for item in ended), len(ended)),
        wait=Middle.among(waits(answered)),
        look=Middle.among(looks(answered)),
        quick=quick(answered, fast),
        opened=opened_of(Counter(answer.known for answer in told)),
        reversals=_reversals(connection, found, told),
        prompts=prompts_of(_calls(connection, since, until)),
        rules=tuple((rule, approved(items)) for rule, items in sorted(rules.items())),
    )


def approved(items: Sequence[Decided]) -> Share:
    """Return how many of the questions that people answered were approved."""
    return Share(sum(item.end == "approved" for item in items), len(items))


def waits(items: Iterable[Decided]) -> list[float]:
    """Return the seconds from question to end, of those that have ended."""
    return [item.waited for item in items if item.waited is not None]


def looks(items: Iterable[Decided]) -> list[float]:
    """Return the seconds from the card to the answer, of those of which they are known."""
    return [item.looked for item in items if item.looked is not None]


def quick(items: Iterable[Decided], fast: float) -> Share:
    """Return how many yeses came within ``fast`` seconds after the card was shown, of those of which it is known."""
    took = looks(item for item in items if item.end == "approved")
    return Share(sum(seconds <= fast for seconds in took), len(took))


def answers(connection: sa.Connection, asked: set[str], since: int) -> list[Answer]:
    """Return the answers of people to these questions, oldest first."""
    row = events.c
    query = sa.select(row.subject, row.kind, row.body).where(row.at >= since, row.kind.in_((SHOWN, CAST)))
    shown: dict[tuple[str, str], bool] = {}
    found: list[Answer] = []
    for event in connection.execute(query.order_by(row.seq)):
        body: Mapping[str, Any] = json.loads(event.body) if event.body else {}
        key = (event.subject, str(body.get("by") or ""))
        if event.kind == SHOWN:
            shown[key] = shown.get(key, False) or body.get(WHOLE) is True
        elif event.subject in asked and body:
            known = _known(shown.get(key), str(body.get("channel") or ""))
            turned = body.get("vote") == NO and body.get("was") == YES
            found.append(Answer(event.subject, reviewer_of(key[1]), body.get("vote") == YES, turned, known))
    return found


def _known(shown: bool | None, channel: str) -> str:  # noqa: FBT001  # None: no card was shown to this person
    """Return whether the arguments were opened: see step 3."""
    if shown is None:
        return NOT_OPENED if channel == _PAGES else NOT_KNOWN
    return OPENED if shown else NOT_KNOWN  # a part was folded: whether it was unfolded, the browser alone knows


def _reversals(connection: sa.Connection, found: Iterable[Decided], told: Iterable[Answer]) -> Reversals:
    granted = {item.proposal.id for item in found if item.end == "approved" and _by_people(item)}
    turned = {answer.proposal_id for answer in told if answer.turned}
    base = granted | turned
    back = turned | (_revoked(connection) & granted)
    undone = _undone(connection) & granted
    disagreed = {one.proposal_id for one in afterlooks.entries(connection, everything=True) if one.disagreed} & granted
    return Reversals(len(back), len(undone), len(disagreed), Share(len(back | undone | disagreed), len(base)))


def _by_people(item: Decided) -> bool:
    return item.by.startswith(("reviewer:", "breakglass:"))


def _revoked(connection: sa.Connection) -> set[str]:
    return set(connection.execute(sa.select(events.c.subject).where(events.c.kind == _REVOKED)).scalars())


def _undone(connection: sa.Connection) -> set[str]:
    query = sa.select(undos.c.proposal_id).join(proposals, proposals.c.id == undos.c.undo_id)
    return set(connection.execute(query.where(proposals.c.state.in_([state.value for state in DONE]))).scalars())


def _calls(connection: sa.Connection, since: int, until: int) -> Iterable[tuple[str, str, bool]]:
    row = proposals.c
    query = sa.select(row.thread, row.server, row.tool, row.verdict)
    within = query.where(row.created_at >= since, row.created_at <= until, row.mode != OBSERVE)
    for thread, server, tool, verdict in connection.execute(within):
        if not thread.startswith(ASIDES):  # made for another call, or by a person: no task of an agent
            yield thread, f"{server}/{tool}" if server else tool, verdict == "review"


__all__ = ["Answer", "answers", "approved", "attention_of", "looks", "quick", "waits"]
