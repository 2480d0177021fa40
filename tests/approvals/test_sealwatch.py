"""What signs in a process of its own goes on where it can, and ends where it must."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.errors import LogTamperedError, SignerError
from checkvalve.approvals.sealer import Sealed
from checkvalve.approvals.sealwatch import watch
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from tests.approvals.sealed import Desk, write

pytestmark = pytest.mark.claim("C5")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/checkvalve.db") as store:
        write(store, 2)
        yield Desk(store, tmp_path)


def end() -> None:
    """Do what the system does at SIGTERM."""
    handler = signal.getsignal(signal.SIGTERM)
    assert callable(handler)
    handler(signal.SIGTERM, None)


def test_a_failure_is_said_once_and_tried_again_and_the_end_is_in_the_log(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    beat = desk.sealer.beat
    gone, lost = SignerError("the token is gone", remedy="put it back"), OSError("PIN 1234")
    rounds: list[Exception | None] = [gone, gone, lost, gone, None]

    def beating() -> Sealed | None:
        if (failure := rounds.pop(0)) is not None:
            raise failure
        write(desk.store, 1)
        end()
        return beat()

    monkeypatch.setattr(desk.sealer, "beat", beating)
    watch(desk.sealer, desk.store, every=0.0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "signed",
        "not signed",
        "not signed",
        "not signed",
        "the log is signed again",
        "signed",
        "signed",
    ]
    assert lines[1:4] == [
        "not signed: the token is gone (put it back)",
        "not signed: OSError",
        "not signed: the token is gone (put it back)",
    ]
    with desk.store.read() as connection:
        assert [event.kind for event in audit.read_events(connection)][-1] == "log.stopped"
    assert (desk.verify().ok, desk.verify().is_judged) == (True, True)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_log_that_is_not_what_was_signed_ends_it(desk: Desk) -> None:
    desk.sealer.seal()
    with desk.store.write() as connection:
        connection.execute(sa.delete(events).where(events.c.seq == 2))
    with pytest.raises(LogTamperedError):
        watch(desk.sealer, desk.store, every=0.0)


def test_a_key_that_does_not_sign_at_the_start_ends_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Sealed:
        raise SignerError("the token is gone")

    monkeypatch.setattr(desk.sealer, "start", failing)
    with pytest.raises(SignerError, match="gone"):
        watch(desk.sealer, desk.store, every=0.0)
