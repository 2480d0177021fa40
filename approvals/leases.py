"""One run at a time for each thread: a lease that is taken before a graph is invoked or resumed.

Guarantees: of several who ask, one gets it; whoever takes it over holds a higher fence than everybody before; a dead
owner on this machine is noticed at once, one elsewhere when its time is over. What it does not do: a holder that was
stopped for longer than the lease and wakes up finds out at its next :meth:`Held.check`, not before. Effects do not
depend on that: an approval is used up in the store, whoever runs.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.clock import Clock, micros, rfc3339, system_clock
from checkvalve.approvals.errors import LeaseHeldError, LeaseLostError, QueueError, StoreError
from checkvalve.approvals.ownership import Owner, is_dead
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import leases

SPAN: Final = timedelta(minutes=1)
"""How long a lease is good without being renewed: after this, a run that died on another machine is taken over."""
MAX_THREAD: Final = 600
"""Characters of a thread's name, with the names of sub-agents in it: what an index of a server can hold."""
_RENEWALS: Final = 3  # in each span, so that one or two may fail before the lease is lost

_HELD: Final[set[str]] = set()
"""What this process holds, by owner text: a row of ours that is not in it was left behind."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to advance ``thread`` until ``until``. ``fence`` grows with each new holder."""

    thread: str
    owner: str
    fence: int
    until: int


class Held:
    """A lease that is being renewed. Call :meth:`check` before each thing that must not be done twice."""

    def __init__(self, leases_: Leases, lease: Lease) -> None:
        """Begin with ``lease``; nothing renews it yet."""
        self._leases = leases_
        self._lease = lease
        self._lost = False

    @property
    def fence(self) -> int:
        """The fence under which this run holds the thread."""
        return self._lease.fence

    def check(self) -> None:
        """Make sure that the lease is still ours.

        Raises:
            LeaseLostError: it is over, or somebody else holds the thread.
        """
        if self._lost or self._leases.clock() >= self._lease.until:
            raise _lost(self._lease.thread)

    def renew(self) -> None:
        """Make the lease longer; one that cannot be renewed before its time is over is lost."""
        try:
            self._lease = self._leases.renew(self._lease)
        except LeaseLostError:
            self._lost = True
        except StoreError:
            return  # until the end of the present span the lease is still ours

    def release(self) -> None:
        """Give it back. Where the store does not answer, it is found as left behind."""
        try:
            self._leases.release(self._lease)
        except StoreError:
            return

    def keep(self, stop: threading.Event, every: float) -> None:
        """Renew until ``stop`` is set or the lease is lost; the work of a thread."""
        while not stop.wait(every) and not self._lost:
            self.renew()


class Leases:
    """The leases in one store."""

    def __init__(self, store: Store, clock: Clock = system_clock, *, span: timedelta = SPAN) -> None:
        """Let each lease be good for ``span``; machines whose clocks differ by more than that need a longer one."""
        self._store = store
        self.clock = clock
        self._span = span

    @contextmanager
    def hold(self, thread: str) -> Iterator[Held]:
        """Hold the lease of ``thread`` while the block runs, renewing it in the background.

        Raises:
            LeaseHeldError: somebody else is at work on it.
        """
        held = Held(self, self.acquire(thread))
        stop = threading.Event()
        every = self._span.total_seconds() / _RENEWALS
        keeper = threading.Thread(target=held.keep, args=(stop, every), name="checkvalve-lease", daemon=True)
        try:
            keeper.start()
            yield held
        finally:
            stop.set()
            if keeper.ident is not None:
                keeper.join()
            held.release()

    @asynccontextmanager
    async def ahold(self, thread: str) -> AsyncIterator[Held]:
        """Do what :meth:`hold` does, for runs that are awaited; the store's work is done in threads."""
        context = self.hold(thread)
        entering = asyncio.ensure_future(asyncio.to_thread(context.__enter__))
        try:
            held = await asyncio.shield(entering)
        except asyncio.CancelledError:  # the thread goes on and may get the lease: give it back then
            entering.add_done_callback(lambda done: None if done.exception() else context.__exit__(None, None, None))
            raise
        try:
            yield held
        finally:
            await asyncio.shield(asyncio.to_thread(context.__exit__, None, None, None))

    def acquire(self, thread: str) -> Lease:
        """Take the lease of ``thread``.

        1. Nobody ever held it: insert the row with fence 1.
        2. It was given back, or its owner is dead or out of time: take the row over with the next fence.
        3. Its owner lives: no.

        Raises:
            LeaseHeldError: step 3.
            QueueError: there is no such name for a thread.
        """
        if not thread or len(thread) > MAX_THREAD:
            raise QueueError("a thread without a usable name has no lease", remedy=f"1 to {MAX_THREAD} characters")
        now, owner = self.clock(), str(Owner.me(secrets.token_hex(8)))
        lease = Lease(thread, owner, 1, now + micros(self._span))
        _HELD.add(owner)
        try:
            return self._acquire(lease, now)
        except BaseException:  # also when broken off from outside: a name left here would pass for a live owner
            _HELD.discard(owner)
            raise

    def _acquire(self, lease: Lease, now: int) -> Lease:
        row = leases.c
        with self._store.write() as connection:
            found = connection.execute(sa.select(leases).where(row.thread == lease.thread)).one_or_none()
            if found is None:  # 1.
                values = {"thread": lease.thread, "owner": lease.owner, "fence": lease.fence, "until": lease.until}
                connection.execute(sa.insert(leases).values(values))
                return lease
            if found.owner and not _is_over(found.owner, found.until, now):  # 3.
                raise LeaseHeldError(
                    "another run is at work on this thread",
                    remedy=f"wait until it has ended; if its machine is gone, until {rfc3339(found.until)}",
                )
            lease = replace(lease, fence=found.fence + 1)  # 2.
            mine = sa.update(leases).where(row.thread == lease.thread, row.fence == found.fence)
            taken = connection.execute(mine.values(owner=lease.owner, fence=lease.fence, until=lease.until))
            if taken.rowcount != 1:
                raise LeaseHeldError("another run was faster", remedy="wait until it has ended")
            return lease

    def renew(self, lease: Lease) -> Lease:
        """Return the same lease, good for another span from now.

        Raises:
            LeaseLostError: somebody else has it by now, or it was given back.
        """
        until = self.clock() + micros(self._span)
        with self._store.write() as connection:
            if connection.execute(_ours(lease).values(until=until)).rowcount != 1:
                raise _lost(lease.thread)
        return replace(lease, until=until)

    def release(self, lease: Lease) -> None:
        """Give the lease back. One that somebody else has taken over is left alone."""
        _HELD.discard(lease.owner)
        with self._store.write() as connection:
            connection.execute(_ours(lease).values(owner="", until=0))


def _ours(lease: Lease) -> sa.Update:
    row = leases.c
    return sa.update(leases).where(row.thread == lease.thread, row.fence == lease.fence, row.owner == lease.owner)


def _is_over(owner: str, until: int, now: int) -> bool:
    """Say whether nobody will renew this lease any more."""
    who = Owner.parse(owner)
    if who is not None and who.is_same_process(Owner.me()) and owner not in _HELD:
        return True  # left behind by this very process
    return is_dead(owner, lease_until=until, now=now)


def _lost(thread: str) -> LeaseLostError:
    return LeaseLostError(
        f"this run no longer holds thread {thread!r}",
        remedy="stop it; whoever holds the thread goes on from the record",
    )
