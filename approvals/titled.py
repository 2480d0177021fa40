"""The headline of a call as text: for a terminal, for programs that answer people, and for messages.

Guarantees: pure; values stand in quotation marks that neither they nor names of tools and arguments can hold, and whose
word they are stands beside them in brackets that they cannot hold either; between two values stands a word of ours, so
that none moves the other about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from checkvalve.approvals.hand import TYPED
from checkvalve.approvals.inert import inert
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.render import short
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.titles import ALSO, TOOL, Headline, Slot, Value, headline, sentence_of
from checkvalve.approvals.titlespec import MAX_TITLE, without_quotes
from checkvalve.approvals.veiled import CLOSE, OPEN

AND: Final = " and "
_NOTES: Final = {"unknown": "origin unknown", "untrusted": "untrusted", TYPED: "typed by a reviewer"}


def in_words(row: Seen) -> str:
    """Return the headline in English for one line of text."""
    return _said(headline(row), _name, lambda text: without_quotes(text.plain()))


def in_a_message(row: Seen, *, values: bool) -> str:
    """Return the headline as inert text; without ``values`` the slots are the names of their arguments."""
    if not values:
        return without_values(row)
    return _said(headline(row), inert, lambda value: without_quotes(_inert(value)))


def without_values(row: Proposal) -> str:
    """Return the headline as inert text with the names of arguments in the place of their values."""
    said = (
        f"{OPEN}{_argument(part)}{CLOSE}" if isinstance(part, Slot) else _outside(kind, part, inert)
        for kind, part in sentence_of(row).parts()
    )
    return "".join(said)


def _said(found: Headline, name: Callable[[str], str], value: Callable[[Value], str]) -> str:
    said = (
        ("; also " if kind == ALSO else "") + _filled(part, value)
        if isinstance(part, Slot)
        else _outside(kind, part, name)
        for kind, part in found.parts()
    )
    return "".join(said)


def _outside(kind: str, text: str, name: Callable[[str], str]) -> str:
    """Return words of ours, or a tool's name, in which no value seems to stand."""
    return without_quotes(_spaced(text, name)) if kind == TOOL else _spaced(text, name)


def _spaced(text: str, name: Callable[[str], str]) -> str:
    """Return text with spaces at its ends as they are."""
    kept = text.strip(" ")
    start = len(text) - len(text.lstrip(" "))
    return " " * start + name(kept) + " " * (len(text) - start - len(kept)) if kept else text


def _argument(slot: Slot) -> str:
    return without_quotes(inert(slot.name))


def _filled(slot: Slot, value: Callable[[Value], str]) -> str:
    if not slot.values:
        return f"{OPEN}no {_argument(slot)}{CLOSE}"
    said = [f"\u201c{value(one)}\u201d{_noted(one.trust)}" for one in slot.values]
    return AND.join([*said, f"{slot.more} more"] if slot.more else said)


def _noted(trust: str) -> str:
    return f" {OPEN}{_NOTES[trust]}{CLOSE}" if trust in _NOTES else ""


def _name(text: str) -> str:
    return short(text, limit=2 * MAX_TITLE)


def _inert(value: Value) -> str:
    start, left_out, end = value.clipped()
    more = f"{OPEN}{left_out:,} bytes more{CLOSE}" if left_out else ""
    return _spaced(start, inert) + more + _spaced(end, inert)


__all__ = ["in_a_message", "in_words", "without_values"]
