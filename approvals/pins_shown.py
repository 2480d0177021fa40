"""The versions of what a call points at, as people see them: the same in the terminal, on the pages and over HTTP.

Guarantees: a path is an argument, and a value is what a tool said, so both are content under the veil of the call; the
rest is digests, sizes and words of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import sqlalchemy as sa

from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.pin_record import noted
from checkvalve.approvals.pins import CODES, WHY, Version, is_needed, names_of, read_version
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.filters.strictjson import JSON

Stand = Literal["read", "waiting", "failed", "nobody_asked"]
STANDS: Final = {
    "waiting": "not read yet: nobody can say yes before it is",
    "nobody_asked": "nothing is pinned: a rule answered, and no person was asked",
}
_ENDS: Final = [f"proposal.{state.value}" for state in (State.INVALIDATED, State.CANCELLED)]


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """One field of a version, or a file's bytes. ``value`` is empty where none was kept."""

    path: str
    digest: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class PinnedItem:
    """One thing. ``target`` is the path that the call names; a file without parts was not there."""

    of: str
    kind: str
    target: str = ""
    size: int | None = None
    parts: tuple[PinnedPart, ...] = ()

    @property
    def words(self) -> str:
        """What was read, in one line."""
        if self.kind == "file":
            what = ", ".join(f"{self.size or 0:,} bytes, {_hex(part.digest)}" for part in self.parts)
            return what or "there is no such file"
        return "; ".join(
            f"{part.path} {f'{part.value}, ' if part.value else ''}{_hex(part.digest)}" for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """What ended a permit: the code, what differs, and both versions of it where both were read."""

    code: str
    of: str = ""
    why: str = ""
    was: PinnedItem | None = None
    now: PinnedItem | None = None

    @property
    def words(self) -> str:
        """What happened, in one line."""
        reason = WHY.get(self.why, "")
        told = CODES.get(self.code, self.code) + (f": {reason}" if reason else "")
        if self.was is not None and self.now is not None:
            told += f"; when a person was asked: {self.was.words}; right before the call: {self.now.words}"
        return f"{self.of}: {told}" if self.of else told

    def under(self, veil: Veil) -> Moved:
        """Return it as it is shown."""
        was, now = (None if item is None else _under(item, veil) for item in (self.was, self.now))
        return replace(self, was=was, now=now)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        was, now = (None if item is None else _told(item) for item in (self.was, self.now))
        return {"code": self.code, "of": self.of, "why": self.why, "was": was, "now": now}


@dataclass(frozen=True, slots=True)
class Pinned:
    """How a call stands to its versions. ``at`` is when they were read, in microseconds."""

    stand: Stand
    at: int = 0
    items: tuple[PinnedItem, ...] = ()
    of: str = ""
    why: str = ""
    moved: Moved | None = None

    def lines(self) -> Iterator[str]:
        """Yield what there is to say, in words; paths and values in them are content."""
        if self.stand in STANDS:
            yield STANDS[self.stand]
        if self.stand == "failed" and self.moved is None:
            yield f"{self.of}: {WHY.get(self.why, WHY['failed'])}" if self.of else WHY.get(self.why, WHY["failed"])
        for item in self.items:
            yield f"{f'{item.target} ({item.of})' if item.target else item.of}: {item.words}"
        if self.items:
            yield f"read {to_the_second(self.at)}, and again right before the call: with any difference it does not run"
        if self.moved is not None:
            yield self.moved.words

    def under(self, veil: Veil) -> Pinned:
        """Return it as it is shown: what a rule redacts in a call is a mark here, too."""
        return replace(
            self,
            items=tuple(_under(item, veil) for item in self.items),
            moved=None if self.moved is None else self.moved.under(veil),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the published form. Targets and values are content: they are shown as text and nothing else."""
        return {
            "state": self.stand,
            "read_at": rfc3339(self.at) if self.at else None,
            "pins": [_told(item) for item in self.items],
            "words": [*self.lines()],
            "moved": None if self.moved is None else self.moved.to_json(),
        }


def pinned_of(queue: Queue, proposal: Proposal) -> Pinned | None:
    """Return how a call stands to its versions; nothing where the manifest pins nothing of it."""
    if not names_of(proposal) or proposal.mode != "enforce":
        return None
    if not is_needed(proposal):
        return Pinned("nobody_asked") if proposal.verdict_name == "allow" else None
    try:
        with queue.store.read() as connection:
            told, moved = noted(connection, proposal), _moved(connection, proposal)
    except StoreCorruptError:
        return Pinned("failed", why="unreadable")
    if told is None:
        return Pinned("waiting" if proposal.state is State.PENDING else "failed", why="not_asked", moved=moved)
    at, found = told
    args = proposal.args()
    items = tuple(_item(version, args.get(version.of)) for version in found.versions)
    return Pinned("failed" if found.why else "read", at, items, found.of, found.why, moved)


def seen_pinned(queue: Queue, row: Seen) -> Pinned | None:
    """Return the versions of a call as they are shown beside it."""
    found = pinned_of(queue, row.exact)
    return None if found is None else found.under(row.veil)


def _moved(connection: sa.Connection, proposal: Proposal) -> Moved | None:
    """Return what ended the call, where it was a version."""
    if proposal.code not in CODES:
        return None
    for event in sound_of_kinds(connection, proposal.id, _ENDS):
        body = json.loads(event.body) if event.body else {}
        pin = body.get("pin") if isinstance(body, dict) else None
        if isinstance(pin, dict):
            was, now = (_version(pin.get(name)) for name in ("was", "now"))
            return Moved(proposal.code, str(pin.get("of") or ""), str(pin.get("why") or ""), was, now)
    return Moved(proposal.code)


def _version(body: object) -> PinnedItem | None:
    try:
        return _item(read_version(body), "") if isinstance(body, dict) else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _item(version: Version, target: JSON) -> PinnedItem:
    parts = tuple(PinnedPart(part.path, part.digest, _text(part.value)) for part in version.parts)
    named = target if version.kind == "file" and isinstance(target, str) else ""
    return PinnedItem(version.of, version.kind, named, version.size, parts)


def _text(value: JSON) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _under(item: PinnedItem, veil: Veil) -> PinnedItem:
    parts = tuple(replace(part, value=veil.text(part.value)) for part in item.parts)
    return replace(item, target=veil.text(item.target), parts=parts)


def _told(item: PinnedItem) -> dict[str, Any]:
    parts = [{"path": part.path, "digest": part.digest, "value": part.value or None} for part in item.parts]
    return {"of": item.of, "kind": item.kind, "target": item.target or None, "size": item.size, "parts": parts}


def _hex(digest: str) -> str:
    return digest.replace("sha256:", "sha256 ")


__all__ = ["STANDS", "Moved", "Pinned", "PinnedItem", "PinnedPart", "pinned_of", "seen_pinned"]
