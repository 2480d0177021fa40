"""Builds of Checkvalve that are broken on purpose: a suite that does not fail on them proves nothing.

``apply`` changes the present process and nothing else. The programs of the crash tests call it with what their job
says; as a plugin of pytest (see ``builds``) it takes the name from ``CHECKVALVE_TEST_BUILD``. A build
is made by changing the source of a function; where the text to change is not there any more, it says so.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import (
    attempts,
    audit,
    claims,
    moves,
    probe_record,
    records,
    retries,
    sealer,
    sqlite_file,
)
from checkvalve.approvals.checkpoints import Checkpoint, sign
from checkvalve.approvals.lastsigned import write_signed
from checkvalve.approvals.merkle import Frontier, leaf_hash
from checkvalve.approvals.pins import Found
from checkvalve.approvals.tables import attempts as attempt_rows
from checkvalve.approvals.tables import grants, proposals

Job = Mapping[str, Any]


def _rewritten(place: ModuleType | type, name: str, *changes: tuple[str, str]) -> None:
    """Put a function in place of ``name`` whose source differs."""
    found = inspect.getattr_static(place, name)
    plain = found.__func__ if isinstance(found, staticmethod) else found
    source = textwrap.dedent(inspect.getsource(plain))
    for old, new in changes:
        if old not in source:
            raise LookupError(f"{name} has changed: {old!r} is not in it")
        source = source.replace(old, new)
    module: dict[str, Any] = plain.__globals__
    made: dict[str, Any] = {}
    exec(compile("from __future__ import annotations\n" + source, name, "exec"), module, made)
    setattr(place, name, made[plain.__name__])


_always = sa.text("1 = 1")
SETS: Final = sa.update(proposals).where(
    proposals.c.id == sa.bindparam("was_id"),
    *(sa.or_(proposals.c[name] == sa.bindparam(f"was_{name}"), _always) for name in ("state", "version", "digest")),
)
RULES: Final = (
    "    if not may_move(proposal.state, end, proposal.idempotency):\n        raise conflict(proposal)\n",
    "",
)


def no_compare(_: Job) -> None:
    """A move that sets without comparing."""
    moves._MOVE = SETS  # type: ignore[misc]


def no_used_grant(_: Job) -> None:
    """A permit that may be used again."""
    attempts._USE = attempts._permit.where(grants.c.execute_by > sa.bindparam("now"))  # type: ignore[misc]


def no_unique_attempt(_: Job) -> None:
    """An attempt that makes room for the next one."""
    old = "        connection.execute(_BEGIN, asdict(attempt))\n"
    gone = "        connection.execute(sa.delete(attempts).where(attempts.c.proposal_id == proposal.id))\n"
    _rewritten(attempts, "claim", (old, gone + old))


def no_fence(_: Job) -> None:
    """Anybody may record the end of an attempt, again and again."""
    anybody = sa.or_(attempt_rows.c.fence == sa.bindparam("old_fence"), _always)
    attempts._FINISH = sa.update(attempt_rows).where(attempts._mine, anybody, attempt_rows.c.finished_at.is_(None))  # type: ignore[misc]


def _no_comparison_with_the_log() -> None:
    """Let a build go as far as its effects: comparing rows with their events would stop it before that."""
    claims.require_recorded = lambda *_: None  # type: ignore[attr-defined]


def no_single_use(job: Job) -> None:
    """All of it at once: what is left is a look before the leap."""
    _no_comparison_with_the_log()
    no_compare(job)
    _rewritten(moves, "move", RULES)
    no_used_grant(job)
    no_unique_attempt(job)
    no_fence(job)


def retry_unknown(_: Job) -> None:
    """What nobody knows the end of is simply tried again."""
    _no_comparison_with_the_log()
    before = claims.Claims._recover_one

    def again(self: claims.Claims, proposal_id: str, attempt: attempts.Attempt) -> records.Proposal | None:
        found = before(self, proposal_id, attempt)
        if found is None or found.state is not records.State.UNKNOWN:
            return found
        with self._queue.store.write() as connection:
            connection.execute(sa.delete(attempt_rows).where(attempt_rows.c.proposal_id == proposal_id))
            connection.execute(sa.update(grants).where(grants.c.proposal_id == proposal_id).values(used_at=None))
            connection.execute(sa.update(proposals).where(proposals.c.id == proposal_id).values(state="approved"))
        return self._queue.get(proposal_id)

    claims.Claims._recover_one = again  # type: ignore[method-assign]


def no_fsync(_: Job) -> None:
    """A commit that is not on disk."""
    _rewritten(sqlite_file, "_on_connect", ("synchronous=FULL", "synchronous=OFF"))


def sign_before_store(job: Job) -> None:
    """A signature of an event that is not committed yet."""
    append = audit.append

    def signing(connection: sa.Connection, **values: Any) -> audit.Head:
        head = append(connection, **values)
        frontier = Frontier()
        for event in list(audit.read_events(connection)):
            frontier.add(leaf_hash(event.form))
        signed, key = SIGNS.get("signed", job.get("signed")), SIGNS.get("key")
        if signed and key:
            write_signed(signed, sign(Checkpoint(key.origin, head.seq, frontier.root()), key.keys, now=1))
        return head

    audit.append = signing


SIGNS: Final[dict[str, Any]] = {}
"""Where the build that signs too early finds key and file: a test of it says so."""


def no_previous(_: Job) -> None:
    """A sealer that does not look whether an event follows the one before."""
    _rewritten(sealer.Sealer, "_leaves", ("event.seq != last + 1 or event.prev != prev or not", "not"))


def no_rehash(_: Job) -> None:
    """Arguments that are read without hashing them again, from a record that nobody compares with the log."""
    same = 'if "sha256:" + hashlib.sha256(self.canonical).hexdigest() != self.digest:'
    _rewritten(records.Proposal, "args", (same, "if False:"))
    _no_comparison_with_the_log()


def waking_is_a_yes(_: Job) -> None:
    """A message that says go on, taken for a decision."""
    take = claims.Claims.take

    def woken(
        self: claims.Claims, proposal_id: str, revalidate: claims.Revalidate | None, pinned: Found | None = None
    ) -> Any:
        if self._queue.get(proposal_id).state is records.State.PENDING:
            now = self._queue.clock()
            with self._queue.store.write() as connection:
                row = moves.load(connection, proposal_id)
                row = moves.move(connection, row, records.State.APPROVED, at=now, by="message", execute_by=now + 10**9)
                moves.issue_grant(connection, row, by="message", at=now, execute_by=now + 10**9)
        return take(self, proposal_id, revalidate, pinned)

    claims.Claims.take = woken  # type: ignore[method-assign]


def other_key(_: Job) -> None:
    """A second try that the remote side takes for another call."""
    same = "idempotency_key=previous.idempotency_key"
    _rewritten(attempts, "claim", (same, "idempotency_key=owner[-36:]"))


def no_bound(_: Job) -> None:
    """A key that is tried for as long as somebody comes back."""
    retries.is_over = lambda *_, **__: False


def early_no(_: Job) -> None:
    """A probe that is believed while the request may still be on its way."""
    _rewritten(probe_record, "_judged", ("answer.asked <", "0 >"))


def _sound(_: Job) -> None:
    """Leave everything as it is: the control of the controls."""


BUILDS: Final[dict[str, Callable[[Job], None]]] = {
    "": _sound,
    **{
        made.__name__: made
        for made in (
            no_compare,
            no_used_grant,
            no_unique_attempt,
            no_fence,
            no_single_use,
            retry_unknown,
            no_fsync,
            sign_before_store,
            no_previous,
            no_rehash,
            waking_is_a_yes,
            other_key,
            no_bound,
            early_no,
        )
    },
}


def apply(name: str, job: Job) -> None:
    """Break this process in the way called ``name``; an empty name breaks nothing."""
    BUILDS[name](job)


def pytest_configure() -> None:
    """Break the process of the tests."""
    apply(os.environ.get("CHECKVALVE_TEST_BUILD", ""), {})
