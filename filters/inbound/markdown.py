# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""What Markdown and TeX keep from the reader's eyes: comments, titles of links, white or phantom formulas.

Guarantees: linear; each aside is a view with its exact place; comments are taken out of what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.outcomes import Channel, Severity

_COMMENT: Final = Pattern(
    r"(?m)^[ ]{0,3}\[(?://|comment|_|\.|#|!|-)[^\]\n]{0,40}\]:[ \t]*(?:#|<>|https?://\S{0,200}|/)?[ \t]*[(\"']([^\n]+)[)\"'][ \t]*$",
    ignore_case=True,
)
_TITLE: Final = Pattern(
    r"\]\([ ]?<?[^\s()\[\]\"']+>?[ ]{1,4}[\"'(]([^\"')\n]{8,})[\"')]|(?m:^[ ]{0,3}\[[^\]\n]{1,200}\]:[ \t]*\S+[ \t]+[\"'(]([^\"'\n]{8,})[\"')])"
)
_ALT: Final = Pattern(r"!\[([^\[\]\n]{24,})\]")
_TEX: Final = Pattern(
    r"\\(?:phantom|hphantom|vphantom|textcolor\{white\}|color\{white\}|tiny\\color\{white\})\s*\{?([^}\n]{6,})"
)


_ABLE: Final = PatternSet((item.pattern for item in (_COMMENT, _TITLE, _ALT, _TEX)), ignore_case=True, swift=True)
"""Most texts have none of them, and one look at it says so."""
_PICTURE, _FORMULA = 2, 3  # numbers of patterns among them


def asides(view: View, notes: Notes) -> Iterator[View]:
    """Yield what a reader of the rendered text does not see."""
    text = view.text
    able = _ABLE.may_match(text) if "[" in text or "\\" in text else ()
    if not able:
        return
    if 0 in able:
        for found in _COMMENT.finditer(text):
            notes.find("hidden-text", view, *found.span(1), Severity.LOW, detail="comment", channel=Channel.HIDDEN)
            notes.replace(view, *found.span(), "", "hidden-text")
            yield view.part(*found.span(1), Channel.HIDDEN, "comment")
    if 1 in able:
        for found in _TITLE.finditer(text):
            yield view.part(*(found.span(1) if found[1] is not None else found.span(2)), Channel.METADATA, "title")
    if _PICTURE in able:
        for found in _ALT.finditer(text):
            yield view.part(*found.span(1), Channel.METADATA, "alt")
    if _FORMULA in able:
        for found in _TEX.finditer(text):
            notes.find("hidden-text", view, *found.span(1), Severity.LOW, detail="formula", channel=Channel.HIDDEN)
            notes.replace(view, *found.span(1), "", "hidden-text")
            yield view.part(*found.span(1), Channel.HIDDEN, "formula")
