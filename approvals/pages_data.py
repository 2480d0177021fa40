"""What the review pages read: the queue by risk, its load, history, and the calls beside a call.

Guarantees: nothing here writes; nothing is decided again: every row is the stored record; a page of a long list costs
what the page costs, not what the list does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event, read_events
from checkvalve.approvals.overdue import readable
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.risk import (
    CRITICAL_EFFECTS,
    CRITICAL_RULES,
    HIGH_EFFECTS,
    MILD_EFFECTS,
    MILD_RULES,
    TIERS,
    Tier,
    tier_of,
)
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events, proposals
from checkvalve.approvals.while_unchanged import while_unchanged

PAGE: Final = 50
"""Rows of one page of a list: what somebody looks through, and what a small page weighs."""
MAX_BATCH: Final = 20
"""Calls that one decision covers at most: more than that, nobody looks at one by one."""
MAX_SEARCH: Final = 200
"""Characters of a search."""
HOUR: Final = 3_600_000_000  # microseconds

_row = proposals.c
PENDING: Final = _row.state == State.PENDING.value
"""That a row waits for a decision."""


_counted = sa.select(sa.func.count()).select_from(proposals)
_since = sa.bindparam("since", type_=sa.BigInteger)
_states = _row.state.in_([state.value for state in State])  # every state there is: so the index of both is used
_LATELY: Final = sa.select(  # each is counted within an index, whatever was decided before
    _counted.where(_states, _row.created_at > _since, _row.verdict == "review").scalar_subquery(),
    sa.select(sa.func.count())
    .select_from(votes)
    .where(votes.c.reviewer == sa.bindparam("who"), votes.c.at > _since)
    .scalar_subquery(),
    _counted.where(_row.state == State.UNKNOWN.value).scalar_subquery(),
)


@dataclass(frozen=True, slots=True)
class Load:
    """How much waits, and how busy people are: counts by tier, the oldest question, and the last hour.

    ``decided_lately`` are the questions that one person has said yes or no to within the last hour.
    """

    open: int = 0
    tiers: dict[Tier, int] = field(default_factory=dict)
    oldest: int | None = None
    asked_lately: int = 0
    decided_lately: int = 0
    unknown: int = 0


class Rows(list[Proposal]):
    """One page of calls, and the ids of those on it that cannot be read: they were changed beside the log."""

    damaged: Sequence[str] = ()


def effect_of(proposal: Proposal) -> str:
    """Return the recorded effect of a call; empty where it was refused before it had one."""
    return str(proposal.decision.get("action") or "")


def tier(proposal: Proposal) -> Tier:
    """Return the tier of a recorded call."""
    return tier_of(effect_of(proposal), proposal.rule)


def _effect_in(names: frozenset[str]) -> sa.ColumnElement[bool]:
    """Say whether a row has one of these effects: `action` is the first key of the canonical record, so it is a prefix.

    Text inside the record cannot look like it, since JSON escapes quotation marks.
    """
    starts = [f'{{"action":{json.dumps(name)},' for name in sorted(names)]
    return sa.or_(*(sa.func.substr(_row.decision, 1, len(start)) == start for start in starts))


def critical() -> sa.ColumnElement[bool]:
    """Say whether a row is of the gravest tier."""
    return sa.or_(_row.rule.in_(sorted(CRITICAL_RULES)), _effect_in(CRITICAL_EFFECTS))


def _rank() -> sa.Case[int]:
    """Return the place of a row's tier, as :func:`tier_of` gives it; a test holds the two together."""
    mild = sa.and_(
        _effect_in(MILD_EFFECTS), sa.or_(sa.not_(_effect_in(frozenset({"send"}))), _row.rule.in_(sorted(MILD_RULES)))
    )
    return sa.case(
        (critical(), 0),
        (_effect_in(HIGH_EFFECTS), 1),
        (_effect_in(frozenset({"read"})), 3),
        (mild, 2),
        else_=1,
    )


def waiting(store: Store, *, page: int = 0, thread: str = "", without: Collection[str] = ()) -> Rows:
    """Return one page of the open questions: the gravest first, and of equally grave ones the oldest.

    ``without`` are the ids of those that somebody has put off.
    """
    query = sa.select(proposals).where(PENDING).order_by(_rank(), _row.created_at, _row.id)
    away = tuple(sorted(without))
    if away:
        query = query.where(_row.id.not_in(away))
    query = query.where(_row.thread == thread) if thread else query
    key = ("waiting", page, thread, away)
    return _read(store, while_unchanged(store, mark(store), key, lambda: _ids(store, query, page)))


def unknown(store: Store) -> Rows:
    """Return the calls whose outcome nobody knows, oldest first, at most one page."""
    query = sa.select(proposals).where(_row.state == State.UNKNOWN.value)
    return _rows(store, query.order_by(_row.updated_at, _row.id), 0)


def load(store: Store, now: int, *, reviewer: str = "") -> Load:
    """Return how much waits now; ``reviewer`` is whose decisions of the last hour are counted."""
    found = while_unchanged(store, mark(store), "load", lambda: _by_tier(store))
    with store.read() as connection:
        lately, done, lost = connection.execute(_LATELY, {"since": now - HOUR, "who": reviewer}).one()
    return Load(
        open=sum(count for count, _ in found.values()),
        tiers={tier: count for tier, (count, _) in found.items()},
        oldest=min((at for _, at in found.values()), default=None),
        asked_lately=lately,
        decided_lately=done,
        unknown=lost,
    )


