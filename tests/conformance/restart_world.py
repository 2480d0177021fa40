"""A gateway whose audit log is closed and begun anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.anchors import FileAnchor
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.records import State
from checkvalve.approvals.restart import Order, Restarted, restart
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import VerifyReport, verify
from tests.approvals.made import Desk

OLD, NEW = "log.example/old", "log.example/new"


@dataclass
class Place:
    """A queue with a signed log."""

    desk: Desk
    place: LogPlace

    @property
    def store(self) -> Store:
        return self.desk.queue.store

    def seal(self) -> int:
        """Sign what there is, and return the size of the checkpoint."""
        return self.place.sealer(self.store).seal().checkpoint.size

    def restart(self, *, before: int | None = None, origin: str = NEW, by: object = None) -> Restarted:
        who = by or self.desk.reviewer
        order = Order(who, "a key lay in a backup", origin, before)  # type: ignore[arg-type]  # a reviewer
        return restart(self.store, self.place, self.desk.queue.reviewers, order)

    def verify(self, keys: tuple[PublicKey, ...] = ()) -> VerifyReport:
        outside = list(self.place.outside())
        return verify(self.store, keys=keys or self.place.public_keys(), outside=outside)

    def tamper(self, statement: str, **values: object) -> None:
        with self.store.write() as connection:
            assert connection.execute(sa.text(statement), values).rowcount

    def count(self) -> int:
        return audit.head(self.store).seq

    def state(self, name: str) -> State:
        return self.desk.queue.get(name).state


@pytest.fixture
def log(desk: Desk, tmp_path: Path) -> Place:
    place = LogPlace(tmp_path / "key.json", anchors=(FileAnchor(tmp_path / "anchor"),))
    place.save(LogKey.new(OLD))
    return Place(desk, place)


def assert_good(log: Place) -> VerifyReport:
    report = log.verify()
    assert (report.ok, report.is_judged) == (True, True), report.findings
    return report
