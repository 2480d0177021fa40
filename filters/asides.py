"""What stands inside an order without being what the order aims at: "send Ann my answer *to Eve*".

Guarantees: pure; whatever is found here only takes a mention out, so a wrong guess leads to a question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from checkvalve.filters.mentions import MASK, Mention
from checkvalve.filters.telling import LISTING, OWNED, TELLING, leads_on
from checkvalve.filters.vocabulary import (
    ADDRESS_NOUNS,
    DESTINATION_MARKERS,
    DETERMINERS,
    STOPWORDS,
    TRANSFERS,
)
from checkvalve.filters.words import stem, tokens


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ADVERBS: Final = _set("already also still just now never always only probably too schon bereits auch déjà aussi ya")
_DONE: Final = _set("écrit dit reçu transmis fait mis pris voulu")
"""Behind the French "a" these and words in "é" say what somebody did; the English "a" begins a thing to be sent."""
_RELATED: Final = _set(
    "addressed sent forwarded written given paid belonging belongs due assigned according compared related linked next "
    "prior goes went gerichtet adressiert geschickt adressé envoyé dirigido enviado"
)
"""Before "to" these say where something else went: "the mail *addressed to* Eve"."""
_SOURCES: Final = _set("of from by von de du about über sobre 从 由")
_ONTO: Final = _set("to an à a 给")
_INTO: Final = _ONTO | _set("in into onto as at on nach auf dans en como")
_GIVEN: Final = _set("me us him her mir uns ihm ihr moi nous lui nos")
_GIVING: Final = frozenset(stem(word) for word in TRANSFERS | _set("schicke sende schreibe envoie envía"))
_NO_LONGER: Final = _set(
    "old former previous was wrong fake spam scam scammer spammer phishing suspicious invalid outdated expired unknown "
    "alte alter frühere falsche ancienne ancien fausse antigua antiguo falsa"
)


def is_aside(seen: Mention, verbs: Collection[str]) -> bool:
    """Say whether a mention belongs to something beside the order around it; ``verbs`` are stems that ask.

    1. A statement about it follows ("X already has it"). 2. It stands in brackets, with more than its own
    introduction. 3. It says where something else went ("addressed to X"). 4. Another destination was given before
    ("send Ann my answer to X", "to ann@corp.example before you write to X"), and no list leads on from it; or follows
    at once ("the notes for X to ann@corp.example").
    """
    after = [word for word, *_ in tokens(seen.after)]
    following = [word for word in after if word not in _ADVERBS]
    if _tells(following) or _is_in_brackets(seen):
        return True
    said = [word for word, *_ in tokens(seen.before)]
    if len(said) > 1 and said[-1] in DESTINATION_MARKERS and said[-2] in _RELATED:
        return True
    if len(after) > 1 and after[0] in _ONTO and set(after[1]) <= {MASK}:
        return True
    return _has_destination(seen.before, said, verbs)


def _tells(following: list[str]) -> bool:
    """Say whether the words behind a mention begin a statement about it."""
    did = following[:1] == ["a"] and any(word in _DONE or word.endswith("é") for word in following[1:2])
    return did or bool(TELLING & set(following[:1]))


def is_doubted(words: Collection[str]) -> bool:
    """Say whether the words before an address introduce one that is not to be used: "her *old* address is ..."."""
    return bool(_NO_LONGER & set(words))


def _is_in_brackets(seen: Mention) -> bool:
    head, opened, inside = seen.before.rpartition("(")
    del head
    if not opened or ")" in inside:
        return False
    said = {word for word, *_ in tokens(f"{inside} {seen.after.partition(')')[0]}")}
    return bool(said - ADDRESS_NOUNS - DESTINATION_MARKERS - DETERMINERS - LISTING - {"is"})


def _has_destination(before: str, said: list[str], verbs: Collection[str]) -> bool:
    """Do the first half of step 4, from every verb that asks: the nearest may be a noun ("my last *mail* to")."""
    places = [place for place, word in enumerate(said) if stem(word) in verbs]
    return any(
        _is_led_off(said[place + 1 :], before, verbs)
        or (stem(said[place]) in _GIVING and _is_given_somebody(said[place + 1 :]))
        for place in places
    )


def _is_led_off(behind: list[str], before: str, verbs: Collection[str]) -> bool:
    """Say whether an address was given as a destination, and what follows it is no list that it begins."""
    for place in range(len(behind) - 1, -1, -1):
        if set(behind[place]) <= {MASK} and (not place or behind[place - 1] not in _SOURCES):
            between = behind[place + 1 :]
            if set(between) <= DESTINATION_MARKERS | DETERMINERS | ADDRESS_NOUNS:
                return False
            listed = bool(LISTING & set(between)) or bool(set(",;") & set(before[before.rfind(MASK) :]))
            return not listed or is_doubted(between) or not leads_on(between, verbs)
    return False


def _is_given_somebody(behind: list[str]) -> bool:
    """Say whether somebody is given something: "send *me my* mail to", "send *ann the* contract with"."""
    if len(behind) < 2 or LISTING & set(behind):  # noqa: PLR2004 - a person and a determiner
        return False
    named = behind[0] not in STOPWORDS | OWNED | DESTINATION_MARKERS and behind[1] in OWNED
    return behind[0] in _GIVEN or named


def is_beside(seen: Mention, is_rival: Callable[[str], bool]) -> bool:
    """Say whether a place is told beside another one of its shape, which is where the effect goes.

    "The summary of *notes.txt* to out.txt", "out.txt like *notes.txt*"; not "notes.txt and out.txt".
    """
    last = [word for word, *_ in tokens(seen.before)][-1:]
    behind = seen.after.split()
    for place, word in enumerate(behind):
        if word in LISTING or word.endswith((",", ";")):
            break
        if place and behind[place - 1] in _INTO and is_rival(word) and not _holds(behind[place - 1], word):
            return True
    if last and last[0] in _INTO:
        return False
    ahead = seen.before.split()
    for place in range(len(ahead) - 1, -1, -1):
        if ahead[place] in LISTING or ahead[place].endswith((",", ";")):
            return False
        if is_rival(ahead[place]) and (not place or ahead[place - 1] not in _SOURCES):
            return True
    return False


def _holds(before: str, place: str) -> bool:
    """Say whether a place holds the one before it: "README.md *in acme/site*" is one place."""
    name = place.strip(",.;:!?'\"").rpartition("/")[2]
    return before == "in" and MASK not in place and "." not in name


def owner_of(seen: Mention) -> str:
    """Return whose address this is by its introduction, "eve" in "Eve's address is ..."; empty when nobody is named."""
    said = [word for word, *_ in tokens(seen.before)]
    while said and said[-1] in ADDRESS_NOUNS | {"is", "e", "now"}:
        said.pop()
    return said[-2] if len(said) > 1 and said[-1] == "s" else ""


__all__ = ["is_aside", "is_beside", "is_doubted", "owner_of"]
