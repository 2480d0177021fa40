# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Tables and settings files: formulas in cells, comments in YAML and in code, doubled quotes undone.

Guarantees: linear; nothing is taken out of what is shown but the sign that makes a cell a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View, stretches
from checkvalve.filters.linear import Pattern
from checkvalve.filters.outcomes import Channel, Severity

_FORMULA: Final = Pattern(
    r"(?:^|[\n,;\t\"'|])([=@][ ]?)(?:HYPERLINK|WEBSERVICE|IMPORTXML|IMPORTDATA|IMPORTHTML|IMPORTRANGE|IMPORTFEED|IMAGE|DDE"
    r"|FILTERXML|RTD|CALL|cmd\s*\|)",
    ignore_case=True,
)
_COMMENT: Final = Pattern(r"(?m)(?:^[ \t]*|[ \t])(?:#|//|--|;;|%%)[ \t]?([^\n]{12,})|/\*([^*]{12,})\*/")


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments as a view of their own: split sentences in them run on from line to line."""
    if "=" in view.text or "@" in view.text:
        for found in _FORMULA.finditer(view.text):
            notes.find("formula", view, *found.span(), Severity.MEDIUM)
            notes.replace(view, *found.span(1), "'=", "formula")
    comments = [found.span(1) if found[1] is not None else found.span(2) for found in _COMMENT.finditer(view.text)]
    if comments:
        yield _running_on(view, comments)


def _running_on(view: View, spans: list[tuple[int, int]]) -> View:
    """Return comment lines that follow each other as one text, and others apart."""
    joined: list[tuple[int, int]] = []
    groups: list[list[tuple[int, int]]] = []
    for start, end in spans:
        if joined and "\n" in view.text[joined[-1][1] : start] and view.text[joined[-1][1] : start].count("\n") == 1:
            joined.append((start, end))
        else:
            joined = [(start, end)]
            groups.append(joined)
    return stretches(view, groups, Channel.METADATA)
