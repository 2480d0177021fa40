"""What a disk holds after the power went: computed from a trace of the calls that a process made.

A file's bytes are safe once ``fsync`` or ``fdatasync`` has returned after they were written; a rename once its folder
was synced. Of what was written since, a disk may keep everything, nothing, or any part, and the last write torn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

TRACE: Final = (
    *("-q", "-y", "-xx", "-s", "1000000"),
    *("-e", "trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,unlink,sendto"),
)
"""Arguments of strace that make a trace which :func:`events` can read."""
_LINE = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+)")
_FD = re.compile(r"^\d+<([^>]*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True)
class Did:
    """One call that succeeded: ``said`` is what went to the witness."""

    what: str
    path: str = ""
    other: str = ""
    data: bytes = b""
    offset: int = -1
    said: str = ""


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _path(text: str) -> str:
    return _bytes(text).decode(errors="replace") if text.startswith("\\x") else text


def events(trace: str) -> Iterator[Did]:
    """Yield the calls of a trace that matter, in order."""
    for line in trace.splitlines():
        found = _LINE.match(line)
        if found is None or int(found[3]) < 0:
            continue
        name, inside = found[1], found[2]
        named = _FD.match(inside)
        path = _path(named[1]) if named else ""
        texts = [_bytes(text) for text in _TEXT.findall(inside)]
        if name == "sendto":
            yield Did("said", said=texts[0].decode().strip())
        elif name == "pwrite64":
            yield Did("write", path, data=texts[0][: int(found[3])], offset=int(inside.rsplit(",", 1)[1]))
        elif name == "write":
            yield Did("write", path, data=texts[0][: int(found[3])])
        elif name == "ftruncate":
            yield Did("cut", path, offset=int(inside.rsplit(",", 1)[1]))
        elif name in {"fsync", "fdatasync"}:
            yield Did("sync", path)
        elif name == "rename":
            yield Did("rename", texts[0].decode(), texts[1].decode())
        elif name == "unlink":
            yield Did("unlink", texts[0].decode())


@dataclass
class Disk:
    """Files under one folder: what is safe of each, and what was done since to each, in order."""

    folder: Path
    safe: dict[str, bytes] = field(default_factory=dict)
    since: dict[str, list[Did]] = field(default_factory=dict)
    renames: list[Did] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.safe = {str(path): path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def do(self, did: Did) -> None:
        """Let one call happen."""
        inside = did.path.startswith(f"{self.folder}/")
        if did.what == "sync" and did.path == str(self.folder):
            for one in self.renames:
                self.safe[one.other] = self.safe.pop(one.path, b"")
            self.renames.clear()
        elif did.what == "sync" and inside:
            self.safe[did.path] = _after(self.safe.get(did.path, b""), self.since.pop(did.path, []))
        elif did.what in {"write", "cut"} and inside:
            self.since.setdefault(did.path, []).append(did)
        elif did.what == "rename" and inside:
            self.renames.append(did)
        elif did.what == "unlink" and inside:
            self.since.pop(did.path, None)
            self.safe.pop(did.path, None)

    def lose_power(self, place: Path, keeps: str, chance: random.Random) -> None:
        """Write to ``place`` what is found afterwards: of the unsafe parts ``nothing``, ``everything`` or ``some``."""
        for path in {*self.safe, *self.since}:
            done = self.since.get(path, [])
            if keeps == "nothing" or path.endswith("-shm"):
                done = []
            elif keeps == "some":
                done = [did for did in done if chance.random() < 0.5]
                if done and done[-1].what == "write" and chance.random() < 0.5:
                    torn = done.pop()
                    done.append(Did("write", torn.path, data=torn.data[: len(torn.data) // 2], offset=torn.offset))
            if path in self.safe or done:
                (place / Path(path).name).write_bytes(_after(self.safe.get(path, b""), done))


def _after(data: bytes, done: list[Did]) -> bytes:
    found = bytearray(data)
    for did in done:
        if did.what == "cut":
            found[did.offset :] = b"\x00" * max(0, did.offset - len(found))
            continue
        at = len(found) if did.offset < 0 else did.offset
        found.extend(b"\x00" * (at - len(found)))
        found[at : at + len(did.data)] = did.data
    return bytes(found)
