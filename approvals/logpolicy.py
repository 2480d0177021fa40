"""Whom a verifier asks besides the log's own key: a policy of witnesses, in the format of C2SP (``tlog-policy``).

Each line is ``log VKEY [URL]``, ``witness NAME VKEY [URL]``, ``group NAME all|any|K NAME ...``, ``quorum NAME`` or
``quorum none``; empty lines and lines that start with ``#`` do not count. A checkpoint satisfies the policy where the
quorum's witness, or as many members of its group as that asks for, have cosigned it.

Guarantees: pure, and read strictly, since a line that was misread would let a checkpoint pass. Whatever is not of this
form is an error that names its line. A name is defined before it is used, once; a member belongs to one group; no key
stands twice, so nobody counts for two. Stricter than the format asks: a log's own key is no witness, keys of the same
log are all asked for, a file whose last line has no end was cut off, and there are at most :data:`MAX_GROUPS` groups,
:data:`MAX_NESTED` deep. Reading takes time in proportion to the size.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkvalve.approvals.errors import LogError
from checkvalve.approvals.notes import ED25519, ED25519_TIMED, MLDSA44, PublicKey, parse_key

MAX_POLICY: Final = 1_048_576
"""Bytes of a policy; 32 logs, witnesses and groups with the largest keys are a tenth of it."""
MAX_GROUPS: Final = 1_000
MAX_NESTED: Final = 32
"""Groups one within the other: an organisation, its houses and their racks are three."""
_FOREIGN: Final = re.compile(rb"[^\t\n\x20-\x7e\x80-\xff]")
_GAP: Final = re.compile(r"[ \t]+")  # nothing else separates, so that no character of a name does
_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")
_NONE: Final = "none"
_OF_LOGS: Final = frozenset({ED25519, MLDSA44})
_OF_WITNESSES: Final = frozenset({ED25519_TIMED, MLDSA44})
_FORMS: Final = {
    "log": "log VKEY [URL]",
    "witness": "witness NAME VKEY [URL]",
    "group": "group NAME all|any|K NAME ...",
    "quorum": "quorum NAME, or quorum none",
}


class PolicySyntaxError(ValueError):
    """A line of a policy is not of the form that policies have."""

    def __init__(self, line: int, text: str) -> None:
        """``line`` counts from 1; ``text`` says what is wrong with it."""
        super().__init__(f"line {line}: {text}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Group:
    """Counts as one witness where at least ``needed`` of its members do."""

    name: str
    needed: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """What was read. ``quorum`` is the name of a witness or group, None where nobody has to cosign."""

    logs: tuple[PublicKey, ...] = ()
    witnesses: Mapping[str, PublicKey] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    quorum: str | None = None

    def keys_of(self, origin: str) -> tuple[PublicKey, ...]:
        """Return the keys of the log with this name; without a name, those of the only log there is."""
        names = {key.name for key in self.logs}
        wanted = origin or (next(iter(names)) if len(names) == 1 else "")
        return tuple(key for key in self.logs if key.name == wanted)

    def is_met(self, cosigned: frozenset[str]) -> bool:
        """Say whether these witnesses are enough."""
        return self.quorum is None or self.quorum in self._standing(cosigned)

    def _standing(self, cosigned: frozenset[str]) -> set[str]:
        """Return the names of the witnesses and groups that count; a group's members come before it."""
        there = {name for name in self.witnesses if name in cosigned}
        for group in self.groups:
            if sum(member in there for member in group.members) >= group.needed:
                there.add(group.name)
        return there

    def lacks(self, cosigned: frozenset[str]) -> list[str]:
        """Return in words what is missing for the quorum: nothing where it is met."""
        there = self._standing(cosigned)
        groups = {group.name: group for group in self.groups}
        return [] if self.quorum is None or self.quorum in there else list(_lacking(self.quorum, groups, there))

    def twice(self) -> list[str]:
        """Return the names under which one witness stands with several keys, of which each counts."""
        names = Counter(key.name for key in self.witnesses.values())
        return sorted(name for name, count in names.items() if count > 1)


def _lacking(name: str, groups: Mapping[str, Group], there: set[str]) -> Iterator[str]:
    group = groups.get(name)
    if group is None:
        yield f"witness {name}"
        return
    left = [member for member in group.members if member not in there]
    missing = group.needed - (len(group.members) - len(left))
    yield f"{missing} of group {name} ({', '.join(left)})"
    for member in left:
        if member in groups:
            yield from _lacking(member, groups, there)


