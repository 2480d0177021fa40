"""What only a server can do to us: be away, be wrong, be full of others, cut us off, and refuse characters."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, faults, postgres
from checkvalve.approvals.columns import escape, unescape
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import (
    NotFoundError,
    QueueError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnreachableError,
)
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.leases import Leases
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, content, events
from checkvalve.approvals.verify import verify
from checkvalve.filters.labels import user_label
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, REVIEW, Desk, HandClock, decided, fill
from tests.databases import Server
from tests.waiting import until

pytestmark = pytest.mark.postgres

NUL = "a\x00b\ufdd0c\ufdd1\ufdd2"


@pytest.fixture
def url(postgres_server: Server) -> Iterator[str]:
    name = postgres_server.empty("ready")
    yield postgres_server.url(name)
    postgres_server.drop(name)


@pytest.fixture
def databases() -> None:
    """Only one kind of database here: this hides the fixture that makes each."""


def test_text_with_nul_characters_comes_back(desk: Desk, store: Store) -> None:
    proposal = desk.propose(request=desk.request(to=NUL, thread=NUL, requester=NUL, call_id=NUL))
    assert desk.queue.get(proposal.id) == proposal
    assert [row.thread for row in desk.queue.list(thread=NUL)] == [NUL]
    assert desk.queue.list(thread="ab\ufdd0c") == []
    desk.queue.reject(proposal.id, desk.reviewer, "no", NUL)
    assert desk.queue.get(proposal.id).note == NUL
    contents = SqlContentStore(store)
    contents.append_item(NUL, NUL, NUL, {"x": NUL}, user_label(uri=NUL))
    (item,) = contents.items(NUL)
    assert (item.key, item.kind, item.value) == (NUL, NUL, {"x": NUL})
    with pytest.raises(NotFoundError):
        desk.queue.get("no\x00such")
    assert verify(store).ok


@pytest.mark.parametrize("text", ["", "\x00", "\ufdd0", "\ufdd1\ufdd0", "\ufdd0\ufdd1", "\x00\ufdd0\x00", "plain"])
def test_the_escape_is_exact(text: str) -> None:
    assert "\x00" not in escape(text)
    assert unescape(escape(text)) == text


def test_names_that_no_index_could_hold_are_shortened_or_refused(desk: Desk, store: Store) -> None:
    contents = SqlContentStore(store)
    long = "\U0001f600" * 4_000
    assert contents.append_item("t" * 200, long, "k", 1) == contents.append_item("t" * 200, long, "k", 1)
    contents.append_item("t" * 200, "\ud800", "k", 1)
    assert len(contents.items("t" * 200)) == 2
    with pytest.raises(QueueError, match="too long"):
        contents.append_item("t" * 201, "k", "k", 1)
    far = Endorsement("eve@evil.example", "tool:read/" + os.urandom(3_000).hex(), "target", "send", "email")
    near = Endorsement("eve@evil.example", "tool:read/" + os.urandom(400).hex(), "target", "send", "email")
    wide = desk.request(thread="\U0001f600" * 200, call_id="\U0001f601" * 200)
    proposal = desk.queue.propose(wide, decided(REVIEW, [far, near]))
    desk.approve(proposal)
    assert desk.queue.endorsements(wide.thread) == [near]


def test_a_missing_driver_is_named_with_the_line_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(StoreUnreachableError, match=r"pip install 'checkvalve\[postgres\]'"):
        Store.open("postgresql://nobody@nowhere/x")


def test_addresses_that_lead_nowhere_say_what_to_do(postgres_server: Server, url: str) -> None:
    cases = {
        "postgresql+asyncpg://x@y/z": "driver",
        postgres_server.url("none"): "no such database|does not answer",
        url.replace(str(postgres_server.folder), "/nowhere"): "does not answer",
        url.replace(f"//{postgres_server.user}@", "//nobody_we_know@"): "user|answer",
    }
    for address, said in cases.items():
        with pytest.raises(StoreUnreachableError, match=said) as caught:
            Store.open(address)
        assert caught.value.remedy


def test_an_empty_database_is_not_filled_by_mistake(postgres_server: Server) -> None:
    name = postgres_server.empty()
    try:
        with pytest.raises(StoreUnreachableError, match="no tables"):
            Store.open(postgres_server.url(name), create=False)
        Store.open(postgres_server.url(name)).close()
        Store.open(postgres_server.url(name), create=False).close()
    finally:
        postgres_server.drop(name)


def test_a_database_that_cannot_keep_any_text_is_refused(postgres_server: Server) -> None:
    postgres_server.run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreUnreachableError, match="LATIN1"):
        Store.open(postgres_server.url("latin"))


def test_a_user_who_may_read_add_and_change_is_enough(postgres_server: Server, url: str) -> None:
    name = url.partition("@/")[2].partition("?")[0]
    role = f"app_{name}"
    postgres_server.run(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {role}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}",
        database=name,
    )
    with Store.open(url.replace(f"//{postgres_server.user}@", f"//{role}@"), create=False) as store:
        fill(store)
        SqlContentStore(store).append_item("t", "k", "k", 1)
        with Leases(store).hold("t"):
            pass
        assert verify(store).ok
        with pytest.raises(StoreUnreachableError, match="lacks rights") as caught, store.write() as connection:
            connection.execute(sa.delete(events))
        assert caught.value.remedy


def test_transactions_are_what_the_store_needs_whatever_the_server_says(postgres_server: Server, url: str) -> None:
    name = url.partition("@/")[2].partition("?")[0]
    postgres_server.run(
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'",
        f"ALTER DATABASE {name} SET synchronous_commit = off",
    )

    def shown(connection: sa.Connection) -> list[str]:
        wanted = ("transaction_isolation", "transaction_read_only", "synchronous_commit", "lock_timeout")
        return [connection.exec_driver_sql(f"SHOW {setting}").scalar_one() for setting in wanted]

    with Store.open(url) as store:
        for _ in range(8):  # the driver prepares what it sees often
            with store.read() as connection:
                assert shown(connection)[:2] == ["repeatable read", "on"]
            with store.write() as connection:
                assert shown(connection) == ["read committed", "off", "on", "10s"]


def test_a_reader_sees_one_moment_and_cannot_write(store: Store) -> None:
    with store.read() as reader:
        assert reader.execute(sa.select(audit_head.c.seq)).scalar() == 0
        with store.write() as writer:
            audit.append(writer, at=1, kind="test", body={})
        assert reader.execute(sa.select(audit_head.c.seq)).scalar() == 0
    with pytest.raises(StoreUnreachableError, match="takes no writes"), store.read() as reader:
        reader.execute(sa.update(audit_head).values(seq=9))


@pytest.mark.claim("C9")
def test_a_held_head_is_busy_and_says_so(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_LIMITS", "SET LOCAL lock_timeout = '100ms'")
    with Store.open(url) as other, other.write(), pytest.raises(StoreBusyError, match="another process"), store.write():
        pass
    with store.write() as connection:
        audit.append(connection, at=1, kind="test", body={})


@pytest.mark.claim("C9")
def test_a_writer_that_hangs_is_cut_off_and_changes_nothing(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(other: Store) -> None:
        with other.write() as connection:
            audit.append(connection, at=1, kind="hung", body={})
            own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            until(lambda: not is_there(own), "the server did not cut it off")

    def is_there(process: int) -> bool:
        with store.read() as connection:
            found = sa.text("SELECT count(*) FROM pg_stat_activity WHERE pid = :process")
            return bool(connection.execute(found, {"process": process}).scalar())

    with Store.open(url) as other, monkeypatch.context() as patched:
        patched.setattr(postgres, "_LIMITS", "SET LOCAL idle_in_transaction_session_timeout = '200ms'")
        with pytest.raises(StoreError):
            hang(other)
    assert audit.head(store).seq == 0
    with store.write() as connection:
        audit.append(connection, at=1, kind="test", body={})
    assert verify(store).ok


@pytest.mark.claim("C9")
def test_a_crash_of_the_server_loses_nothing_that_was_promised(desk: Desk, postgres_server: Server) -> None:
    proposal = desk.approve(desk.propose())
    postgres_server.stop()
    with pytest.raises(StoreUnreachableError, match="does not answer"):
        Executor(desk.queue).run(proposal.id, lambda args, key: pytest.fail("it ran without a record"))
    postgres_server.start()
    assert desk.queue.get(proposal.id) == proposal
    assert Executor(desk.queue).run(proposal.id, lambda args, key: "sent").state is State.SUCCEEDED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_an_end_is_recorded_although_the_server_was_away_for_a_moment(
    desk: Desk, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = desk.propose(ALLOW)
    plain, slept = time.sleep, list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            postgres_server.start()
        plain(seconds)

    def effect(_: dict[str, JSON], key: str) -> JSON:
        postgres_server.stop()
        monkeypatch.setattr(time, "sleep", sleep)
        return key

    outcome = Executor(desk.queue).run(proposal.id, effect)
    assert (outcome.state, desk.queue.get(proposal.id).state) == (State.SUCCEEDED, State.SUCCEEDED)
    assert verify(desk.queue.store).ok


def test_errors_never_show_values(store: Store) -> None:
    with pytest.raises(StoreCorruptError) as caught, store.read() as connection:
        connection.execute(sa.text("SELECT CAST(:secret AS text) FROM nowhere"), {"secret": "s3cret-value"})
    assert "s3cret-value" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("40001", StoreBusyError),
        ("40P01", StoreBusyError),
        ("55P03", StoreBusyError),
        ("53300", StoreBusyError),
        ("XX001", StoreCorruptError),
        ("42P01", StoreCorruptError),
        ("42501", StoreUnreachableError),
        ("53100", StoreUnreachableError),
        ("28P01", StoreUnreachableError),
        ("", StoreUnreachableError),
    ],
)
def test_what_the_server_says_becomes_an_error_with_a_remedy(state: str, kind: type[StoreError]) -> None:
    class SaidError(Exception):
        sqlstate = state

    error = faults.as_store_error(SaidError("the row (s3cret) is locked"))
    assert type(error) is kind
    assert error.remedy
    assert "s3cret" not in str(error)


def test_a_forked_child_uses_its_own_connections(store: Store) -> None:
    with store.read() as connection:
        connection.execute(sa.select(audit_head.c.seq)).scalar()
    child = os.fork()
    if child == 0:
        try:
            with store.write() as connection:
                audit.append(connection, at=1, kind="child", body={})
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with store.write() as connection:
        audit.append(connection, at=2, kind="parent", body={})
    assert audit.head(store).seq == 2


def test_history_numbers_are_in_the_order_of_their_commits(store: Store, clock: HandClock) -> None:
    """A reader that goes on after the last number it saw misses nothing."""
    contents, seen, done = SqlContentStore(store, clock), list[int](), threading.Event()

    def read() -> None:
        while not done.is_set() or contents.items("t", after=seen[-1] if seen else 0):
            seen.extend(item.seq for item in contents.items("t", after=seen[-1] if seen else 0))

    reader = threading.Thread(target=read)
    reader.start()
    writers = [
        threading.Thread(target=lambda n=n: [contents.append_item("t", f"{n}/{i}", "k", i) for i in range(25)])
        for n in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert len(seen) == 100
    with store.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(content)).scalar() == 0
