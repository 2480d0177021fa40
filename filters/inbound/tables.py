# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Tables and settings files: formulas in cells, comments in YAML and in code, doubled quotes undone.

Guarantees: linear; nothing is taken out of what is shown but the sign that makes a cell a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View, stretches
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.outcomes import Channel, Severity

_FORMULA: Final = Pattern(
    r"(?:^|[\n,;\t\"'|])(?:([=@])[ +-]{0,3}(?:HYPERLINK|WEBSERVICE|IMPORTXML|IMPORTDATA|IMPORTHTML|IMPORTRANGE|IMPORTFEED|IMAGE|DDE"
    r"|FILTERXML|RTD|CALL)|([+-])[ =+-]{0,3}(?:HYPERLINK|WEBSERVICE|IMPORT(?:XML|DATA|HTML|RANGE|FEED)|IMAGE|DDE|FILTERXML|RTD|CALL)[ ]?\("
    r"|([=@+-])[0-9 .=@*/+-]{0,20}(?:(?:cmd|rundll32|mshta|powershell|msexcel|wscript)(?:\.exe)?[ ]?\||[a-z]\w{1,30}\|'))",
    ignore_case=True,
)
"""A cell that a spreadsheet would compute: after ``=``, ``@``, ``+`` or ``-`` a function that reaches out, or a program."""
_FORMULAS: Final = PatternSet((_FORMULA.pattern,), ignore_case=True, swift=True)
_SIGNS: Final = (*(rf"[ \t\n]{mark}" for mark in ("#", "//", "--", ";;", "%%")), r"^(?:#|//|--|;;|%%)", r"/\*")
_COMMENT: Final = re.compile(  # each begins with a sign, so that all else is passed over fast; it looks behind itself then
    r"(?:#(?<![^ \t\n]#)|//(?<![^ \t\n]//)|--(?<![^ \t\n]--)|;;(?<![^ \t\n];;)|%%(?<![^ \t\n]%%))[ \t]?([^\n]{12,}+)"
    r"|/\*([^*]{12,}+)\*/"
)
_COMMENTS: Final = PatternSet(
    (r"(?m)(?:^|[ \t])(?:#|//|--|;;|%%)[ \t]?[^\n]{12}|/\*[^*]{12,}\*/",), swift=True, instead={0: _SIGNS}
)
_MARKS: Final = ("#", "//", "--", ";;", "%%", "/*")
"""Each comment begins with one of these."""


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments as a view of their own: split sentences in them run on from line to line."""
    if _may_compute(view.text) and _FORMULAS.may_match(view.text):
        for found in _FORMULA.finditer(view.text):
            notes.find("formula", view, *found.span(), Severity.MEDIUM)
            start, end = next(span for group in (1, 2, 3) if (span := found.span(group))[0] >= 0)
            notes.replace(view, start, end, f"'{view.text[start:end]}", "formula")
    if not any(mark in view.text for mark in _MARKS) or not _COMMENTS.may_match(view.text):
        return
    comments = [found.span(found.lastindex or 1) for found in _COMMENT.finditer(view.text)]
    if comments:
        yield _running_on(view, comments)


def is_formula(cell: str) -> bool:
    """Say whether a cell begins with a formula that reaches out, or starts a program."""
    return any(found.start() == 0 for found in _FORMULA.finditer(cell))


def _may_compute(text: str) -> bool:
    """Say whether there may be a formula: looking for single characters first is fast."""
    return any(sign in text for sign in "=@|+") or text.startswith("-") or ("(" in text and ",-" in text)


def _running_on(view: View, spans: list[tuple[int, int]]) -> View:
    """Return comment lines that follow each other as one text, and others apart."""
    joined: list[tuple[int, int]] = []
    groups: list[list[tuple[int, int]]] = []
    for start, end in spans:
        if joined and view.text.count("\n", joined[-1][1], start) == 1:
            joined.append((start, end))
        else:
            joined = [(start, end)]
            groups.append(joined)
    return stretches(view, groups, Channel.METADATA)
