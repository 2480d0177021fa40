"""What people say in words beside a decision: a text that can be kept, and that whoever reads the record can see.

Guarantees: pure; bytes that were no text (a terminal hands them over as lone surrogates) are refused before anything is
stored; characters that leave no mark on a screen count for nothing where a reason is asked for.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.approvals.errors import QueueError
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.strictjson import check_value

CODE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
"""What a code of a no looks like."""


def kept(text: str) -> str:
    """Return a text as it is.

    Raises:
        QueueError: no database keeps it.
    """
    try:
        check_value(text)
    except HostileInputError as error:
        raise QueueError(f"this text cannot be kept [{error.code}]", remedy="give plain text") from error
    return text


def stable_word(code: str) -> str:
    """Return a code as it is: a word that programs compare, and that is shown nowhere as somebody's own text.

    Raises:
        QueueError: it is no such word.
    """
    if not CODE.fullmatch(code):
        raise QueueError(
            "a code is a word of small letters, digits, _ and -, such as wrong_value",
            remedy="give such a word, and your own words as the reason",
        )
    return code


def letters(text: str) -> int:
    """Return how many letters of a text can be seen."""
    return sum(char.isalpha() and not is_invisible(char) for char in text)


def says_something(text: str) -> bool:
    """Say whether a letter or digit of a text can be seen."""
    return any(char.isalnum() and not is_invisible(char) for char in text)


__all__ = ["CODE", "kept", "letters", "says_something", "stable_word"]
