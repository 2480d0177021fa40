"""What a change of the rules would have changed: recorded calls decided once by the old rules and once by the new ones.

1. Take the newest calls of this tenant within a month. 2. Where manifest, policy, schema or settings differ: decide
each by both sets, as of when it was proposed; a call whose verdict is another one is listed, laxer ones first. Before
the first adoption there is no old set: then the recorded verdict counts. 3. Where the review rules differ: choose for
each question how it is to be answered, by both. 4. Say whether the people who are there could keep the review rules.

Guarantees: nothing runs and no verdict is recorded; the result names calls, tools and rules, and no value of a call;
how many calls were looked at, and how many not, is part of it. Filters of what enters and leaves are not run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import plans
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.clock import micros, rfc3339
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.errors import ConfigError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.kit_replay import STRICTNESS, Redecided
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.policy import parse_policy
from checkvalve.approvals.question import Question
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, from_row
from checkvalve.approvals.review_rules import ReviewRules, parse_review_rules
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.rules_check import check, in_words
from checkvalve.approvals.rulesets import setting_in
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.app import own_paths
from checkvalve.gateway.policykit_replay import decided_again
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.services import Services

SPAN: Final = micros(timedelta(days=30))
"""How far back is looked."""
CALLS: Final = 200
"""Calls that are decided again: the newest ones. Each takes some milliseconds, and somebody waits."""
LISTED: Final = 50
"""Calls that are listed; the others are counted."""
_DECIDE: Final = ("manifest", "policy", "schema", "settings")

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where calls are decided again: the queue, and the settings that say what no tool may touch."""

    queue: Queue
    settings: Settings
    file: Path | None = None


def impact_of(place: Place, before: Texts, after: Texts) -> dict[str, JSON]:
    """Return what the rules in ``after`` change of the recorded calls; ``before`` is empty before the first adoption.

    Raises:
        ConfigError: the new rules cannot be used.
    """
    until = place.queue.clock()
    rows, total = _rows(place.queue, until - SPAN)
    changes = _decided(place, rows, before, after) if _differ(before, after, _DECIDE) else []
    asked = _asked(place, rows, before, after) if _differ(before, after, ("review", "settings")) else []
    moved = Counter(f"{item.before} to {item.after}" for item in changes)
    laxer = sum(_is_laxer(item) for item in changes)
    listed = sorted(changes, key=lambda item: not _is_laxer(item))[:LISTED]
    found = check(_review(after), place.queue.reviewers.accounts())
    return {
        "at": rfc3339(until),
        "since": rfc3339(until - SPAN),
        "calls": len(rows),
        "left_out": total - len(rows),
        "changed": dict(moved),
        "laxer": laxer,
        "decisions": [_line(item) for item in listed],
        "asked_otherwise": len(asked),
        "questions": [*asked[:LISTED]],
        "findings": [{"level": one.level, "where": one.where, "text": one.text} for one in found],
    }


def _differ(before: Texts, after: Texts, parts: tuple[str, ...]) -> bool:
    return any(before.get(part) != after.get(part) for part in parts)


def _is_laxer(item: Redecided) -> bool:
    return STRICTNESS[item.after] < STRICTNESS[item.before]


def _line(item: Redecided) -> dict[str, JSON]:
    return {
        "id": item.id,
        "tool": item.tool,
        "before": {"verdict": item.before, "rule": item.before_rule},
        "after": {"verdict": item.after, "rule": item.after_rule},
        "laxer": _is_laxer(item),
        "how": item.how,
    }


def _rows(queue: Queue, since: int) -> tuple[list[Proposal], int]:
    """Return the newest calls, oldest first, and how many there are in all; damaged ones are not looked at."""
    row = proposals.c
    others = sa.select(plan_rows.c.proposal_id).where(sa.not_(plan_rows.c.body.contains(_mark(queue), autoescape=True)))
    mine = sa.and_(row.created_at >= since, row.id.not_in(others))
    query = sa.select(proposals).where(mine).order_by(row.created_at.desc(), row.id.desc()).limit(CALLS)
    with queue.store.read() as connection:
        total = int(connection.execute(sa.select(sa.func.count()).select_from(proposals).where(mine)).scalar_one())
        return list(reversed(_readable(connection, query))), total


