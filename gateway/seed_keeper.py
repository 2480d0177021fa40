"""When a seeded item is made, and for whom: at drawn moments, rarely, and never while people are busy.

1. What is over is closed. 2. Of each person who has agreed and whose moment has come, the next moment is drawn and set
by compare-and-set, so that of several processes one goes on. 3. Nothing is made for somebody who has one open, has had
as many within the week as the settings allow, or could not answer it; nor while many real questions wait.

Guarantees: without the setting nothing is made; a real question is held up by nothing here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, cast

import sqlalchemy as sa

from checkvalve.approvals import seeds
from checkvalve.approvals.clock import micros
from checkvalve.approvals.endorsing import offered
from checkvalve.approvals.people import is_usable
from checkvalve.approvals.plans import ONE, Plan
from checkvalve.approvals.policy import Policy
from checkvalve.approvals.question import question_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reach import asked
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Account, account_of
from checkvalve.approvals.seed_tables import seed_consents
from checkvalve.approvals.seed_tables import seeds as seed_rows
from checkvalve.approvals.tables import proposals, reviewers
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.seed_making import Made, make

WEEK: Final = micros(timedelta(days=7))
MAX_WAITING: Final = 5
"""Real questions that may wait while an item is made: beyond it people have enough to look at."""
_NAMES: Final = 200
"""Newest questions among which the name of who asks is looked for."""
_SECOND: Final = 1_000_000
_consent = seed_consents.c


class SeedKeeper:
    """Makes items for one queue; ``per_week`` is how many one person gets at most within seven days, 0 for none."""

    def __init__(  # each is a setting
        self,
        queue: Queue,
        manifest: Manifest,
        policy: Policy,
        *,
        per_week: int,
        profile: str = "strict",
        draw: random.Random | None = None,
    ) -> None:
        """``draw`` is for tests; the default cannot be foreseen."""
        self._queue, self._manifest, self._policy = queue, manifest, policy
        self._per_week, self._profile = per_week, profile
        self._draw = draw or random.SystemRandom()

    def tick(self) -> int:
        """Do steps 1 to 3 once; returns how many items were made."""
        seeds.close_over(self._queue)
        if not self._per_week:
            return 0
        now = self._queue.clock()
        due = sa.select(_consent.reviewer, _consent.next_at).join(reviewers, reviewers.c.name == _consent.reviewer)
        due = due.where(_consent.ended_at.is_(None), reviewers.c.disabled_at.is_(None))
        due = due.where(sa.or_(_consent.next_at.is_(None), _consent.next_at <= now))
        with self._queue.store.read() as connection:
            found = connection.execute(due.order_by(_consent.reviewer)).all()
        return sum(self._turn(str(name), next_at, now) for name, next_at in found)

    def _turn(self, name: str, next_at: int | None, now: int) -> bool:
        """Do steps 2 and 3 for one person; says whether an item was made."""
        span = WEEK // self._per_week
        later = now + int(span * self._draw.uniform(0.0 if next_at is None else 0.5, 1.0 if next_at is None else 1.5))
        with self._queue.store.read() as connection:
            account = account_of(connection, name)
            requesters = _requesters(connection, account)
        drawn = self._drawn(account, requesters) if next_at is not None else None
        old = _consent.next_at.is_(None) if next_at is None else _consent.next_at == next_at
        with self._queue.store.write() as connection:
            mine = sa.update(seed_consents).where(_consent.reviewer == name, old)
            if connection.execute(mine.values(next_at=later)).rowcount != 1 or drawn is None:
                return False
            if not _has_room(connection, name, now, self._per_week):
                return False
            made, plan = drawn
            until = now + (plan.decide_within or self._queue.seconds[0]) * _SECOND
            seeds.plant(connection, name, _whole(made, plan), at=now, expires_at=until)
        return True

    def _drawn(self, account: Account, requesters: Sequence[str]) -> tuple[Made, Plan] | None:
        """Return an item that this person alone could answer on a page, and how it would be answered."""
        if not requesters:
            return None
        made = make(self._manifest, self._policy, self._profile, self._draw.choice(requesters), self._draw)
        if made is None:
            return None
        question = question_of(made.request, made.decision)
        decide, execute = self._queue.seconds
        plan = self._queue.rules.plan_for(question, decide_within=decide, execute_within=execute)
        alone = plan.approve == ONE and not plan.step_up and "web" in plan.channels
        return (made, plan) if alone and account.roles_for(question) & plan.roles else None


def _requesters(connection: sa.Connection, account: Account) -> list[str]:
    """Return who has asked here lately, but for this person: an ordinary question is asked by one of them."""
    row = proposals.c
    query = sa.select(row.requester).where(row.verdict == "review").order_by(row.created_at.desc()).limit(_NAMES)
    names = sorted({str(name) for name in connection.execute(query).scalars()})
    return [name for name in names if is_usable(name) and not asked(connection, name, account)]


def _has_room(connection: sa.Connection, name: str, now: int, per_week: int) -> bool:
    row = seed_rows.c
    counted = sa.select(sa.func.count()).select_from(seed_rows).where(row.reviewer == name)
    lately = connection.execute(counted.where(row.made_at > now - WEEK)).scalar_one()
    open_ = connection.execute(counted.where(row.answer == "")).scalar_one()
    waiting = sa.select(sa.func.count()).select_from(proposals).where(proposals.c.state == State.PENDING.value)
    agreed = seeds.has_agreed(connection, name)  # by the log, too: a planted consent keeps nobody else waiting
    return agreed and lately < per_week and not open_ and connection.execute(waiting).scalar_one() <= MAX_WAITING


def _whole(made: Made, plan: Plan) -> dict[str, JSON]:
    """Return everything that a card shows, in a form that can be stored."""
    verdict: Any = made.decision.verdict
    decision = cast("JSON", made.decision.to_json())
    endorsable: list[JSON] = [dict(item) for item in offered(made.decision)]
    body: dict[str, JSON] = {**made.body, "digest": made.request.digest, "decision": decision, "endorsable": endorsable}
    body |= {"canonical": made.request.canonical_form.decode(), "rule": verdict.rule, "reason": verdict.reason}
    body |= {"remedy": verdict.remedy, "plan": cast("JSON", plan.to_json())}
    return body


__all__ = ["MAX_WAITING", "WEEK", "SeedKeeper"]
