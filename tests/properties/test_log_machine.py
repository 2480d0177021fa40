"""The signed log against a model: whatever writers, crashes, clocks, rotations and people with backups do to it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy.exc import ObjectNotExecutableError

from checkvalve.approvals import audit, chainend
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.store import Store
from tests.approvals.made import HandClock
from tests.approvals.sealed import QUICK_KEY, Desk, write

pytestmark = pytest.mark.claim("C5")
DATABASE = "log.db"


class DiedError(Exception):
    """A process that ended in the middle."""


class LogMachine(RuleBasedStateMachine):
    """The model keeps the bytes of every event, and of those that were signed; a log is honest while these agree."""

    template: Path | None = None

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        if type(self).template is None:  # running the migrations once is enough
            type(self).template = Path(tempfile.mkdtemp()) / DATABASE
            Store.open(f"sqlite:///{self.template}").close()
        shutil.copy(str(self.template), self.folder / DATABASE)
        self.clock, self.key = HandClock(), QUICK_KEY
        self.signed: list[bytes] = []
        self.backups: list[Path] = []
        self.open()

    def open(self) -> None:
        self.store = Store.open(f"sqlite:///{self.folder / DATABASE}", create=False)
        self.log = Desk(self.store, self.folder, self.key, self.clock)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def events(self) -> list[bytes]:
        with self.store.read() as connection:
            return [event.form for event in audit.read_events(connection)]

    def is_honest(self) -> bool:
        return self.events()[: len(self.signed)] == self.signed

    @rule(count=st.integers(1, 4), text=st.text(max_size=5))
    def append(self, count: int, text: str) -> None:
        write(self.store, count, text=text, at=self.clock())

    @rule()
    def append_and_die(self) -> None:
        before = self.events()
        with mock.patch.object(chainend, "_STORE", None), pytest.raises(ObjectNotExecutableError):
            write(self.store, 1, at=self.clock())  # it ends between the event and the head
        assert self.events() == before

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.open()

    @rule(hours=st.integers(-2_000, 2_000))
    def set_the_clock(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    def sealing(self, work: str) -> None:
        """Sign, heartbeat or start; it works while the log is honest, and signs nothing where it is not."""
        if self.is_honest():
            getattr(self.log.sealer, work)()
            self.signed = self.events()[: self.log.sealer.seal().checkpoint.size]
            return
        last = (self.folder / "signed").read_text()
        with pytest.raises(LogTamperedError):
            getattr(self.log.sealer, work)()
        assert (self.folder / "signed").read_text() == last

    @rule()
    def seal(self) -> None:
        self.sealing("seal")

    @rule()
    def start(self) -> None:
        self.sealing("start")

    @precondition(lambda self: self.signed)
    @rule()
    def die_between_the_file_and_the_database(self) -> None:
        if not self.is_honest():
            return
        write(self.store, 1, at=self.clock())
        with mock.patch.object(self.log.sealer, "_swap", side_effect=DiedError), pytest.raises(DiedError):
            self.log.sealer.seal()
        self.signed = self.events()

    @precondition(lambda self: self.signed)
    @rule()
    def die_before_the_anchor_is_told(self) -> None:
        if not self.is_honest():
            return
        with mock.patch.object(self.log.anchor.__class__, "publish", side_effect=LogError("full", remedy="-")):
            write(self.store, 1, at=self.clock())
            self.signed = self.events()[: self.log.sealer.seal().checkpoint.size]

    @precondition(lambda self: self.signed)
    @rule()
    def rotate(self) -> None:
        if not self.is_honest() or len(self.key.rotations) > 2:
            return
        kept: list[LogKey] = []
        self.log.sealer.rotate(kept.append)
        (self.key,) = kept
        self.signed = self.events()
        self.reopen()

    @rule()
    def back_up(self) -> None:
        place = self.folder / f"backup{len(self.backups)}"
        self.store.close()
        shutil.copy(self.folder / DATABASE, place)
        self.backups.append(place)
        self.open()

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Put an older database back, as who may write the file can: it shows, unless all that was signed is there."""
        place = data.draw(st.sampled_from(self.backups))
        self.store.close()
        kept = self.folder / "kept"
        shutil.copy(self.folder / DATABASE, kept)
        for name in ("-wal", "-shm"):
            (self.folder / f"{DATABASE}{name}").unlink(missing_ok=True)
        shutil.copy(place, self.folder / DATABASE)
        self.open()
        if self.is_honest():
            return
        codes = self.log.codes()
        assert codes & {"truncated", "replaced", "bad_checkpoint"}, "an older log was put back, and verifying was fine"
        self.seal()
        write(self.store, 30, text="instead", at=self.clock())
        assert self.log.codes() & {"truncated", "replaced", "bad_checkpoint"}, "it grew beyond what was signed"
        self.seal()
        self.store.close()
        for name in ("-wal", "-shm"):
            (self.folder / f"{DATABASE}{name}").unlink(missing_ok=True)
        shutil.copy(kept, self.folder / DATABASE)
        self.open()

    @invariant()
    def an_honest_log_is_fine(self) -> None:
        if hasattr(self, "store") and self.is_honest():
            report = self.log.verify()
            assert report.ok, report.findings
            assert report.is_judged or not self.signed  # an empty log can be signed, too
            assert len(self.signed) <= report.events


class LongerLogMachine(LogMachine):
    """The same, for the long run."""


LogMachine.TestCase.settings = settings(max_examples=6, stateful_step_count=15, deadline=None)
LongerLogMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)

TestLog = LogMachine.TestCase
TestLogLonger = pytest.mark.nightly(LongerLogMachine.TestCase)
