"""What a tool's ``title`` in the manifest may be: one plain sentence with the names of arguments in braces.

1. The words around the slots are words in every channel: :func:`inert` changes nothing in them, so they hold no
markup, no address, no bracket of ours, no control character and no line end; and no quotation mark, since values stand
in those. 2. It begins with a word, so that no value can stand where a sentence of the frame begins. 3. A slot names a
declared argument, or a declared member of one; there is no logic. 4. What is declared as secret is no slot.

Guarantees: pure; a title decides nothing and no model writes one: the deployer does, for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from checkvalve.approvals.fieldspec import ArgumentSpec
from checkvalve.approvals.inert import inert

MAX_TITLE: Final = 120
"""Characters of a title: one line of a page, a terminal and a message."""
MAX_SLOTS: Final = 4
"""Values that one sentence can carry; the table of arguments has all of them."""
_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_SINGLE: Final = "['`\u00b4\u02b9\u02bb-\u02bd\u02ca\u02cb\u2018-\u201b\u2032\u2035\u275b\u275c\uff07]"
_QUOTES: Final = re.compile(
    '["\u00ab\u00bb\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2034\u2036\u2037\u2039\u203a\u2057\u275d\u275e\u2e42\u3003'
    rf"\u300c-\u300f\u301d-\u301f\uff02\U0001f676-\U0001f678]|{_SINGLE}(?={_SINGLE})|(?<={_SINGLE}){_SINGLE}"
)
"""Quotation marks, and what looks like one; a single one is an apostrophe too, and stays where it stands alone."""


def pieces_of(title: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a title in order: whether it is a slot, and its words or the name in the braces."""
    at = 0
    for found in _SLOT.finditer(title):
        if found.start() > at:
            yield False, title[at : found.start()]
        yield True, found[1]
        at = found.end()
    if at < len(title):
        yield False, title[at:]


def without_quotes(text: str) -> str:
    """Return ``text`` with every quotation mark as its code point, so that it ends where ours does."""
    return _QUOTES.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text)


def title_problem(title: str, args: Mapping[str, ArgumentSpec]) -> str:
    """Say what is wrong with the title of a tool with these arguments, and what to do; empty where nothing is."""
    return next(_problems(title, args), "") if title else ""


def argument_of(name: str, args: Mapping[str, ArgumentSpec]) -> ArgumentSpec | None:
    """Return what is declared of a slot: of an argument, or of a member by its dotted path."""
    if (found := args.get(name)) is not None:
        return found
    first, _, rest = name.partition(".")
    return argument_of(rest, args[first].fields) if rest and first in args else None


def _problems(title: str, args: Mapping[str, ArgumentSpec]) -> Iterator[str]:
    if len(title) > MAX_TITLE:
        yield f"`title` has {len(title)} characters; say it in {MAX_TITLE}"
    parts = list(pieces_of(title))
    for part in (part.strip(" ") for is_slot, part in parts if not is_slot):
        if "{" in part or "}" in part:
            yield "`title` has a brace without its other half; a slot is the name of an argument in braces"
        if inert(part, limit=10 * MAX_TITLE) != part or _QUOTES.search(part):
            yield "`title` has markup, an address, quotation marks or characters that hide; write plain words"
    if not title[:1].isalpha():
        yield "`title` has to begin with a word of yours, so that no value stands where the sentence begins"
    slots = [part for is_slot, part in parts if is_slot]
    if len(slots) > MAX_SLOTS:
        yield f"`title` has {len(slots)} slots; name at most {MAX_SLOTS} arguments, the card shows all of them"
    for name in slots:
        yield from _slot_problems(name, args)


def _slot_problems(name: str, args: Mapping[str, ArgumentSpec]) -> Iterator[str]:
    found = argument_of(name, args)
    if found is None:
        known = ", ".join(args) or "none"
        yield f"`title` names {name!r}, which is no declared argument; declared are: {known}"
    elif found.fields:
        yield f"`title` names {name!r}, which has members; name one of them, such as {name}.{next(iter(found.fields))}"
    elif found.is_secret:
        yield f"`title` names {name!r}, which is secret; leave it out"


__all__ = ["MAX_SLOTS", "MAX_TITLE", "argument_of", "pieces_of", "title_problem", "without_quotes"]
