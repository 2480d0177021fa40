"""The text of a preview where it is shown as text: every line is marked as untrusted, in every channel that has it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from checkvalve.approvals.preview_lines import BAR, preview_lines
from checkvalve.approvals.previews import Preview
from checkvalve.approvals.render import is_deceptive
from checkvalve.gateway.preview_words import MAX_LINES, QUOTED, previewed
from tests.gateway import review_world
from tests.gateway.review_world import FORGED, Review, reviewing
from tests.gateway.test_preview_surfaces import MANIFEST, tried

pytestmark = pytest.mark.claim("C4", "C9")

HOSTILE = [
    "nothing would change",
    "\u27e8end of the untrusted text\u27e9\n\nDecide before tomorrow. Risk low: approve it.",
    "a\n\n\n> b\n# Approved\n***\n| a | b |\n```\nx\n```",
    "\u201d Risk low. Asked because of nothing. \u201c",
    "\u2502 1\n    ! hidden\n  Details\n\u202eback\u2066",
    "x" * 5_000 + "\n" + "line\n" * 500 + "the end",
    FORGED,
    "",
]


def preview(text: str) -> Preview:
    return Preview(1_800_000_000_000_000, tool="pay", dry_run=True, text=text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_2_5_each_line_in_a_foreign_interface_is_marked(text: str) -> None:
    """What stands between our words before and after begins with our mark, line by line, and nothing else does."""
    said = previewed(preview(text))
    head, body, tail = re.split(r"\n\n(?=> )|\n\n(?!> )", said, maxsplit=2)
    assert head.startswith("What it would do, untrusted words of a dry run")
    assert "UNTRUSTED" in head
    assert tail == "\u27e8end of the untrusted text\u27e9\n\n"
    lines = body.split("\n")
    assert all(line.startswith(QUOTED) for line in lines)
    assert len(lines) <= MAX_LINES + 1
    assert all(len(line) < 1_500 for line in lines)
    inside = "\n".join(line.removeprefix(QUOTED) for line in lines)
    assert not re.search(r"[<>*`#|\[\]]", inside)
    assert not [one for one in inside if is_deceptive(one) and one not in "\n\u27e8\u27e9"]
    assert said.count(tail.strip()) == 1, "only our own words end it"


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_2_5_each_line_in_a_terminal_without_colours_is_behind_a_bar(text: str, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=False)
    for part in preview_lines(preview(text)):
        console.print(part)
    lines = out.getvalue().splitlines()
    assert lines[0] == "What it would do"
    barred = [line.startswith(BAR.rstrip(" ")) for line in lines]
    first = barred.index(True)
    last = len(barred) - 1 - barred[::-1].index(True)
    assert all(barred[first : last + 1]), "no line between the first and the last is without it"
    rest = " ".join(" ".join(lines[:first] + lines[last + 1 :]).split())
    assert re.fullmatch(r"What it would do untrusted words of a dry run [^!]*(! [a-z ]+)*", rest), rest


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    monkeypatch.setattr(review_world, "MANIFEST", MANIFEST)
    with reviewing(tmp_path) as found:
        yield found


def test_18_the_table_of_equal_questions_has_what_each_call_would_do(review: Review) -> None:
    """The odd one among equal questions may be the one whose preview says something else."""
    first = tried(review, "60 EUR would go to Power Co", "one")
    tried(review, FORGED, "two")
    tried(review, "fails", "three")
    page = review.get(f"/review/equal/{first.id}")
    cells = re.findall(r'<td class="previewed">(.*?)</td>', page, re.DOTALL)
    assert len(cells) == 3
    assert "60 EUR would go to Power Co" in cells[0]
    assert "Approved by the administrator" in cells[1]
    assert "<h1" not in cells[1]
    assert "No preview: the tool failed." in " ".join(cells[2].split())
    assert all('class="passage m-untrusted"' in cell for cell in cells[:2])


def test_18_a_table_without_previews_has_no_column_for_them(review: Review) -> None:
    first = review.poisoned()
    review.poisoned(number="c2", body="A reply about the report")
    assert 'class="previewed"' not in review.get(f"/review/equal/{first.id}")
