"""What a call points at and what may change while a person thinks: its version when they are asked, and when it runs.

1. The manifest says of which arguments, files and records. 2. Their versions are read when a question is put, and are
part of its record before anybody can say yes. 3. They are read again right before the permit is used; where anything
differs, cannot be read or was not read, the permit is void, with a code of its own.

Pure: who reads, and what is written, is elsewhere. A version is a digest; a value stands beside it only where the
manifest says that others than the principal may read the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from checkvalve.approvals.asides import PIN
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.pinspec import PinSpec
from checkvalve.approvals.records import Proposal
from checkvalve.filters.strictjson import JSON

THREAD: Final = PIN
"""How the thread of the reads begins that are made for a question; the question's id follows."""
READ, FAILED = "pin.read", "pin.failed"
"""Events of a question: its versions were read, or could not be."""
CHANGED, MISSING, UNREADABLE = "pin_changed", "pin_missing", "pin_unreadable"
NOT_READ, REDECLARED = "pin_not_read", "pin_redeclared"
MAX_SHOWN: Final = 100
"""Characters of a value that is kept beside its digest: versions, dates and states are short, and content is not."""

CODES: Final[Mapping[str, str]] = {
    CHANGED: "what the call points at is not what it was when a person was asked",
    MISSING: "what the call points at is not there",
    UNREADABLE: "the version of what the call points at could not be read",
    NOT_READ: "the version of what the call points at was not read",
    REDECLARED: "the manifest pins something else by now",
}
"""Each code, in words that an agent may be told."""
WHY: Final[Mapping[str, str]] = {
    "missing": "there is no such file",
    "no_folder": "the folder that the manifest names cannot be opened",
    "not_text": "the argument is no text",
    "no_such_argument": "the call was made without the argument",
    "outside": "the path leads out of the folder that the manifest names",
    "link": "a link is on the way to it",
    "special": "it is no regular file",
    "too_large": "it is larger than the manifest allows",
    "not_readable": "the gateway may not read it",
    "moving": "it changed while it was read",
    "too_late": "reading took longer than the manifest allows",
    "tool_missing": "the tool that reads it was not at hand",
    "not_allowed": "a rule did not let it be read",
    "failed": "the tool that reads it failed",
    "no_version": "what came back does not have the fields that are its version",
    "redeclared": "the manifest pins something else by now",
    "not_asked": "nothing was read when the question was put",
    "not_again": "nothing was read right before the call",
    "unreadable": "its record cannot be read",
}
"""Why a version could not be read, in words."""


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a version, or a file's bytes (``$``). ``value`` is what it holds, where that may be kept."""

    path: str
    digest: str
    value: JSON = None

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {"path": self.path, "digest": self.digest, **({} if self.value is None else {"value": self.value})}


@dataclass(frozen=True, slots=True)
class Version:
    """The version of one thing. A file without parts is not there, which is a version where the manifest says so.

    ``of`` is the argument or the reading tool; ``size`` is the file's, in bytes; ``call`` is the recorded read.
    """

    of: str
    kind: Literal["file", "record"]
    parts: tuple[Part, ...] = ()
    size: int | None = None
    call: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        told: dict[str, JSON] = {"of": self.of, "kind": self.kind, "parts": [part.to_json() for part in self.parts]}
        return told | ({} if self.size is None else {"size": self.size}) | ({"call": self.call} if self.call else {})


