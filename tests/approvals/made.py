"""What the tests of the store are made of: a clock that is set by hand, quick passwords, and decided calls."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import argon2

from checkvalve.approvals.clock import micros
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.endorsements import Endorsement, Use
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict

ALLOW = Allow("all-values-known")
REVIEW = Review("target-not-known", "target-not-known", "say the address in the task")
DENY = Deny("unknown-tool", "unknown-tool", "declare the tool")
MAIL = Endorsement("eve@evil.example", "tool:read_mail/c1", "target", "send", "email")
QUICK = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@dataclass
class HandClock:
    """A clock that moves when it is told to."""

    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += micros(timedelta(**span))


def decided(verdict: Verdict, endorsable: Sequence[Endorsement] = ()) -> Decision:
    found: dict[str, object] = {"source": "tool:read_mail/c1#body", "span": [3, 19], "match": "exact"}
    origins = ({**found, "trust": "untrusted"},)
    report = ArgumentReport("to", "target", "email", sufficient=False, origins=origins)
    return Decision(
        verdict,
        rules=(verdict.rule,),
        arguments=(report,),
        facts={"targets_ok": False},
        policy_digest="sha256:" + "1" * 64,
        manifest_digest="sha256:" + "2" * 64,
        endorsable=tuple(endorsable),
    )


def people(queue: Queue) -> None:
    """Give the queue reviewers whose passwords cost no time."""
    queue.reviewers = Reviewers(queue.store, queue.clock, QUICK)


@dataclass
class Desk:
    """A queue with a reviewer, and short ways to use it."""

    queue: Queue
    clock: HandClock
    reviewer: Reviewer
    token: str
    calls: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @classmethod
    def at(cls, store: Store, clock: HandClock, *, single_user: bool = False) -> Desk:
        queue = Queue(store, clock, single_user=single_user)
        people(queue)
        token = queue.reviewers.add("ann")
        return cls(queue, clock, queue.reviewers.authenticate(token), token)

    @classmethod
    def over(cls, queue: Queue, clock: HandClock, reviewer: Reviewer) -> Desk:
        """Return a desk over a queue that has been used before."""
        return cls(queue, clock, reviewer, "")

    def request(
        self, *, to: str = MAIL.value, thread: str = "t", call_id: str = "", requester: str = "bob"
    ) -> ActionRequest:
        call_id = call_id or f"c{next(self.calls)}"
        return ActionRequest.build("send", {"to": to, "n": 1}, thread=thread, call_id=call_id, requester=requester)

    def propose(
        self,
        verdict: Verdict = REVIEW,
        *,
        idempotency: Idempotency = Idempotency.NONE,
        observe: bool = False,
        request: ActionRequest | None = None,
    ) -> Proposal:
        decision = decided(verdict, [MAIL] if verdict is REVIEW else [])
        mode: Literal["enforce", "observe"] = "observe" if observe else "enforce"
        return self.queue.propose(request or self.request(), decision, mode=mode, idempotency=idempotency)

    def grant(self, *, requester: str = "bob", thread: str = "t", **values: Any) -> MandateEntry:
        """Let the reviewer grant a mandate: what is not said is that of one call of ``send`` up to 100."""
        said = {"source": "read_mail", "tool": "send", "roles": ("target", "amount"), "max_amount": 100, **values}
        return self.queue.grant_mandate(Mandate(**said), self.reviewer, thread=thread, requester=requester)

    def use(self, *taken: Use, request: ActionRequest | None = None) -> Proposal:
        """Propose a call that is allowed because of what was given."""
        return self.queue.propose(request or self.request(), replace(decided(ALLOW), uses=taken))

    def approve(self, proposal: Proposal, *, endorse: bool = True) -> Proposal:
        return self.queue.approve(proposal.id, self.reviewer, proposal.digest, endorse=endorse)


def fill(store: Store) -> Desk:
    """Leave one of everything behind: 20 events or so."""
    desk = Desk.at(store, HandClock())
    executor = Executor(desk.queue, wait=timedelta())
    ben = desk.queue.reviewers.add("ben", by=desk.reviewer)
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    assert ben
    executor.run(desk.approve(desk.propose()).id, lambda args, key: "sent")
    executor.run(desk.propose(ALLOW).id, lambda args, key: 1 / 0)
    desk.propose(DENY)
    desk.queue.reject(desk.propose().id, desk.reviewer)
    desk.propose(DENY, observe=True)
    given(desk)
    desk.propose()
    return desk


def given(desk: Desk) -> None:
    """Use and end mandates and endorsements."""
    first, second = desk.grant(max_calls=2), desk.grant(source="list_files")
    desk.use(Use("mandate", first.id, "40.5"), Use("endorsement", desk.queue.endorsements("t")[0].id))
    desk.queue.revoke_mandate(second.id, desk.reviewer)
    desk.queue.revoke_endorsement(desk.queue.endorsements("t")[0].id, desk.reviewer)


def tamper(path: Path, *statements: str) -> None:
    """Change the database behind the program's back."""
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    finally:
        connection.close()
