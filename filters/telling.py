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
    READING,
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
_OTHERS: Final = _set(
    "will would can could should may might shall must cannot won wouldn couldn shouldn going gonna about had has have "
    "let lets makes made begged promised decided planned hopes hoped tried tries refuses refused pretends plans used "
    "likely"
)
"""Words by which somebody is said to do something: "Bob *will* send it"."""
_ASKED: Final = _set("you please kindly i we us du sie ihr tu vous usted ustedes bitte")
"""Who is asked, or asks: with one of these before it, a modal is a request: "can *you* send it"."""
_ADVERBS: Final = _set("often always usually sometimes never just also now quickly regularly still only already")
_NO_PLURALS: Final = _set("this thus yes always besides perhaps as is was us plus unless please lets thanks")
_REPORTS: Final = _set("writes wrote says said tells told asks asked schreibt schrieb sagt sagte dit dice")
_GOT: Final = _set("sent wrote got gets received gave")
_IDEAS: Final = _set("idea suggestion proposal advice request wish demand order instruction")
"""Right before a verb these say whose words it is in: "Bob's *idea*: send it"."""
_WISHES: Final = _set("want like need prefer")
_WISHED: Final = _set("to you it this that these those") | OWNED
"""Behind a wish these leave it to whoever is spoken to: "I want *you* to send it", not "I want Bob to send it"."""
_RATHER: Final = _set(
    "refuse refuses pretend wrong prevent prevents forbid decline fail hesitate explain describe instructions how why "
    "whether who ask remind warn tell plan idea attempt attempts mistake allowed illegal dangerous forbidden"
)
"""Before "to" and a verb these speak of the deed, and ask for something else: "*explain how* to pay"."""
_PARTICIPLE: Final = "ed"
_STARTS: Final = LISTING | _set("so then therefore please dann also donc entonces")
"""Behind one of these an order may begin, whatever was told before it."""
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
_LOOKING: Final = frozenset(stem(word) for word in READING)
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
    if before and (before[-1] in _ACTORS or stem(before[-1]) in _KNOWN or before[-1] in _GOT):
        return True  # "send *mail*": the verb before it counts, or does not
    if before and before[-1] in OWNED:
        return stem(word) in _KNOWN and not _MAKING & set(before[-3:])
    if _is_said_of_others(words[:place]):
        return True
    if word in base:
        return False
    if word.endswith(_PARTICIPLE):
        return not _WANTED & set(before)
    return word.endswith("s") and bool(before)


def _is_said_of_others(lead: Sequence[str]) -> bool:
    """Say whether the words before a verb make it somebody else's deed, or a deed that is only spoken of.

    Only what stands behind the last "and" or "so" counts: an order may begin there. 1. A report ("Bob *writes*: ...").
    2. A modal or a word of planning, with nobody who is asked before it. 3. A wish that somebody else does it. 4. A
    word that speaks of the deed, before "to". 5. One plain word in the plural before it ("our *admins* forward"), or
    several people ("Ann and Bob send").
    """
    start = max((place for place, word in enumerate(lead) if word in _STARTS), default=-1)
    near = list(lead[start + 1 :])
    said = set(near)
    if not near or near in (["lets"], ["let's"], ["let", "s"], ["let", "us"]):
        return False
    if said & _REPORTS or near[-1] in _IDEAS or (said & _OTHERS and not said & _ASKED):
        return True
    if any(one in _WISHES and two not in _WISHED for one, two in pairwise(near)):
        return True
    if said & _RATHER and ("to" in near[-2:] or near[-1] in {"from", "who"}):
        return True
    plain = [word for word in near if word not in OWNED | _ADVERBS]
    if len(plain) != 1 or near[-1] not in {plain[0], *_ADVERBS}:
        return False
    several = start > 0 and lead[start] in LISTING and not any(stem(word) in _KNOWN | _LOOKING for word in lead[:start])
    return several or (plain[0].endswith("s") and plain[0] not in _NO_PLURALS)


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
