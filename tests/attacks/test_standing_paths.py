"""No standing rule for a path answers a call whose path another program reads as another file."""

from __future__ import annotations

import itertools
import posixpath

import pytest

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import StandingRuleError
from checkvalve.approvals.standing_values import Constraint, same_form

pytestmark = pytest.mark.claim("C3")

STARTS = ("", "./", ".//", "/", "//", "///", "/./", "././")
STEPS = (
    "~",
    "~bob",
    "-rf",
    "@list",
    "$HOME",
    "%TEMP%",
    "a:b",
    "host:",
    "http:",
    "*",
    "!x",
    "#x",
    "=x",
    "a",
    ".ssh",
    "_x",
)


def reading(text: str) -> tuple[object, ...]:
    """Return how programs may take a path: from where, with which meaning of its first step, and which file."""
    first = next((step for step in text.split("/") if step not in {"", "."}), "")
    bare = text.startswith(first) and first != ""
    special = bare and (not (first[:1].isalnum() or first[:1] in "_.") or ":" in first)
    host = text.startswith("//") and not text.startswith("///")
    return (text.startswith("/"), host, special, posixpath.normpath(text.lstrip("/") or "/"))


def test_two_spellings_of_one_form_are_one_file_to_every_program() -> None:
    texts = [f"{start}{step}{end}" for start, step, end in itertools.product(STARTS, STEPS, ("", "/", "/x", "//./x"))]
    forms: dict[str, set[tuple[object, ...]]] = {}
    for text in texts:
        form = same_form("path", text)
        if form is not None:
            forms.setdefault(form, set()).add(reading(text))
    assert len(forms) > 20
    assert {form: found for form, found in forms.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("rule", "call"),
    [("~/a", "./~/a"), ("-rf", "./-rf"), ("a:b/c", "./a:b/c"), ("/host/a", "//host/a"), ("@f", ".//@f")],
)
def test_what_only_looks_like_the_path_does_not_fit(rule: str, call: str) -> None:
    made = Constraint(("path",), "target", "path", "same", (canonical(rule).decode(),))
    assert made.fits(rule)
    assert not made.fits(call)
    with pytest.raises(StandingRuleError, match="not of a form that can be compared"):
        Constraint(("path",), "target", "path", "same", (canonical(call).decode(),))


@pytest.mark.parametrize("call", ["./docs/a.md", "docs//a.md", "docs/./a.md", "docs/a.md/"])
def test_spellings_of_one_path_still_fit(call: str) -> None:
    assert Constraint(("path",), "target", "path", "same", (canonical("docs/a.md").decode(),)).fits(call)
