"""What the tests of the signed log are made of: a key, a sealer, and logs with events in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from checkvalve.approvals import audit
from checkvalve.approvals.anchors import Anchor, FileAnchor
from checkvalve.approvals.bundles import Bundle, parse_bundle, write_bundle
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.lastsigned import read_signed
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import kept_in
from checkvalve.approvals.notes import ED25519, PrivateKey, PublicKey
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import VerifyReport, verify
from tests.approvals.made import HandClock

ORIGIN = "log.example/a"
QUICK_KEY = LogKey(ORIGIN, (PrivateKey(ORIGIN, ED25519, b"k" * 32),))
"""Ed25519 alone: for tests that verify thousands of times."""


def write(store: Store, count: int, *, text: str = "x", at: int = 1) -> None:
    """Append plain events."""
    with store.write() as connection:
        for number in range(count):
            audit.append(connection, at=at, kind="test", body={"n": number, "text": text})


@dataclass
class Desk:
    """A store with what signs it."""

    store: Store
    folder: Path
    key: LogKey = field(default_factory=lambda: LogKey.new(ORIGIN))
    clock: HandClock = field(default_factory=HandClock)
    more: Sequence[Anchor] = ()

    def __post_init__(self) -> None:
        self.anchor = FileAnchor(self.folder / "anchor.jsonl")
        self.signed = self.folder / "signed"
        self.sealer = self.other()

    def other(self, signed: str = "signed") -> Sealer:
        """Return a sealer like that of another process or machine."""
        anchors = [self.anchor, *self.more]
        return Sealer(self.store, self.key, self.folder / signed, clock=self.clock, anchors=anchors, heartbeat=60)

    def outside(self) -> list[Outside]:
        """Return everything that is kept outside the database."""
        text = read_signed(self.signed)
        last = [] if text is None else [Outside("the last signed checkpoint", text)]
        return [*last, *(kept_in([self.anchor.path]) if self.anchor.path.exists() else [])]

    def verify(self, keys: Sequence[PublicKey] = (), *, now: int | None = None) -> VerifyReport:
        """Verify the database against everything."""
        return verify(self.store, keys=keys or self.key.public, outside=self.outside(), now=now)

    def codes(self) -> set[str]:
        """Return the codes of what verifying finds."""
        return {finding.code for finding in self.verify().findings}

    def exported(self) -> bytes:
        """Return the log as a bundle."""
        out = StringIO()
        with self.store.read() as connection:
            write_bundle(connection, out)
        return out.getvalue().encode()

    def bundle(self) -> Bundle:
        """Return the log as a bundle that was read back."""
        return parse_bundle(self.exported())
