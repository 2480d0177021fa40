"""Leases against a model: whoever asks, renews, gives back, dies or oversleeps, in whatever order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from checkvalve.approvals import leases as lease_module
from checkvalve.approvals.errors import LeaseHeldError, LeaseLostError
from checkvalve.approvals.leases import Lease, Leases
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import leases as rows
from tests.approvals.made import HandClock
from tests.databases import Server

SPAN = 30
THREADS = ("a", "b")
SERVERS: list[Server] = []


@pytest.fixture
def server(postgres_server: Server) -> Iterator[None]:
    SERVERS[:] = [postgres_server]
    yield
    SERVERS.clear()


@dataclass
class Standing:
    """What must be true of one thread."""

    fence: int = 0
    until: int = 0  # 0: nobody holds it


class LeaseMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.name = ""
        self.store = Store.open(self.address())
        self.clock = HandClock()
        self.table = Leases(self.store, self.clock, span=timedelta(seconds=SPAN))
        self.standing = {thread: Standing() for thread in THREADS}
        self.leases: list[Lease] = []

    def address(self) -> str:
        return f"sqlite:///{self.folder.name}/leases.db"

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def _is_current(self, lease: Lease) -> bool:
        now = self.standing[lease.thread]
        return bool(now.until) and now.fence == lease.fence

    @rule(thread=st.sampled_from(THREADS), elsewhere=st.booleans())
    def acquire(self, thread: str, elsewhere: bool) -> None:
        before = self.standing[thread]
        try:
            lease = self.table.acquire(thread)
        except LeaseHeldError:
            assert before.until > self.clock.now
            return
        assert before.until <= self.clock.now
        assert lease.fence == before.fence + 1
        if elsewhere:
            lease = replace(lease, owner=f"boot/pid/1/1/{lease.owner[-8:]}")
            with self.store.write() as connection:
                connection.execute(sa.update(rows).where(rows.c.thread == thread).values(owner=lease.owner))
        self.standing[thread] = Standing(lease.fence, lease.until)
        self.leases.append(lease)

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        if not self.leases:
            return
        lease = data.draw(st.sampled_from(self.leases))
        current = self._is_current(lease)
        try:
            renewed = self.table.renew(lease)
        except LeaseLostError:
            assert not current
        else:
            assert current
            assert renewed.fence == lease.fence
            self.standing[lease.thread].until = renewed.until

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.leases:
            lease = data.draw(st.sampled_from(self.leases))
            if self._is_current(lease):
                self.standing[lease.thread].until = 0
            self.table.release(lease)

    @rule()
    def forget_everything(self) -> None:
        """This process loses its leases without giving them back; nobody else's are touched by that."""
        for lease in list(self.leases):
            if lease.owner in lease_module._HELD:
                lease_module._HELD.discard(lease.owner)
                self.leases.remove(lease)
                if self._is_current(lease):
                    self.standing[lease.thread].until = min(self.standing[lease.thread].until, self.clock.now)

    @rule(seconds=st.sampled_from([1, 10, SPAN, 3 * SPAN]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def the_rows_say_the_same(self) -> None:
        for row in self._rows():
            assert row.fence == self.standing[row.thread].fence
            assert bool(row.owner) == bool(self.standing[row.thread].until)

    def _rows(self) -> list[sa.Row[tuple[object, ...]]]:
        if not hasattr(self, "store"):
            return []
        with self.store.read() as connection:
            return list(connection.execute(sa.select(rows)).all())


class PostgresLeaseMachine(LeaseMachine):
    def address(self) -> str:
        (server,) = SERVERS
        self.name = server.empty("ready")
        return server.url(self.name)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "name"):
            SERVERS[0].drop(self.name)


LeaseMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
PostgresLeaseMachine.TestCase.settings = settings(max_examples=10, stateful_step_count=30, deadline=None)


TestLeases = LeaseMachine.TestCase
TestLeasesOnPostgres = pytest.mark.postgres(pytest.mark.usefixtures("server")(PostgresLeaseMachine.TestCase))
