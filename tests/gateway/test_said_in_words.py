"""Moments, sources and reasons in words: the same on the pages and in the terminal, the exact moment beside them."""

from __future__ import annotations

import re

import pytest

from checkvalve.approvals.origin_words import NO_SOURCE, WHY, place_of
from checkvalve.gateway.web_moments import Moments
from checkvalve.gateway.web_words import LANGUAGES, words_in

SECOND = 1_000_000
NOW = 1_900_000_000 * SECOND  # 2030-03-17T17:46:40Z


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (NOW - 7_200 * SECOND, "2 hours ago"),
        (NOW - 60 * SECOND, "1 minute ago"),
        (NOW, "a moment ago"),
        (NOW + 3 * 86_400 * SECOND, "in 3 days"),
        (NOW + 30 * 86_400 * SECOND - 1, "in 30 days"),
        (NOW + 86_400 * SECOND - 1, "in 1 day"),
        (NOW + 5 * SECOND, "in 5 seconds"),
    ],
)
def test_a_moment_is_said_in_words_with_the_exact_one_as_its_title(moment: int, said: str) -> None:
    shown = Moments(words_in("en"), NOW)(moment)
    assert re.sub(r"<[^>]+>", "", shown) == said
    assert re.search(r'title="\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"', shown)
    assert re.search(r'datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', shown)


def test_a_moment_in_a_table_of_the_log_is_exact() -> None:
    moments = Moments(words_in("en"), NOW)
    assert moments.exact(NOW).endswith(">2030-03-17 17:46:40</time>")
    assert moments.plain(NOW) == "2030-03-17 17:46 UTC"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_knows_before_and_after(language: str) -> None:
    moments = Moments(words_in(language), NOW)
    assert moments(NOW - 90 * SECOND) != moments(NOW + 90 * SECOND)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("user:33ea091a-0fe4", "the user's words"),
        ("user", "the user's words"),
        ("user_notes", "user_notes"),
        ("tool:read_mail/r1@a", "what read_mail returned"),
        ("tool:read_mail/r1@a#0.text", "what read_mail returned, field 0.text"),
        ("tool:files/read/r1@a#0.text", "what files/read returned, field 0.text"),
        ("tool:read_mail", "what read_mail returned"),
        ("memory:7", "memory:7"),
    ],
)
def test_a_source_is_said_without_the_id_of_the_call(source: str, said: str) -> None:
    assert place_of(source).in_words() == said


def test_the_terminal_and_the_pages_give_the_same_reasons() -> None:
    texts = words_in("en").texts
    pages = {name.removeprefix("why."): text for name, text in texts.items() if name.startswith("why.")}
    assert {name: pages.get(name) for name in WHY} == dict(WHY)
    assert set(pages) - set(WHY) == {"nowhere", "other", "typed"}, "these are about a value, and are said beside it"


def test_a_value_that_stands_nowhere_is_said_to_be_from_nowhere() -> None:
    assert place_of(NO_SOURCE).in_words() == "nowhere: nobody is known to have said it"
    assert place_of("none:x").in_words() == "none:x"