def _by_tier(store: Store) -> dict[Tier, tuple[int, int]]:
    """Return how many questions of each tier are open, and when the oldest of them came; the gravest tier first."""
    each = sa.select(_rank().label("place"), _row.created_at).where(PENDING).subquery().c
    query = sa.select(each.place, sa.func.count(), sa.func.min(each.created_at)).group_by(each.place)
    with store.read() as connection:
        found = {place: (count, oldest) for place, count, oldest in connection.execute(query)}
    return {tier: found[place] for place, tier in enumerate(TIERS) if place in found}


def history(store: Store, *, words: str = "", state: State | None = None, page: int = 0) -> Rows:
    """Return decided and other calls, newest first: those in ``state`` in which ``words`` stands somewhere.

    Looked through are names of tools, people, tasks and rules, ids, digests, notes, and the data that was asked about.
    """
    query = sa.select(proposals).order_by(_row.updated_at.desc(), _row.id)
    if state is not None:
        query = query.where(_row.state == state.value)
    if text := words.strip()[:MAX_SEARCH]:
        columns = (
            _row.id,
            _row.digest,
            _row.tool,
            _row.server,
            _row.requester,
            _row.thread,
            _row.rule,
            _row.decided_by,
        )
        plain = (column.icontains(text, autoescape=True) for column in (*columns, _row.note))
        inside = json.dumps(text, ensure_ascii=False)[1:-1]
        query = query.where(sa.or_(*plain, _row.endorsable.icontains(inside, autoescape=True)))
    return _rows(store, query, page)


def of_thread(store: Store, thread: str, *, page: int = 0) -> Rows:
    """Return the calls of one task in the order they came."""
    return _rows(store, sa.select(proposals).where(_row.thread == thread).order_by(_row.created_at, _row.id), page)


def earlier(store: Store, proposal: Proposal) -> tuple[Proposal | None, Proposal | None]:
    """Return what a call is compared with: the task's call of this tool before it, and the last that a person approved.

    The second one is of the same requester, since it is what that person's calls usually look like.
    """
    same = [_row.tool == proposal.tool, _row.server == proposal.server, _row.id != proposal.id]
    before = sa.select(proposals).where(*same, _row.created_at <= proposal.created_at)
    before = before.order_by(_row.created_at.desc(), _row.id).limit(1)
    yes = _row.decided_by.startswith("reviewer:") | (_row.verdict == "review")
    went = _row.state.in_([State.APPROVED.value, State.EXECUTING.value, State.SUCCEEDED.value])
    with store.read() as connection:
        tried = connection.execute(before.where(_row.thread == proposal.thread)).mappings().one_or_none()
        usual = before.where(went, yes, _row.requester == proposal.requester, _row.mode == "enforce")
        approved = connection.execute(usual).mappings().one_or_none()
    return (None if tried is None else readable(tried)), (None if approved is None else readable(approved))


def log_of(store: Store, subject: str) -> list[Event]:
    """Return the events of one call, mandate or task."""
    with store.read() as connection:
        return list(read_events(connection, subject=subject))


def newest_events(store: Store, *, limit: int = PAGE) -> list[Event]:
    """Return the last events of the log, newest first."""
    query = sa.select(events).order_by(events.c.seq.desc()).limit(limit)
    with store.read() as connection:
        return [Event(**row) for row in connection.execute(query).mappings()]


def mark(store: Store) -> tuple[int, int]:
    """Return the number of the last event about a call or a task, and how many questions are open.

    A waiting page watches these; that somebody looked, or that the log is alive, is no news to it.
    """
    kind = events.c.kind
    news = sa.or_(*(kind.startswith(start) for start in ("proposal.", "task.", "remark.")))
    last = sa.select(events.c.seq).where(news)
    count = sa.select(sa.func.count()).select_from(proposals).where(PENDING)
    with store.read() as connection:
        seq = connection.execute(last.order_by(events.c.seq.desc()).limit(1)).scalar() or 0
        return seq, connection.execute(count).scalar_one()


def _rows(store: Store, query: sa.Select[Any], page: int) -> Rows:
    return _read(store, _ids(store, query, page))  # first the ids, so that a database need not sort whole records


def _ids(store: Store, query: sa.Select[Any], page: int) -> Sequence[str]:
    with store.read() as connection:
        return (
            connection.execute(query.with_only_columns(_row.id).limit(PAGE).offset(max(0, page) * PAGE)).scalars().all()
        )


def _read(store: Store, names: Sequence[str]) -> Rows:
    with store.read() as connection:
        rows = connection.execute(sa.select(proposals).where(_row.id.in_(names))).mappings().all()
    found = {row["id"]: readable(row) for row in rows}
    known = Rows(row for name in names if (row := found.get(name)) is not None)
    known.damaged = [name for name in names if name in found and found[name] is None]
    return known


def differing(found: Sequence[dict[str, str]]) -> list[str]:
    """Return the names under which not all of ``found`` have the same value, in order."""
    names = sorted({name for item in found for name in item})
    return [name for name in names if len({item.get(name) for item in found}) > 1]


__all__ = [
    "MAX_BATCH",
    "PAGE",
    "PENDING",
    "Load",
    "Rows",
    "critical",
    "differing",
    "earlier",
    "effect_of",
    "history",
    "load",
    "log_of",
    "mark",
    "newest_events",
    "of_thread",
    "tier",
    "unknown",
    "waiting",
]  # fmt: skip
