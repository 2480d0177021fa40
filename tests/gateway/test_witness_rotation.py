"""A witness that knows only the old key while the log's keys are changed: what it does, what is said, what helps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.bundles import verify_bundle
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logpolicy import parse_policy
from checkvalve.approvals.sealer import Sealed
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.witness import Witness
from tests.approvals.sealed import write
from tests.gateway.test_witness_policy import KEYS, World, policy_text, saw

pytestmark = pytest.mark.claim("C5")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as opened:
        yield opened


class Changed(World):
    """A log whose keys are changed, with witnesses that were given the old ones."""

    def change(self) -> None:
        self.old, made = self.desk.key, list[LogKey]()
        self.rotated = self.desk.sealer.rotate(made.append)
        (self.new,) = made

    def seal(self) -> Sealed:
        write(self.store, 2)
        return self.desk.sealer.seal()

    def teach(self, name: str, *keys: LogKey) -> None:
        """Start a witness again, with these keys of the log."""
        file = self.desk.folder / f"{name}.db"
        self.near[name].witness = Witness(KEYS[name], [key.public for key in keys], file, clock=lambda: 78)


@pytest.fixture
def changed(store: Store, tmp_path: Path) -> Changed:
    made = Changed(store, tmp_path)
    made.more()
    made.change()
    return made


def test_the_checkpoint_of_the_change_is_cosigned_and_later_ones_are_not(changed: Changed) -> None:
    assert changed.rotated.failed == {}, "both keys sign it, so who knows one of them takes it"
    policy = parse_policy(policy_text("two").encode())
    for key in (changed.old, changed.new):
        report = verify(changed.store, keys=key.public, outside=changed.desk.outside(), policy=policy)
        assert (report.ok, saw(report)[0]) == (True, True)
    later = changed.seal()
    assert later.added == 2, "the log is signed all the same"
    assert set(later.failed) == {"witness:a.example", "witness:b.example", "witness:c.example"}
    for text in later.failed.values():
        assert "does not know the keys that sign this log now" in text
        assert "checkvalve audit key public" in text
        assert "--log" in text
    report = verify(changed.store, keys=changed.old.public, outside=changed.desk.outside(), policy=policy)
    assert (report.ok, report.is_judged) == (True, False)
    assert saw(report) == (False, changed.rotated.checkpoint.size, ())


@pytest.mark.parametrize("before", [True, False])
def test_a_witness_that_gets_both_keys_leaves_no_hole(store: Store, tmp_path: Path, *, before: bool) -> None:
    world = Changed(store, tmp_path)
    world.more()
    future = LogKey.new(world.desk.key.origin)  # keys of another change do no harm either
    if not before:
        world.change()
        assert len(world.seal().failed) == 3
    else:
        for name in KEYS:
            world.teach(name, world.desk.key, future)
        world.change()
    for name in KEYS:
        world.teach(name, world.old, world.new)
    done = world.seal()
    assert done.failed == {}
    text = policy_text("two", world.old)  # the policy still has the line of the old key
    policy = parse_policy(text.encode())
    report = verify(store, keys=policy.keys_of(""), outside=world.desk.outside(), policy=policy)
    assert (report.ok, report.is_judged, saw(report)) == (True, True, (True, done.checkpoint.size, ("a", "b", "c")))
    assert verify_bundle(world.desk.bundle(), world.new.public, (), policy).is_judged


def test_a_witness_that_never_heard_of_the_log_is_named(store: Store, tmp_path: Path) -> None:
    world = Changed(store, tmp_path)
    world.teach("b", LogKey.new("another.example"))
    write(store, 1)
    failed = world.desk.sealer.seal().failed
    assert set(failed) == {"witness:b.example"}
    assert "does not know this log" in failed["witness:b.example"]
