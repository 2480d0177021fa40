"""The queue and the executor against a model: whatever people, agents, clocks and crashes do in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, initialize, invariant, multiple, rule

from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import ConflictError, NotAllowedError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.probe_record import settle
from checkvalve.approvals.probes import PAUSE, Answer
from checkvalve.approvals.records import State
from checkvalve.approvals.retries import MAX_TRIES, WITHIN
from checkvalve.approvals.revoking import revoke
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Verdict
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, DENY, REVIEW, Desk, HandClock
from tests.databases import Server

pytestmark = pytest.mark.claim("C4", "C5")

LEASE = timedelta(minutes=15)
RAN = {State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE, State.EXECUTING}


SERVERS: list[Server] = []


@pytest.fixture
def server(postgres_server: Server) -> Iterator[None]:
    SERVERS[:] = [postgres_server]
    yield
    SERVERS.clear()


class QueueMachine(RuleBasedStateMachine):
    """The model counts effects and remembers who said yes; the invariants compare."""

    proposed = Bundle("proposed")
    template: Path | None = None

    @initialize(target=proposed)
    def open(self) -> MultipleResults[str]:
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(self.address())
        self.clock = HandClock()
        self.desk = Desk.at(self.store, self.clock)
        self.executor = Executor(self.desk.queue, wait=timedelta(), lease=LEASE)
        reviewers = self.desk.queue.reviewers
        self.zoe = reviewers.authenticate(reviewers.add("zoe", by=self.desk.reviewer))
        self.may = True  # zoe may say yes
        self.effects: dict[str, int] = {}
        self.allowed: set[str] = set()
        self.kinds: dict[str, Idempotency] = {}
        self.keys: dict[str, set[tuple[str, str]]] = {}
        self.begun: dict[str, list[int]] = {}
        self.settled: set[str] = set()
        some = (Idempotency.NONE, Idempotency.PROBE, Idempotency.KEY, Idempotency.READ)
        first: list[Any] = [self.propose(REVIEW, observe=False, kind=kind) for kind in some]
        first.append(self.propose(ALLOW, observe=False, kind=Idempotency.KEY))
        return multiple(*first)  # else most steps find nothing to do

    def address(self) -> str:
        path = Path(self.folder.name) / "q.db"
        if type(self).template is None:  # running the migrations once is enough
            type(self).template = Path(tempfile.mkdtemp()) / "template.db"
            Store.open(f"sqlite:///{self.template}").close()
        shutil.copy(str(self.template), path)
        return f"sqlite:///{path}"

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    @rule(
        target=proposed,
        verdict=st.sampled_from([ALLOW, REVIEW, DENY]),
        observe=st.booleans(),
        kind=st.sampled_from(Idempotency),
    )
    def propose(self, verdict: Verdict, observe: bool, kind: Idempotency) -> str:
        request = self.desk.request(to=f"n{len(self.effects)}@x.example")  # a refused call is not asked about again
        proposal = self.desk.propose(verdict, observe=observe, idempotency=kind, request=request)
        self.effects.setdefault(proposal.id, 0)
        if observe or verdict == ALLOW:
            self.allowed.add(proposal.id)
        self.kinds[proposal.id] = kind
        return proposal.id

    @rule(name=proposed, may=st.sampled_from([True, True, True, False]))
    def approve(self, name: str, may: bool) -> None:
        self.give_or_take_the_right(may)
        before = self.desk.queue.get(name)
        try:
            self.desk.queue.approve(name, self.zoe, before.digest)
        except ConflictError:
            assert before.state is not State.PENDING
        except NotAllowedError:
            assert before.state is State.PENDING
            assert not self.may
        else:
            assert before.state is State.PENDING
            assert self.may
            self.allowed.add(name)

    def give_or_take_the_right(self, may: bool) -> None:
        roles = [Role.APPROVER if may else Role.VIEWER]
        self.desk.queue.reviewers.set_roles("zoe", roles, by=self.desk.reviewer)
        self.may = may

    @rule(name=proposed)
    def take_the_approval_back(self, name: str) -> None:
        before = self.desk.queue.get(name)
        open_ = before.state is State.APPROVED and before.mode == "enforce"
        try:
            done = revoke(self.desk.queue, name, self.desk.reviewer)
        except ConflictError:
            assert not open_
        else:
            assert open_
            assert done.state is State.REVOKED

    @rule(name=proposed)
    def reject(self, name: str) -> None:
        before = self.desk.queue.get(name)
        try:
            self.desk.queue.reject(name, self.desk.reviewer)
        except ConflictError:
            assert before.state is not State.PENDING

    @rule(
        name=proposed,
        may=st.booleans(),
        ending=st.sampled_from(["returns", "raises", "times out"]),
        again=st.sampled_from([ALLOW, REVIEW, DENY]),
    )
    def run(self, name: str, may: bool, ending: str, again: Verdict) -> None:
        self.give_or_take_the_right(may)

        def effect(args: dict[str, JSON], key: str) -> JSON:
            self.effects[name] += 1
            self.keys.setdefault(name, set()).add((key, str(args)))
            self.begun.setdefault(name, []).append(self.clock.now)
            if ending == "raises":
                raise ValueError
            if ending == "times out":
                raise TimeoutError
            return args["n"]

        before, count = self.desk.queue.get(name), self.effects[name]
        outcome = self.executor.run(name, effect, revalidate=lambda: again)
        assert outcome.ran_here == (self.effects[name] == count + 1)
        if outcome.ran_here:
            assert before.state in {State.APPROVED, State.UNKNOWN, State.EXECUTING}
            assert again != DENY or before.mode == "observe"
            assert self.may or before.mode == "observe" or before.verdict_name == "allow"
        if outcome.state is State.INVALIDATED and before.state is State.APPROVED:
            assert outcome.proposal.code == "revalidation" or not self.may
        assert outcome.proposal == self.desk.queue.get(name)

    @rule(name=proposed)
    def die_after_the_claim(self, name: str) -> None:
        """Another machine claims the call and is never heard of again."""
        claims = Claims(self.desk.queue, LEASE, lambda _: None)
        before = self.desk.queue.get(name).state
        taken = claims.take(name, None)
        if isinstance(taken, Claim):
            self.begun.setdefault(name, []).append(self.clock.now)
        void = taken.proposal.code == "rights_gone" and not self.may
        assert void or taken.proposal.state in {State.APPROVED, State.UNKNOWN} or before is not State.APPROVED

    @rule(done=st.booleans(), name=proposed)
    def settle(self, done: bool, name: str) -> None:
        before = self.desk.queue.get(name).state
        try:
            self.desk.queue.settle(name, self.desk.reviewer, done=done)
        except ConflictError:
            assert before is not State.UNKNOWN
        else:
            self.settled.add(name)

    @rule(name=proposed, says=st.sampled_from([True, False, False, None]))
    def probe(self, name: str, says: bool | None) -> None:
        before = self.desk.queue.get(name)
        after = settle(self.desk.queue, before, Answer("look", says, "why", asked=self.clock.now))
        if after == before:
            return
        assert (before.state, self.kinds[name], after.decided_by) == (State.UNKNOWN, Idempotency.PROBE, "probe")
        assert after.state is (State.CONFIRMED_DONE if says else State.CONFIRMED_NOT_DONE)
        assert says or self.clock.now >= self.begun[name][-1] + micros(LEASE + PAUSE)
        self.settled.add(name)

    @rule(minutes=st.sampled_from([1, 1, 1, 20, 61, 60 * 25]))
    def wait(self, minutes: int) -> None:
        self.clock.advance(minutes=minutes)

    @rule()
    def recover(self) -> None:
        for proposal in self.executor.recover():
            assert proposal.state is State.UNKNOWN

    @invariant()
    def nothing_runs_twice_or_without_a_yes(self) -> None:
        for name, count in getattr(self, "effects", {}).items():
            assert count <= 1 or self.kinds[name] in {Idempotency.READ, Idempotency.KEY}
            assert len(self.keys.get(name, ())) <= 1, "every try has the same key and the same bytes"
            assert not count or name in self.allowed
            if count:
                assert self.desk.queue.get(name).state in RAN

    @invariant()
    def a_key_is_tried_within_bounds(self) -> None:
        for name, begun in getattr(self, "begun", {}).items():
            if self.kinds[name] is Idempotency.KEY:
                assert len(begun) <= MAX_TRIES
                assert begun[-1] - begun[0] < micros(WITHIN)
                assert begun[-1] < (self.desk.queue.get(name).execute_by or 0)
            elif self.kinds[name] is not Idempotency.READ:
                assert len(begun) == 1

    @invariant()
    def who_settled_a_call_has_the_last_word(self) -> None:
        for name in getattr(self, "settled", ()):
            assert self.desk.queue.get(name).state in {State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE}

    @invariant()
    def the_log_agrees_with_the_tables(self) -> None:
        if hasattr(self, "store"):
            report = verify(self.store)
            assert report.ok, report.findings


class PostgresQueueMachine(QueueMachine):
    def address(self) -> str:
        (server,) = SERVERS
        self.name = server.empty("ready")
        return server.url(self.name)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "name"):
            SERVERS[0].drop(self.name)


QueueMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
PostgresQueueMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)

TestQueue = QueueMachine.TestCase
TestQueueOnPostgres = pytest.mark.postgres(pytest.mark.usefixtures("server")(PostgresQueueMachine.TestCase))
