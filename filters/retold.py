"""The user's own words, told again: "say that you've seen it" becomes "I've seen it".

Guarantees: pure and bounded; besides the user's words in their order, only a few pronouns and small numbers in places
that the user marked can differ, so that what a model can add by its choices is a few bits (about three for a pronoun
and ten for a number).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checkvalve.filters.normalise import normalise
from checkvalve.filters.words import tokens

MAX_PRONOUNS: Final = 4
MAX_NUMBERS: Final = 2
MAX_NUMBER: Final = 999
MAX_WORDS: Final = 400
MIN_WORDS: Final = 3
"""Words that must stay as they are, so that there is something that was told."""
_PRONOUNS: Final = frozenset(
    "i me my mine myself you your yours yourself he him his she her hers we us our ours they them their theirs "
    "ich du er sie wir ihr mich dich mein dein sein je tu il elle nous vous mon ton son yo tú él ella nosotros mi tu".split()  # noqa: SIM905
)
_PLACEHOLDERS: Final = frozenset("bcdefghjklmnopqrstuvwxyz")
"""Letters that stand for something else; "a" and "i" are words."""


def is_retold(value: str, said: str) -> bool:
    """Say whether ``value`` is a stretch of ``said`` (the user's words in force, normalised), told again.

    1. The words are the same, in the same order. 2. A pronoun may have become another one. 3. A placeholder of the
    user's, a single letter, may have become a number of at most three digits, the same one wherever it stands.
    """
    wanted = [word for word, *_ in tokens(normalise(value).text)]
    spoken = [word for word, *_ in tokens(said)]
    if not MIN_WORDS <= len(wanted) <= MAX_WORDS:
        return False
    return any(_is_told(wanted, spoken[start : start + len(wanted)]) for start in range(len(spoken) - len(wanted) + 1))


def _is_told(wanted: Sequence[str], spoken: Sequence[str]) -> bool:
    pronouns, same, filled = 0, 0, dict[str, str]()
    for new, old in zip(wanted, spoken, strict=True):
        if new == old:
            same += 1
        elif new in _PRONOUNS and old in _PRONOUNS:
            pronouns += 1
        elif old in _PLACEHOLDERS and _is_small(new) and filled.setdefault(old, new) == new:
            pass
        else:
            return False
    return pronouns <= MAX_PRONOUNS and len(filled) <= MAX_NUMBERS and same >= MIN_WORDS


def _is_small(word: str) -> bool:
    return word.isascii() and word.isdecimal() and int(word) <= MAX_NUMBER
