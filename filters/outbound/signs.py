"""Which forms of links a text can hold at all: one pass over its bytes that answers for all of them.

Guarantees: linear; what a form needs is asked for more loosely than the form itself asks (every byte beyond ASCII
counts as any letter, digit or sign), so a form that is left out does not stand in the text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from checkvalve.filters.linear import PatternSet

TAG, BRACKETS, DEFINITION, ASSIGNED, CSS, ADDRESS, NAME, SIGNED = range(8)
_NEEDED: Final = {  # ``@`` stands for what is not ASCII, too
    TAG: "</?[a-z@]",
    BRACKETS: r"\]\(",
    DEFINITION: r"\]:",
    ASSIGNED: "=",
    CSS: r"url\(|@|[s@]et\(|src\(",
    ADDRESS: (
        r"[/\\]{2}|www\.|[a-z@]:[^ \t\n\r]|[a-z0-9@]\.[a-z@]{2,96}(?::[0-9@]{1,20})?[/?]"
        r"|[0-9@]\.[0-9@]{1,12}(?::[0-9@]{1,20})?[/?]"
    ),
    NAME: "[a-z0-9@]{16}",
    SIGNED: (
        r":[/\\]|[/\\]{2}|\]\(|\]:|<[a-z/]|www\.|data:|script:|url\(|mailto:|src|blob:|[a-z0-9][.][a-z0-9]"
    ),  # in ASCII what every form has at least one of
}
_SET: Final = PatternSet((_NEEDED[number] for number in sorted(_NEEDED)), ignore_case=True)
_LOOSE: Final = bytes((*range(128), *b"@" * 128))


@lru_cache(maxsize=8)  # a piece is asked for its links and for its names
def able_to_hold(text: str) -> frozenset[int]:
    """Return the forms that ``text`` may hold."""
    return frozenset(_SET.matching(text.encode("utf-8", "surrogatepass").translate(_LOOSE)))
