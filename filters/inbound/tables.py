# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Tables and settings files: formulas in cells, comments in YAML and in code, doubled quotes undone.

Guarantees: linear; nothing is taken out of what is shown but the sign that makes a cell a formula.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
_REACHING: Final = Pattern(
    r"(?:^|[^A-Z0-9_])(?:HYPERLINK|WEBSERVICE|IMPORT(?:XML|DATA|HTML|RANGE|FEED)|IMAGE|DDE|FILTERXML|RTD|CALL)[ ]?\(",
    ignore_case=True,
)
"""The same functions inside of what is known to be a formula, whatever stands around them."""
_MARKS: Final = ("#", "//", "--", ";;", "%%")
"""What a comment begins with that goes on to the end of its line."""
_INSIDE: Final = "/*"
"""What a comment begins with that goes on to its own end."""
_ABLE: Final = PatternSet(
    (_FORMULA.pattern, r"/\*", *(rf"(?:^|[ \t\n]){mark}" for mark in _MARKS)), ignore_case=True, swift=True
)
"""All at once: most texts have none of them, or few."""
_FIRST_MARK: Final = 2  # its number among them
_BLANKS: Final = (" ", "\t")
_SHORTEST: Final = 12  # characters of a comment that says something


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield comments as a view of their own: split sentences in them run on from line to line."""
    able = _ABLE.may_match(view.text)
    if 0 in able and _may_compute(view.text):
        for found in _FORMULA.finditer(view.text):
            notes.find("formula", view, *found.span(), Severity.MEDIUM)
            start, end = next(span for group in (1, 2, 3) if (span := found.span(group))[0] >= 0)
            notes.replace(view, start, end, f"'{view.text[start:end]}", "formula")
    comments = list(_comments(view.text, able)) if able else ()
    if comments:
        yield _running_on(view, comments)


def reaches_out(formula: str) -> bool:
    """Say whether a formula, as a sheet keeps it, has a function that reaches out anywhere, or starts a program."""
    return any(True for _ in _REACHING.finditer(formula)) or any(
        found.start() == 0 for found in _FORMULA.finditer(formula)
    )


def _comments(text: str, able: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield what comments say: behind a mark at the start of a line or behind a blank, or between ``/*`` and ``*/``."""
    some = [mark for number, mark in enumerate(_MARKS, _FIRST_MARK) if number in able]
    marks = [(at, len(mark)) for mark in some for at in _all(mark, text) if not at or text[at - 1] in " \t\n"]
    marks += [(at, 0) for at in _all(_INSIDE, text)] if 1 in able else []
    reach = 0
    for at, size in sorted(marks):
        if at < reach:
            continue
        start = at + (size or 2)
        end = text.find("\n" if size else "*", start)
        if end < 0:
            end = len(text)
        if size and text[start : start + 1] in _BLANKS and end - start > _SHORTEST:
            start += 1
        if end - start >= _SHORTEST and (size or text.startswith("*/", end)):
            yield start, end
            reach = end if size else end + 2


def _all(sign: str, text: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


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
