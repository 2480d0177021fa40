"""The user's own words, told again: "say that you've seen it" becomes "I've seen it".

Guarantees: pure and bounded; besides the user's words in their order, only a few things can differ: pronouns, small
numbers in places that the user marked, the first letter of a sentence, and a few plain signs. So what a model can add
by its choices is a few bits, and no secret is spelled by letter case, by kinds of blanks or by signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

MAX_PRONOUNS: Final = 4
MAX_NUMBERS: Final = 2
MAX_NUMBER: Final = 999
MAX_WORDS: Final = 2000
MAX_SIGNS: Final = 3
"""Signs between words that may differ from the user's: a full stop, a quote, a colon."""
MAX_LEFT_OUT: Final = 3
"""Small words that may be left out: each is a choice, and says a bit."""
_SMALL: Final = frozenset(
    word
    for language in (
        "a an the my your our is are am",
        "ein eine einen der die das mein meine ist sind",
        "un une le la les mon ma mes est sont",
        "el los las mi mis es son",
    )
    for word in language.split()
)
"""Articles, possessives and forms of "be"; no word that denies, limits or says when."""
_FULL_STOP: Final = frozenset({"", "."})
_WORD: Final = re.compile(r"[^\W_]+")
_PLAIN: Final = frozenset(".,:!?'\"\u2019")
_ENDS: Final = re.compile(r"[.!?:\n][\s\"'(]*$")
_PRONOUNS: Final = tuple(
    frozenset(group.split())
    for group in (
        "i you he she we they",
        "me you him her us them",
        "my your his her our their",
        "mine yours his hers ours theirs",
        "ich du er sie wir ihr",
        "mich dich ihn sie uns euch",
        "mein dein sein ihr unser euer",
        "je tu il elle nous vous ils elles",
        "mon ton son notre votre leur",
        "yo tú él ella nosotros ellos",
        "mi tu su nuestro",
    )
)
"""Pronouns that may take each other's place: another person, and the same part of the sentence."""
_GROUPS: Final = {
    pronoun: frozenset(number for number, group in enumerate(_PRONOUNS) if pronoun in group)
    for pronoun in frozenset().union(*_PRONOUNS)
}
_NONE: Final = frozenset[int]()
_PLACEHOLDERS: Final = frozenset("bcdefghjklmnopqrstuvwxyz")
"""Letters that stand for something else; "a" and "i" are words."""

_Word = tuple[str, str]  # a word, and the signs between it and the word before


def is_retold(value: str, said: str) -> bool:
    """Say whether ``value`` is a stretch of ``said`` (the user's words in force, as they were written), told again.

    1. The words are the same, in the same order, letter for letter; a first letter at the start of a sentence may be
    large or small. 2. A pronoun may have become another one. 3. A placeholder of the user's, a single letter, may have
    become a number of at most three digits, the same one wherever it stands. 4. Between words stand the user's own
    signs or one plain blank; a few plain signs may differ.
    """
    spoken = _spoken(said)
    wanted, tail = _words(value, min(MAX_WORDS, len(spoken)))
    if not wanted or len(wanted) > MAX_WORDS or not _is_plain(tail):
        return False
    last = len(spoken) - len(wanted)
    return any(_is_told(wanted, tail, spoken[start : start + len(wanted) + 1]) for start in range(last + 1))


def is_shortened(value: str, said: str) -> bool:
    """Say whether ``value`` is a stretch of one sentence of ``said``, but for small words that it leaves out.

    "Birthday 3 May" is one of "my birthday is 3 May".
    1. The words are the user's, in their order, letter for letter; only the first letter may be large or small. 2. Left
    out are at most :data:`MAX_LEFT_OUT` words of a closed list, none of which denies or limits anything. 3. Between
    words stand the user's own signs or one plain blank, and no end of a sentence; nothing before them, and behind them
    at most a full stop. 4. At least two words are left.
    """
    spoken = _spoken(said)
    wanted, tail = _words(value, min(MAX_WORDS, len(spoken)))
    if not 1 < len(wanted) <= MAX_WORDS or wanted[0][1] or tail not in _FULL_STOP:
        return False
    return any(_is_thinned(wanted, spoken, start) for start in range(len(spoken) - len(wanted) + 1))


