"""Which passwords are refused: the short, the overlong, the commonest, and those made of the account's own name.

Guarantees: pure; the answer is a word for programs, never the password. No rule asks for capitals, digits or signs, and
none makes people change a password by the calendar: such rules lead to weaker ones (NIST SP 800-63B, section 5.1.1).

1. Compatibility forms are folded (NFKC), so that one password has one form on every keyboard. 2. The length counts in
characters. 3. Case, digits that stand for letters, and whatever is neither letter nor digit are taken away. What is
left must not consist of common words and the name, nor of a run of the keyboard, nor of a short part again and again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Final

from checkvalve.approvals.people import folded

MIN_LENGTH: Final = 12
"""Characters a password has at least."""
MAX_LENGTH: Final = 256
"""Characters it has at most: nothing longer is hashed."""
PROBLEMS: Final = ("short", "long", "unprintable", "common", "name")
"""What can be wrong with a password."""
TOKEN: Final = "cvr_"  # noqa: S105  # how a reviewer's token begins
_LETTERS: Final = str.maketrans("013457@$!", "oleastasi")
_MIN_RUN: Final = 4
_MIN_NAME: Final = 3  # letters of a name that count: the initials of somebody are in half of all words
_KEPT: Final = 6  # characters that nobody could have listed: fewer beside common words are no password


def folded_password(password: str) -> str:
    """Return the one form of a password that is hashed and compared."""
    return unicodedata.normalize("NFKC", password)


def problem_of(password: str, name: str) -> str:
    """Return what is wrong with ``password`` for the account ``name``, empty when nothing is; see the module's list."""
    plain = folded_password(password)
    if len(plain) < MIN_LENGTH:
        return "short"
    if len(plain) > MAX_LENGTH:
        return "long"
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in plain):
        return "unprintable"
    if plain.startswith(TOKEN):
        return "common"  # it would be taken for a token wherever either may be typed
    small = plain.casefold()
    own = {part for part in re.split(r"[^\w]+|_", folded(name)) if len(part) >= _MIN_NAME}
    if _rest(small, _words() | own) >= _KEPT and not _is_repeated(small):
        return ""
    named = any(part in spelling for part in own for spelling in (small, small.translate(_LETTERS)))
    return "name" if named else "common"


def _rest(small: str, words: set[str] | frozenset[str]) -> int:
    """Return how many different characters are left of both spellings once words and runs are taken away."""
    return min(_left(small, words), _left(small.translate(_LETTERS), words))


def _left(text: str, words: set[str] | frozenset[str]) -> int:
    letters = "".join(char for char in text if char.isalnum())
    for word in sorted(words, key=len, reverse=True):
        letters = letters.replace(word, " ") if len(word) > 1 else letters
    found = [part for part in _without_runs(letters).split() if not part.isdigit()]
    return len({char for part in found for char in part})


def _without_runs(text: str) -> str:
    """Take away every run of the keyboard or the alphabet, forwards and backwards, of four or more."""
    left, at = [], 0
    while at < len(text):
        run = _run_at(text, at)
        left.append(" " if run else text[at])
        at += run or 1
    return "".join(left)


def _run_at(text: str, at: int) -> int:
    for line in _lines():
        length = 0
        while at + length < len(text) and text[at : at + length + 1] in line:
            length += 1
        if length >= _MIN_RUN:
            return length
    return 0


def _is_repeated(text: str) -> bool:
    """Say whether it is a part of at most a third of it, again and again."""
    return any((text[:size] * (len(text) // size + 1)).startswith(text) for size in range(1, len(text) // 3 + 1))


@lru_cache(maxsize=1)
def _listed() -> dict[str, list[str]]:
    text = (files("checkvalve.approvals") / "weak_passwords.json").read_text(encoding="utf-8")
    found: dict[str, list[str]] = json.loads(text)
    return found


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    return frozenset(_listed()["words"])


@lru_cache(maxsize=1)
def _lines() -> tuple[str, ...]:
    return tuple(line for run in _listed()["runs"] for line in (run, run[::-1]))


__all__ = ["MAX_LENGTH", "MIN_LENGTH", "PROBLEMS", "folded_password", "problem_of"]
