"""Codes for terminals inside text: colours are dropped, and what they hide or overwrite is read.

Guarantees: linear; text without control characters costs one search; nothing of an escape sequence is left in what a
model is shown.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.filters.inbound.letters import foreign
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.linear import Pattern
from checkvalve.filters.outcomes import Channel, Severity

_ESCAPE: Final = re.compile(
    r"(?:\x1b\[|\x9b)(?P<args>[0-9;:?]{0,64})[ -/]{0,4}(?P<end>[@-~])?"
    r"|\x1b(?P<string>[\]PX^_])(?P<body>[^\x07\x1b\x9c\n]{0,2000})(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]{0,4}[0-~]?"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]+")
_ANY: Final = Pattern(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x{9b}]|\r[^\n\r]")
_OVERWRITTEN: Final = re.compile(r"(?:^|\n)([^\r\n]{4,2000})\r(?=[^\r\n])")
_CONCEAL: Final = "8"
MAX_HIDDEN: Final = 40
"""Stretches that are looked at as texts of their own."""


def look(view: View, notes: Notes, others: str | None = None) -> list[View]:
    """Note terminal codes in ``view`` and how to take them out; return what they hide, as hidden views.

    ``others`` are its characters outside plain ASCII, where they are known.
    """
    others = foreign(view.text) if others is None else others
    if "\r" not in view.text and (not others or not _ANY.found(others)):
        return []
    if not _ANY.found(view.text):
        return []
    hidden: list[View] = []
    concealed_from = -1
    for found in _ESCAPE.finditer(view.text):
        notes.drop(view, found.start(), found.end(), "terminal-code")
        arguments = re.split("[;:]", found["args"] or "0") if found["end"] == "m" else []
        if concealed_from >= 0 and arguments and _CONCEAL not in arguments:
            hidden.append(view.part(concealed_from, found.start(), Channel.HIDDEN, "concealed"))
            concealed_from = -1
        if _hides(arguments):
            concealed_from = found.end()
            notes.find("terminal-hiding", view, found.start(), found.end(), Severity.MEDIUM, channel=Channel.HIDDEN)
        elif found["end"] and found["end"] != "m":
            notes.find("terminal-hiding", view, found.start(), found.end(), Severity.LOW, detail="cursor")
        if found["body"]:
            hidden.append(view.part(*found.span("body"), Channel.METADATA, "terminal-string"))
    if concealed_from >= 0:
        hidden.append(view.part(concealed_from, len(view.text), Channel.HIDDEN, "concealed"))
    for found in _CONTROL.finditer(view.text):
        notes.drop(view, found.start(), found.end(), "control")
    hidden += [view.part(*found.span(1), Channel.HIDDEN, "overwritten") for found in _OVERWRITTEN.finditer(view.text)]
    return hidden[:MAX_HIDDEN]  # all of it stands in the text as well, and is matched there


def _hides(arguments: list[str]) -> bool:
    """Say whether a colour code conceals, or paints in the colour of the ground."""
    if _CONCEAL in arguments and "38" not in arguments and "48" not in arguments:
        return True
    front = {int(item) - 30 for item in arguments if len(item) == 2 and item[0] == "3" and item[1] in "01234567"}  # noqa: PLR2004
    back = {int(item) - 40 for item in arguments if len(item) == 2 and item[0] == "4" and item[1] in "01234567"}  # noqa: PLR2004
    return bool(front & back)
