"""What a sandbox for code is: a program and its words in, what it wrote and how it ended out, and nothing else.

Guarantees of every adapter: the words are run as they are, by no shell; what it cannot hold is not started
(:class:`SandboxError`), and code never runs outside. How a command ended, badly or well, is a value and no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from checkvalve.approvals.commands import WORK
from checkvalve.gateway.errors import SandboxError

__all__ = ["MAX_ARGV", "MAX_WORD", "WORK", "Finished", "Limits", "Sandbox", "Stopped", "checked_words"]

MAX_ARGV: Final = 131_072
"""Bytes of all words together; the kernel takes more, nobody types more."""
MAX_WORD: Final = 65_536
MIB: Final = 1_048_576

Stopped = Literal["", "time", "memory", "disk"]
"""Why a command was ended from outside; empty when it ended by itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one command. Those of all its processes together are watched, those of one are the kernel's."""

    seconds: float = 60.0  # of wall time, then everything is killed; each process has as much CPU time at most
    memory: int = 1024 * MIB  # bytes in memory, of all processes together
    address_space: int = 16_384 * MIB  # bytes a process may map; some run times reserve far more than they use
    processes: int = 128  # processes and threads at a time
    open_files: int = 512  # of each process
    file_size: int = 256 * MIB  # bytes of one file
    disk: int = 1024 * MIB  # bytes the work folder may grow by
    scratch: int = 64 * MIB  # bytes of /tmp and of /dev/shm, each
    output: int = 65_536  # bytes kept of what is written to standard output, and of errors


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended. ``code`` is 128 and more for a signal; ``truncated`` says that there was more output."""

    code: int
    output: bytes
    errors: bytes
    stopped: Stopped = ""
    truncated: bool = False
    seconds: float = 0.0


class Sandbox(Protocol):
    """Runs one program at a time in a place of its own."""

    def check(self) -> None:
        """Prove that code can be held here.

        Raises:
            SandboxError: it cannot; the error says why and what to do.
        """
        ...

    def run(self, argv: Sequence[str], work: Path, *, network: bool = False) -> Finished:
        """Run a program. ``work`` is the only folder that it can write; inside it is :data:`WORK`.

        Raises:
            SandboxError: nothing was run.
        """
        ...


def checked_words(argv: Sequence[str]) -> list[str]:
    """Return the words of a command if the kernel would take them as they are.

    Raises:
        SandboxError: there is no program, one of the words holds a NUL or cannot be encoded, or they are too long.
    """
    if isinstance(argv, str) or not argv or not all(isinstance(word, str) for word in argv):
        raise SandboxError("the command is no list of words", "give the program and its words as a list")
    if not argv[0] or argv[0].startswith("-"):
        raise SandboxError("the first word is no program", "name the program first")
    if any("\0" in word for word in argv):
        raise SandboxError("a word holds a NUL character", "leave it out: no program can be given one")
    try:
        sizes = [len(word.encode()) for word in argv]
    except UnicodeEncodeError:
        raise SandboxError("a word holds half a character", "give text that UTF-8 can write") from None
    if max(sizes) > MAX_WORD or sum(sizes) + len(sizes) > MAX_ARGV:
        raise SandboxError("the command is too long", "put long text into a file of the work folder")
    return list(argv)