def _readable(connection: sa.Connection, query: sa.Select[Any]) -> list[Proposal]:
    """Return the calls that can be read; `audit verify` names the others, and here they count as left out."""
    found = list[Proposal]()
    for one in connection.execute(query).mappings():
        with suppress(StoreCorruptError):
            found.append(from_row(one))
    return found


def _mark(queue: Queue) -> str:
    """Return how a stored plan, which is canonical JSON, names this tenant."""
    return '"tenant":' + canonical(queue.rule_changes.tenant).decode()


def _decided(place: Place, rows: list[Proposal], before: Texts, after: Texts) -> list[Redecided]:
    new, old = _services(place, after), _old(place, before)
    threads: dict[str, list[Proposal]] = {}
    found = list[Redecided]()
    for row in rows:
        if row.thread not in threads:
            threads[row.thread] = _thread(place.queue, row.thread)
        now = decided_again(row, threads[row.thread], new, new.profile)
        if old is not None:
            then = decided_again(row, threads[row.thread], old, old.profile)
            now = replace(now, before=then.after, before_rule=then.after_rule)
        if now.changed:
            found.append(now)
    return found


def _thread(queue: Queue, thread: str) -> list[Proposal]:
    row = proposals.c
    query = sa.select(proposals).where(row.thread == thread).order_by(row.created_at, row.id)
    with queue.store.read() as connection:
        return _readable(connection, query)


def _old(place: Place, before: Texts) -> Services | None:
    """Return the rules in force; none where nothing is, or where this version can use them no more."""
    try:
        return _services(place, before) if before else None
    except ConfigError:
        return None


def _services(place: Place, texts: Texts) -> Services:
    queue, sandbox, profile = (
        place.queue,
        setting_in(texts["settings"], "sandbox"),
        setting_in(texts["settings"], "profile"),
    )
    return Services(
        manifest=parse_manifest(texts["manifest"].encode(), "manifest"),
        policy=parse_policy(texts["policy"], texts["schema"], name="policy", schema_name="schema"),
        queue=queue,
        executor=Executor(queue),
        content=SqlContentStore(queue.store),
        profile=str(profile or "strict"),
        protected=own_paths(place.settings, place.file),
        sandbox=sandbox not in {None, "off"},
    )


def _review(texts: Texts) -> ReviewRules:
    return parse_review_rules(texts["review"].encode(), "review rules") if texts.get("review") else ReviewRules()


def _asked(place: Place, rows: list[Proposal], before: Texts, after: Texts) -> list[JSON]:
    """Return the questions that would be answered otherwise; before the first adoption the stored plan counts."""
    names = [row.id for row in rows]
    with place.queue.store.read() as connection:
        planned = sa.select(plan_rows.c.proposal_id).where(plan_rows.c.proposal_id.in_(names))
        stored = plans.read_all(connection, connection.execute(planned).scalars().all())
    old, new = _reader(before) if before else None, _reader(after)
    found = list[JSON]()
    for row in rows:
        if (plan := stored.get(row.id)) is None:
            continue
        question = plan.question(row)
        was, now = plan if old is None else old(question), new(question)
        told, tells = was.to_json(), now.to_json()
        fields: list[JSON] = [name for name in tells if told.get(name) != tells[name]]
        if fields:
            found.append(
                {"id": row.id, "tool": row.tool, "before": in_words(was), "after": in_words(now), "fields": fields}
            )
    return found


def _reader(texts: Texts) -> Callable[[Question], Plan]:
    """Return what chooses plans by a set of rules; the two times are those of its settings."""
    rules, fields = _review(texts), Settings.model_fields
    decide, execute = (
        int(str(setting_in(texts["settings"], name) or fields[name].default))
        for name in ("decide_within", "execute_within")
    )
    return lambda question: rules.plan_for(question, decide_within=decide, execute_within=execute)


__all__ = ["CALLS", "LISTED", "SPAN", "Place", "impact_of"]
