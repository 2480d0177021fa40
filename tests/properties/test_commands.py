"""Whatever is drawn: reading, writing and reading again are one; what a shell acts on is quoted or refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.commandline import CommandLineError, join, split
from checkvalve.approvals.commands import match
from checkvalve.approvals.commandspec import CommandSpec, OperandSpec

pytestmark = pytest.mark.claim("C9")

characters = st.characters(codec="utf-8", exclude_characters="".join(map(chr, range(32))) + "\x7f")
words = st.lists(st.text(characters, max_size=20), min_size=1, max_size=8).filter(lambda drawn: bool(drawn[0]))
lines = st.text(st.sampled_from("ab=_ \t'\"\\$`~|&;<>()*?[]{}!^#\n-./%é"), max_size=25)
ACTIVE = "$`~|&;<>()*?[]{}!^#\n\r"
GOOD = ("--oneline", "--max-count=3", "-n", "3", "src/a", "--")
BAD = ("../x", "/etc/passwd", "-x", "--max-count", "@f", ".", "a:b", "-", "--one", "-n3", "", "$x", "*")
SHAPE = CommandSpec(
    run="git log",
    options={"--oneline": "flag", "--max-count=": "number", "-n": "number"},
    operands=(OperandSpec(kind="path", many=True, optional=True),),
    reads_only=True,
    evidence="prints the history",
)


@given(words)
def test_words_that_are_written_are_read_back(drawn: list[str]) -> None:
    line = join(drawn)
    assert split(line) == tuple(drawn)
    assert join(split(line)) == line


@given(lines)
def test_reading_is_stable(line: str) -> None:
    try:
        found = split(line)
    except CommandLineError:
        return
    assert split(join(found)) == found


@given(lines)
def test_what_a_shell_acts_on_is_quoted_or_refused(line: str) -> None:
    try:
        split(line)
    except CommandLineError:
        return
    bare = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", "", line, flags=re.DOTALL)
    assert not set(bare) & set(ACTIVE)


@given(st.lists(st.sampled_from((*GOOD, *BAD)), max_size=6))
def test_a_command_that_fits_holds_nothing_but_what_the_shape_says(drawn: list[str]) -> None:
    found = match(["git", "log", *drawn], (SHAPE,))
    if found is None:
        return
    assert set(drawn) <= set(GOOD)
    open_words = {"3", "src/a", "--max-count=3"}
    assert found.chosen == tuple(place for place, word in enumerate(found.words) if word in open_words)