@dataclass(frozen=True, slots=True)
class Found:
    """What reading gave. Where something could not be read, ``of`` names it and ``why`` is a word of :data:`WHY`.

    ``declared`` is the digest of what the manifest said when it was read.
    """

    declared: str = ""
    versions: tuple[Version, ...] = ()
    of: str = ""
    why: str = ""

    @property
    def code(self) -> str:
        """Return the code of what was not read; empty where all was."""
        return {"": "", "missing": MISSING, "redeclared": REDECLARED}.get(self.why, UNREADABLE)

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        told: dict[str, JSON] = {"declared": self.declared, "pins": [item.to_json() for item in self.versions]}
        return told | ({"of": self.of, "why": self.why} if self.why else {})


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a permit is void. ``was`` and ``now`` are the two versions of what differs, with the parts that do."""

    code: str
    of: str = ""
    why: str = ""
    was: Version | None = None
    now: Version | None = None

    def to_json(self) -> dict[str, JSON]:
        """Return what the event of the void permit says."""
        told: dict[str, JSON] = {"of": self.of, "why": self.why}
        told |= {name: item.to_json() for name, item in (("was", self.was), ("now", self.now)) if item is not None}
        return {name: value for name, value in told.items() if value != ""}


def declared_digest(pins: Sequence[PinSpec]) -> str:
    """Return the digest of what the manifest says: where it is another one by now, no version counts."""
    return digest([pin.model_dump(mode="json") for pin in pins])


def thread_for(proposal_id: str) -> str:
    """Return the thread of the reads that are made for a question."""
    return f"{THREAD}{proposal_id}"


def names_of(proposal: Proposal) -> tuple[str, ...]:
    """Return what the manifest pinned of a call, as its recorded decision says, asked about or not."""
    found = proposal.decision.get("pins")
    return tuple(str(name) for name in found) if isinstance(found, list) else ()


def is_needed(proposal: Proposal) -> bool:
    """Say whether a call needs its versions: it has such, and a person was asked. A rule's permit pins nothing."""
    return proposal.verdict_name == "review" and proposal.mode == "enforce" and bool(names_of(proposal))


def compare(asked: Found | None, now: Found | None) -> Difference | None:
    """Return why what was asked about is not what would run now; nothing where every version is the same.

    1. Both were read, whole. 2. The manifest says the same. 3. Every part has the same digest.
    """
    if asked is None or asked.why:
        return Difference(NOT_READ, why="not_asked")
    if now is None:
        return Difference(NOT_READ, why="not_again")
    if now.why:
        return Difference(now.code, now.of, now.why)
    shapes = [[(item.of, item.kind) for item in found.versions] for found in (asked, now)]
    if asked.declared != now.declared or shapes[0] != shapes[1]:
        return Difference(REDECLARED, why="redeclared")
    pairs = zip(asked.versions, now.versions, strict=True)
    return next((found for was, is_ in pairs if (found := _between(was, is_)) is not None), None)


def _between(was: Version, now: Version) -> Difference | None:
    before, after = ({part.path: part.digest for part in item.parts} for item in (was, now))
    parts = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    if not parts:
        return None
    gone = now.kind == "file" and not now.parts
    told = [replace(item, parts=tuple(part for part in item.parts if part.path in parts)) for item in (was, now)]
    return Difference(MISSING if gone else CHANGED, was.of, "missing" if gone else "", *told)


def read_found(body: Mapping[str, Any]) -> Found:
    """Return what an event says was found.

    Raises:
        ValueError: it is no such event.
    """
    try:
        versions = tuple(read_version(item) for item in body["pins"])
        return Found(str(body["declared"]), versions, str(body.get("of") or ""), str(body.get("why") or ""))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is no record of versions") from error


def read_version(item: Mapping[str, Any]) -> Version:
    """Return one version of an event; raises as a mapping does that is none."""
    parts = tuple(Part(str(part["path"]), str(part["digest"]), part.get("value")) for part in item["parts"])
    kind: Literal["file", "record"] = "file" if item["kind"] == "file" else "record"
    size = item.get("size")
    return Version(str(item["of"]), kind, parts, int(size) if size is not None else None, str(item.get("call") or ""))


__all__ = [
    "CHANGED", "CODES", "FAILED", "MAX_SHOWN", "MISSING", "NOT_READ", "READ", "REDECLARED", "THREAD", "UNREADABLE",
    "WHY", "Difference", "Found", "Part", "Version", "compare", "declared_digest", "is_needed", "names_of",
    "read_found", "read_version", "thread_for",
]  # fmt: skip