def _is_thinned(wanted: Sequence[_Word], spoken: Sequence[_Word], start: int) -> bool:
    """Say whether the words stand from ``start`` on, with a few small ones between them that were left out."""
    if wanted[0][0][1:] != spoken[start][0][1:] or wanted[0][0][:1].lower() != spoken[start][0][:1].lower():
        return False
    place, left_out = start, 0
    for new, before in wanted[1:]:
        between = list[str]()
        for old, signs in spoken[place + 1 : place + 2 + MAX_LEFT_OUT]:
            place += 1
            between.append(signs)
            if old == new:
                break
            if old.lower() not in _SMALL:
                return False
        else:
            return False
        left_out += len(between) - 1
        if any(_ENDS.search(signs) for signs in between) or before not in {" ", *between[1 - len(between) :]}:
            return False
    return left_out <= MAX_LEFT_OUT


@lru_cache(maxsize=16)
def _spoken(said: str) -> Sequence[_Word]:
    """Return the words of the user; every value of a call is held against the same ones."""
    return tuple(_words(said, len(said))[0])


def _words(text: str, most: int) -> tuple[list[_Word], str]:
    """Return the words of ``text`` with the signs before each, and the signs behind the last.

    One more than ``most`` are enough to see that there are too many.
    """
    plain = unicodedata.normalize("NFC", text)
    found, end = list[_Word](), 0
    for match in islice(_WORD.finditer(plain), most + 1):
        found.append((match[0], plain[end : match.start()]))
        end = match.end()
    return found, plain[end:]


def _is_told(wanted: Sequence[_Word], tail: str, spoken: Sequence[_Word]) -> bool:
    pronouns, signs, filled = 0, 0, dict[str, str]()
    for place, ((new, before), (old, between)) in enumerate(zip(wanted, spoken, strict=False)):
        if before or place:
            signs += _difference(before, between if place else "")
        if new == old:
            continue
        first = place == 0 or bool(_ENDS.search(before))
        if first and new[1:] == old[1:] and new[:1].lower() == old[:1].lower():
            continue
        if _GROUPS.get(new.lower(), _NONE) & _GROUPS.get(old.lower(), _NONE) and _is_usual(new, first=first):
            pronouns += 1
        elif not (old in _PLACEHOLDERS and _is_small(new) and filled.setdefault(old, new) == new):
            return False
    if tail:
        signs += _difference(tail, spoken[len(wanted)][1] if len(spoken) > len(wanted) else "")
    same = len(wanted) - pronouns - len(filled)
    bounded = pronouns <= MAX_PRONOUNS and len(filled) <= MAX_NUMBERS and signs <= MAX_SIGNS
    return bounded and same >= min(2, len(wanted))


def _difference(mine: str, users: str) -> int:
    """Count the signs that differ between two words: none for the user's own or for one blank, many for odd ones."""
    if mine in {users, " "} or (not mine and not users.strip()):
        return 0
    if not _is_plain(mine) or any(one == two for one, two in pairwise(mine)):
        return MAX_SIGNS + 1
    return len(mine.strip()) or MAX_SIGNS + 1


def _is_plain(signs: str) -> bool:
    return all(sign in _PLAIN or sign in " \n" for sign in signs)


def _is_usual(pronoun: str, *, first: bool) -> bool:
    """Say whether a pronoun is written as it usually is: small, but for "I" and the start of a sentence."""
    return pronoun == pronoun.lower() or pronoun == "I" or (first and pronoun == pronoun.capitalize())


def _is_small(word: str) -> bool:
    return word.isascii() and word.isdecimal() and str(int(word)) == word and int(word) <= MAX_NUMBER
