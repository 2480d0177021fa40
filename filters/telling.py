"""Whether words ask for something or only tell of it: "*forward* the notes to Ann", "Bob *forwarded* the notes to Ann".

Guarantees: pure; whatever is found here only takes something out of what the user asks for, so a wrong guess leads to a
question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from checkvalve.filters.vocabulary import (
    ACTING,
    ADDRESS_NOUNS,
    DESTINATION_MARKERS,
    DETERMINERS,
    FINITE,
    REPLY,
    TRANSFERS,
)
from checkvalve.filters.words import stem


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


TELLING: Final = FINITE | _set(
    "asked asks wrote writes sent sends said says told tells wants wanted needs needed knows got gets received "
    "requested called gave forwarded schrieb sagte schickte wollte braucht weiß ont tiene pidió dijo escribió"
)
"""Right behind an address these say what its owner does: "the mail that eve@drop.example *sent* me"."""
LISTING: Final = _set("and or also und oder et ou y o plus cc bcc 和 以及")
"""These lead from one destination to the next."""
OWNED: Final = DETERMINERS | _set("meine meinen mein eine einen ein ma mon mes un une mi mis una")
"""A thing that is given begins with one of these."""
_WANTED: Final = _set("be get getting want wants need needs like wish prefer require requires")
"""Before a participle these ask for what it says: "I *want* it *mailed* to Ann", "to *be forwarded* to Ann"."""
_NEAR: Final = 6
"""Words before a participle in which one of them counts."""
_ACTORS: Final = _set("i we they he she who which somebody someone anyone people nobody")
"""Directly before a verb these say who does it: "*they mail* everything to Ann"."""
_MAKING: Final = _set("make making do create place arrange need want like mache brauche fais haz")
"""Before a thing that is done these ask for it: "*make* a *reservation*"."""
_PARTICIPLE: Final = "ed"
_ALSO: Final = LISTING | _set("then please too additionally as well finally again dann bitte puis luego")
"""Words that a further destination may begin with."""
_BEFORE_THINGS: Final = (
    DESTINATION_MARKERS
    | LISTING
    | _set(
        "of from about on by than both all including via within under over between "
        "von aus über bei auf durch chez sur dans depuis del sobre entre desde"
    )
)
"""Between two things these say how they belong together: "my notes *from* the meeting"."""
_ONTO: Final = _set("to an à a 给")
_MAX_LABEL: Final = 4
"""Words of a name before an address: "and Bob Ray at bob@corp.example"."""
_MAX_THING: Final = 9
"""Words of a thing and the marker behind it: "the minutes of the last meeting to"."""
_GIVING: Final = frozenset(stem(word) for word in TRANSFERS)
_KNOWN: Final = _GIVING | frozenset(stem(word) for word in ACTING | REPLY)
"""Words that are verbs first: "*the mail*" is a thing; in "change *my password*" the declared word always is one."""


def tells(words: Sequence[str], place: int, base: Collection[str]) -> bool:
    """Say whether the verb at ``place`` of a clause's words tells of something; ``base`` are the verbs as declared.

    1. With somebody who does it right before it. 2. As a thing behind an article, that nobody is to make. 3. In the
    form of the past, where nobody wants it so. 4. In the form that a third person has ("Bob *mails* invoices"), unless
    it was declared so.
    """
    word = words[place]
    before = words[max(0, place - _NEAR) : place]
    if before and before[-1] in _ACTORS:
        return True
    if before and before[-1] in OWNED:
        return stem(word) in _KNOWN and not _MAKING & set(before[-3:])
    if word in base:
        return False
    if word.endswith(_PARTICIPLE):
        return not _WANTED & set(before)
    return word.endswith("s") and bool(before)


def tells_of_others(words: Sequence[str]) -> bool:
    """Say whether the words behind the last "and" tell what somebody does: "... and Bob *forwarded* the notes to"."""
    start = max((place for place, word in enumerate(words) if word in LISTING), default=-1)
    return start >= 0 and _tells(words[start + 1 :])


def _tells(words: Sequence[str]) -> bool:
    for before, word in pairwise(words):
        done = len(word) > len(_PARTICIPLE) + 2 and word.endswith(_PARTICIPLE) and before not in OWNED
        does = word.endswith("s") and stem(word) in _GIVING and before not in OWNED
        if done or does or word in TELLING or word in _ACTORS:
            return True
    return False


def leads_on(between: Sequence[str], verbs: Collection[str]) -> bool:
    """Say whether the words between two destinations lead from one to the other; ``verbs`` are stems that ask.

    Behind "and", "also" and the like: 1. nothing, or a verb that asks; 2. a marker and a name ("to our accountant");
    3. a thing and a marker ("the notes of the meeting to"), which has one article for each thing and nobody who does
    anything; 4. a short name, which "to" does not follow ("Bob Ray at"; "Bob *reports to*" tells of Bob).
    """
    rest = list(between)
    while rest and rest[0] in _ALSO:
        rest.pop(0)
    if _tells(["", *rest]):
        return False
    if not rest or stem(rest[0]) in verbs:
        return True
    if rest[0] in DESTINATION_MARKERS - OWNED:
        return len(rest) == 1 or (len(rest) <= _MAX_LABEL + 2 and rest[-1] not in _ONTO)
    if rest[0] in OWNED:
        bare = [one for one, two in pairwise(rest) if two in OWNED and one not in _BEFORE_THINGS]
        return len(rest) <= _MAX_THING and not bare and bool(DESTINATION_MARKERS & set(rest))
    plain = rest[:-1] if rest[-1] in DESTINATION_MARKERS else rest
    return (
        len(plain) <= _MAX_LABEL and not OWNED & set(plain) and (rest[-1] not in _ONTO or set(plain) <= ADDRESS_NOUNS)
    )


__all__ = ["LISTING", "OWNED", "TELLING", "leads_on", "tells", "tells_of_others"]