def parse_policy(data: bytes) -> Policy:
    """Return the policy in some bytes.

    Raises:
        PolicySyntaxError: a line is wrong, or there is no quorum.
    """
    if len(data) > MAX_POLICY:
        raise PolicySyntaxError(1, f"the policy has more than {MAX_POLICY} bytes")
    if (found := _FOREIGN.search(data)) is not None:
        at = data.count(b"\n", 0, found.start()) + 1
        raise PolicySyntaxError(at, f"the byte {found[0][0]:#04x} has no place in a policy; lines end with LF alone")
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines.pop():
        raise PolicySyntaxError(len(lines) + 1, "the file ends within this line: something may have been cut off")
    reading = _Reading()
    for number, line in enumerate(lines, 1):
        items = [item for item in _GAP.split(line) if item]
        if items and not items[0].startswith("#"):
            reading.take(number, items)
    if not reading.quorum:
        raise PolicySyntaxError(len(lines) + 1, "there is no line that says the quorum: quorum NAME, or quorum none")
    named = reading.quorum[0]
    return Policy(tuple(reading.logs), reading.witnesses, tuple(reading.groups), None if named == _NONE else named)


def read_policy(file: Path) -> Policy:
    """Return the policy in a file.

    Raises:
        LogError: it cannot be read, or is none.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_POLICY + 1)
    except OSError as error:
        raise LogError(f"the policy {file} cannot be read: {error.strerror}", remedy="check the path") from error
    try:
        return parse_policy(data)
    except PolicySyntaxError as error:
        raise LogError(f"{file} is no policy of witnesses: {error}", remedy="mend that line") from error


class _Reading:
    """What the lines so far have defined."""

    def __init__(self) -> None:
        self.logs: list[PublicKey] = []
        self.witnesses: dict[str, PublicKey] = {}
        self.groups: list[Group] = []
        self.quorum: list[str] = []
        self._levels: dict[str, int] = {}  # of each name; a witness is at 0, a group above all its members
        self._members: set[str] = set()
        self._keys: dict[bytes, int] = {}  # the line that each key stands on

    def take(self, number: int, items: Sequence[str]) -> None:
        """Take in one line."""
        word, *rest = items
        known: dict[str, tuple[Callable[[int, Sequence[str]], None], int, int]] = {
            "log": (self._log, 1, 2),
            "witness": (self._witness, 2, 3),
            "group": (self._group, 3, len(rest)),
            "quorum": (self._quorum, 1, 1),
        }
        if word not in known:
            raise PolicySyntaxError(number, f"it begins with {word!r}; known are {', '.join(_FORMS)}")
        note, fewest, most = known[word]
        if not fewest <= len(rest) <= most:
            raise PolicySyntaxError(number, f"the form is: {_FORMS[word]}")
        note(number, rest)

    def _log(self, number: int, rest: Sequence[str]) -> None:
        self.logs.append(self._key(number, rest[0], _OF_LOGS, "a log"))

    def _witness(self, number: int, rest: Sequence[str]) -> None:
        name = self._new(number, rest[0])
        self.witnesses[name] = self._key(number, rest[1], _OF_WITNESSES, "a witness")
        self._levels[name] = 0

    def _group(self, number: int, rest: Sequence[str]) -> None:
        name, many, *members = rest
        self._new(number, name)
        if len(self.groups) == MAX_GROUPS:
            raise PolicySyntaxError(number, f"a policy has at most {MAX_GROUPS} groups")
        for member in members:
            self._known(number, member)
            if member in self._members:
                raise PolicySyntaxError(number, f"{member} is a member already; each counts once")
            self._members.add(member)
        level = 1 + max(self._levels[member] for member in members)
        if level > MAX_NESTED:
            raise PolicySyntaxError(number, f"groups are nested more than {MAX_NESTED} deep here")
        self._levels[name] = level
        self.groups.append(Group(name, _needed(number, many, len(members)), tuple(members)))

    def _quorum(self, number: int, rest: Sequence[str]) -> None:
        if self.quorum:
            raise PolicySyntaxError(number, "the quorum was said before; there is one")
        if rest[0] != _NONE:
            self._known(number, rest[0])
        self.quorum.append(rest[0])

    def _new(self, number: int, name: str) -> str:
        if name == _NONE:
            raise PolicySyntaxError(number, "nobody can be called none")
        if name in self._levels:
            raise PolicySyntaxError(number, f"{name} was defined before")
        return name

    def _known(self, number: int, name: str) -> None:
        if name not in self._levels:
            raise PolicySyntaxError(number, f"no line before defines {name}")

    def _key(self, number: int, vkey: str, kinds: frozenset[int], whose: str) -> PublicKey:
        try:
            key = parse_key(vkey)
        except ValueError as error:
            raise PolicySyntaxError(number, str(error)) from error
        if key.kind not in kinds:
            raise PolicySyntaxError(number, f"this is no key of {whose}: its kind is {key.kind}")
        first = self._keys.setdefault(key.raw, number)
        if first != number:
            raise PolicySyntaxError(number, f"the same key stands in line {first}")
        return key


def _needed(number: int, many: str, members: int) -> int:
    if many in ("any", "all"):
        return 1 if many == "any" else members
    if not _COUNT.fullmatch(many) or int(many) > members:
        raise PolicySyntaxError(
            number, f"of {members} members {many!r} cannot be asked for: any, all or 1 to {members}"
        )
    return int(many)


__all__ = [
    "MAX_GROUPS",
    "MAX_NESTED",
    "MAX_POLICY",
    "Group",
    "Policy",
    "PolicySyntaxError",
    "parse_policy",
    "read_policy",
]
