"""Anchors that are files and lines of the system's log, and a log that lives through everything in any order."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from checkvalve.approvals import audit
from checkvalve.approvals.anchors import FileAnchor, SyslogAnchor, WitnessAnchor, parse_anchor, parse_anchors
from checkvalve.approvals.bundles import verify_bundle
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import kept_in
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import ORIGIN, QUICK_KEY, Desk, write
from tests.waiting import LONG


@pytest.mark.claim("C5")
def test_a_line_of_syslog_is_an_anchor(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(f"{short}/log")
        log.settimeout(LONG)
        with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
            desk = Desk(store, tmp_path, more=[parse_anchor(f"syslog:{short}/log")])
            write(store, 4)
            assert not desk.sealer.seal().failed
            line = log.recv(65_536).decode(errors="replace")
            (tmp_path / "messages").write_text(f"Nov 30 09:00:00 host other: x\nNov 30 09:00:01 host {line}\n")
            (kept,) = kept_in([tmp_path / "messages"])
            assert kept.short
            assert verify(store, keys=desk.key.public, outside=[kept]).is_judged
            stranger = LogKey.new(ORIGIN)
            assert not verify(store, keys=stranger.public, outside=[kept]).ok
            assert len(line) < 1_024, "what old syslogs cut off"


def test_an_anchor_that_cannot_be_written_is_told_again(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        missing = tmp_path / "disk" / "anchor"
        desk = Desk(store, tmp_path, more=[FileAnchor(missing), SyslogAnchor(f"{tmp_path}/nothing")])
        write(store, 2)
        failed = desk.sealer.seal().failed
        assert set(failed) == {f"file:{missing}", f"syslog:{tmp_path}/nothing"}
        missing.parent.mkdir()
        assert f"file:{missing}" not in desk.sealer.seal().failed
        assert missing.read_text().count("\n") == 1


def test_what_may_stand_in_the_setting() -> None:
    key = LogKey.new("w.example", classic=4).public[0]
    found = parse_anchors(f"file:/a, syslog:, syslog:h.example:514, witness:https://w.example {key}")
    assert [type(one) for one in found] == [FileAnchor, SyslogAnchor, SyslogAnchor, WitnessAnchor]
    assert [one.name for one in found] == ["file:/a", "syslog:/dev/log", "syslog:h.example:514", "witness:w.example"]
    plain = QUICK_KEY.public[0]
    for wrong in ("file:a", "x", "witness:ftp://w " + str(key), "witness:https://w.example " + str(plain), "syslog:a"):
        with pytest.raises(ValueError, match="no anchor"):
            parse_anchors(wrong)


@pytest.mark.claim("C5")
def test_a_damaged_anchor_is_found_and_an_empty_one_is_no_anchor(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        desk = Desk(store, tmp_path)
        write(store, 2)
        desk.sealer.seal()
        whole = desk.anchor.path.read_text()
        for bad in (whole[:-9] + "\n", whole.replace(ORIGIN, "log.example/b", 1), "{}\n"):
            desk.anchor.path.write_text(bad)
            assert desk.codes() <= {"bad_checkpoint", "other_log"}
            assert desk.codes()
        desk.anchor.path.write_text("nothing\n")
        with pytest.raises(LogError, match="no checkpoint in"):
            desk.codes()


class Life(RuleBasedStateMachine):
    """Appends, seals, other sealers, restarts, rotations, and backups that are put back."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name)
        self.key = QUICK_KEY
        self.open()
        self.backup: tuple[bytes, int] | None = None
        self.sealed = 0

    def open(self) -> None:
        self.store = Store.open(f"sqlite:///{self.place}/a.db")
        self.desk = Desk(self.store, self.place, self.key)

    @rule(count=st.integers(1, 9))
    def append(self, count: int) -> None:
        write(self.store, count)

    @rule()
    def seal(self) -> None:
        self.sealed = self.desk.sealer.seal().checkpoint.size

    @rule()
    def seal_elsewhere(self) -> None:
        self.sealed = self.desk.other("elsewhere").seal().checkpoint.size
        self.desk.sealer.seal()

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open()

    @rule()
    def rotate(self) -> None:
        kept: list[LogKey] = []
        self.sealed = self.desk.sealer.rotate(kept.append).checkpoint.size
        self.key = kept[0]
        self.restart()

    @rule()
    def back_up(self) -> None:
        events = audit.head(self.store).seq
        self.store.close()
        self.backup = ((self.place / "a.db").read_bytes(), events)
        self.open()

    @precondition(lambda self: self.backup is not None and self.backup[1] < self.sealed)
    @rule()
    def put_back(self) -> None:
        """A database that lacks what was signed is always seen; then the newer one comes back."""
        assert self.backup is not None
        self.store.close()
        now = (self.place / "a.db").read_bytes()
        (self.place / "a.db").write_bytes(self.backup[0])
        self.open()
        assert not self.desk.verify().ok
        try:
            self.desk.sealer.seal()
        except LogTamperedError:
            pass
        else:
            raise AssertionError("an older database was signed")
        self.store.close()
        (self.place / "a.db").write_bytes(now)
        self.open()

    @invariant()
    def it_agrees(self) -> None:
        report = self.desk.verify()
        assert report.ok, report.findings
        if self.sealed:
            for key in (QUICK_KEY, self.key):
                assert verify_bundle(self.desk.bundle(), key.public).ok

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


class LongerLife(Life):
    """The same, for the long run."""


Life.TestCase.settings = settings(max_examples=3, stateful_step_count=12, deadline=None)
LongerLife.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)

TestLife = pytest.mark.claim("C5")(Life.TestCase)
TestLongerLife = pytest.mark.claim("C5")(pytest.mark.nightly(LongerLife.TestCase))
