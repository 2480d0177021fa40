"""Untrusted text for programs that read markup: chat, mail and web clients that nobody here controls.

Guarantees: pure; the result has passed :func:`render.neutralise`, and holds no character that Markdown, HTML, Slack's
markup or TeX formulas begin with, nothing that clients turn into a link, a mention or an emoji, and no line end. What
was changed stands there as its code point, so two different texts stay different. Nothing is cut silently.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.approvals.render import clip, code_point, neutralise

MAX_INERT: Final = 300
"""Bytes of a value in a message: a message says that there is something to look at, the review surface shows it."""
_MARKUP: Final = re.compile(r"[<>&\[\]{}`*~|\\@#$!^=]")
_WORD_RULES: Final = (
    re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])"),  # inside a word it is no emphasis
    re.compile(r"(?<=\w)\.(?=[^\W\d_])"),  # a host name becomes a link by itself
    re.compile(r":(?=\S)"),  # schemes, ports and :emoji:
    re.compile(r"^[-+>]|^ +"),  # a list, a quotation or code, at the start
)
_ACTORS: Final = frozenset({"reviewer", "breakglass", "client", "host", "agent", "executor", "standing"})
"""Our own words for who acts, before a colon and a name; none of them is the scheme of an address."""


def inert(text: str, *, limit: int = MAX_INERT) -> str:
    """Return ``text`` as what no client turns into anything but text, at most ``limit`` bytes of it and its end."""
    head, left_out, tail = clip(text, head=limit - limit // 3, tail=limit // 3)
    shown = _plain(head)
    return f"{shown} \u27e8{left_out} bytes not shown\u27e9 {_plain(tail)}" if left_out else shown


def inert_by(by: str) -> str:
    """Return who did something, as the log says it: the word for what they are stays as it is, their name is inert."""
    what, _, name = by.partition(":")
    if what not in _ACTORS or not name:
        return inert(by)
    return f"{what}:{inert(name).replace(':', code_point(':'))}"  # no second colon: between two a word is an emoji


def _plain(text: str) -> str:
    shown = _MARKUP.sub(_escaped, neutralise(text))
    for rule in _WORD_RULES:
        shown = rule.sub(_escaped, shown)
    return shown


def _escaped(found: re.Match[str]) -> str:
    return "".join(code_point(character) for character in found[0])


__all__ = ["MAX_INERT", "inert", "inert_by"]
