"""Which declared shape a command has, word by word: by structure, never by how it looks.

1. The words are read (``commandline``); what cannot be read has no shape. 2. The program and the fixed words are those
of the shape, letter by letter: no path is taken for a name, and no wrapper for what it runs. 3. An option stands in
the shape in exactly this spelling, and its value is of the kind that the shape says. 4. Everything else is an operand,
in order, each of its kind; nothing may be missing or left over.

Guarantees: pure; the first shape that fits counts; none means no. Which words the deployer fixed and which were chosen
for this call is told apart, since only the chosen ones need somebody's word.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.commandline import words_of
from checkvalve.approvals.commandspec import CommandSpec, OperandSpec, Option

WORK: Final = "/task"
"""Where a task's own folder is inside the sandbox. A path below it may be given in full."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_PATH: Final = re.compile(r"[\w.][\w./@+,= -]*|/[\w./@+,= -]+")
"""No option, no ``~``, no ``host:path``, no ``@file`` of arguments, no pattern that a program would expand itself."""


@dataclass(frozen=True, slots=True)
class CommandMatch:
    """A command and the shape it has. ``chosen`` are the places of the words that the shape leaves open."""

    words: tuple[str, ...]
    shape: CommandSpec
    chosen: tuple[int, ...]


def match(value: object, shapes: Sequence[CommandSpec]) -> CommandMatch | None:
    """Return how a command argument (a list of words or a text) fits the shapes, or None when it fits none.

    Raises:
        CommandLineError: it cannot be read; no shape was looked at.
    """
    words = words_of(value)
    for shape in shapes:
        chosen = _fits(words, shape)
        if chosen is not None:
            return CommandMatch(words, shape, chosen)
    return None


def _fits(words: Sequence[str], shape: CommandSpec) -> tuple[int, ...] | None:
    fixed = shape.words
    if tuple(words[: len(fixed)]) != fixed:
        return None
    operands: list[int] = []
    chosen: list[int] = []
    at, options = len(fixed), True
    while at < len(words):
        word = words[at]
        if options and word == "--":
            options = False
        elif word.startswith("-"):  # behind `--`, too: not every program stops there
            taken = _option(words, at, shape) if options else None
            if taken is None:
                return None
            chosen += taken
            at = max([at, *taken])
        else:
            operands.append(at)
        at += 1
    kinds = _assigned(len(operands), shape.operands)
    if kinds is None or not all(is_of(words[place], kind) for place, kind in zip(operands, kinds, strict=True)):
        return None
    return tuple(sorted([*chosen, *operands]))


def _option(words: Sequence[str], at: int, shape: CommandSpec) -> list[int] | None:
    """Return the places of the option's value (none for a flag), or None when the shape does not have it so."""
    name, sign, value = words[at].partition("=")
    takes = shape.options.get(f"{name}=") if sign else shape.options.get(name)
    if takes is None:
        return None
    if sign:
        return [at] if _may_be(value, takes) else None
    if takes == "flag":
        return []
    following = words[at + 1] if at + 1 < len(words) else ""
    return [at + 1] if not following.startswith("-") and _may_be(following, takes) else None


def _may_be(value: str, takes: Option) -> bool:
    if isinstance(takes, str):
        return takes == "text" or (takes != "flag" and is_of(value, OperandSpec(kind=takes)))
    return value in takes


def _assigned(count: int, operands: Sequence[OperandSpec]) -> list[OperandSpec] | None:
    """Return which operand of the shape each given one is, or None when there are too few or too many."""
    last = operands[-1] if operands else None
    least = len(operands) - (last is not None and last.optional)
    if count < least or (count > len(operands) and not (last is not None and last.many)):
        return None
    return [operands[min(place, len(operands) - 1)] for place in range(count)]


def is_of(value: str, operand: OperandSpec) -> bool:
    """Say whether one word is of an operand's kind. What begins like an option is of none."""
    if not value or value.startswith("-") or (operand.one_of and value not in operand.one_of):
        return False
    if operand.kind == "text":
        return True
    if operand.kind == "name":
        return _NAME.fullmatch(value) is not None
    if operand.kind == "number":
        return _NUMBER.fullmatch(value) is not None
    return _is_inside(value, whole=operand.kind == "folder")


def _is_inside(value: str, *, whole: bool) -> bool:
    """Say whether a path stays in the work folder by its text; the sandbox keeps it there whatever links say."""
    if not _PATH.fullmatch(value):
        return False
    full = posixpath.normpath(posixpath.join(WORK, value))
    return full.startswith(f"{WORK}/") or (whole and full == WORK)
