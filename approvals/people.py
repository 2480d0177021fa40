"""One rule for the names of people: requesters, reviewers and the holders of API tokens.

Guarantees: pure; a name that a person cannot tell from another one by looking is that other one, or is refused where
names are given out. Comparing folds compatibility forms, letter case, white space, invisible characters and letters of
other scripts that look like Latin ones. What it does not do: letters within one script that look alike (``l`` and ``1``
in some typefaces) stay different.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from checkvalve.filters.normalise import is_invisible

MAX_NAME: Final = 100
"""Characters of a person's name or address."""
RULE: Final = "a short name of visible letters in one script"
"""What a usable name is, for error messages."""

OURS: Final = "a word by which this program calls itself or its parts, and nobody"
"""What is wrong with a name such as ``gateway`` or ``reviewer:ann``, for error messages."""
_KINDS: Final = frozenset({"reviewer", "client", "host", "breakglass", "agent", "executor", "standing", "rule"})
"""Our own words for who acts, before a colon and a name."""
PARTS: Final = frozenset({"clock", "gateway", "recovery", "setup", "link", "oidc", "observe"})
"""Parts of this program, as events name them. Any other word without a colon is the name of an account."""
_REMEMBERED: Final = 1_024  # names: every question is compared with everybody's
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts whose letters pass for each other's: a name has letters of one of them at most."""
_LOOKALIKES: Final = str.maketrans(
    "авекмнорстухһіјѕԁԛԝүӏαβεικνορτυχωϲյօսհոցզ",  # that is what they are here for
    "abekmhopctyxhijsdqwylabeikvoptuxwcjouhngq",
)
"""Small letters that look like a Latin one: what somebody would write a colleague's name with."""


def folded(name: str) -> str:
    """Return the spelling under which two names are one person; empty when nothing of it is visible."""
    plain = unicodedata.normalize("NFKC", name)
    plain = "".join(char for char in plain if not is_invisible(char))
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def same_person(one: str, other: str) -> bool:
    """Say whether two names may be one person: the same spelling, or one that looks the same."""
    return _shape(one) == _shape(other)


@lru_cache(maxsize=_REMEMBERED)
def is_usable(name: str) -> bool:
    """Say whether ``name`` can be given to a person: visible, short, and in one script."""
    person = folded(name)
    visible = not any(is_invisible(char) or char in "\t\n\r" for char in name.strip())
    readable = any(char.isalnum() for char in person)
    return readable and len(person) <= MAX_NAME and visible and person.isprintable() and len(_scripts(person)) <= 1


def is_ours(name: str) -> bool:
    """Say whether ``name`` is, or looks like, what the log calls a part of this program, or one kind of who acts."""
    kind, colon, _ = _shape(name).partition(":")
    return kind.strip() in _KINDS if colon else kind in PARTS


@lru_cache(maxsize=_REMEMBERED)
def _shape(name: str) -> str:
    decomposed = unicodedata.normalize("NFD", folded(name))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LOOKALIKES)


def _scripts(name: str) -> set[str]:
    first = (unicodedata.name(char, "").partition(" ")[0] for char in name if char.isalpha())
    return {word for word in first if word in _SCRIPTS}
