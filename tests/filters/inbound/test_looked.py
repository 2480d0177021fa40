"""What is left out since nothing can match it costs what it would have cost, and no place or count is lost by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkvalve.filters.inbound import chain, rules, scan_inbound
from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Status
from checkvalve.filters.swift import bytewise

PLAIN = "The train to the coast leaves at nine, and the harbour office opens before the ferry does."


def test_a_reading_that_nothing_can_match_costs_what_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a scan ends at the same place whichever machine said so."""
    spent, looks = list[int](), list[bool]()

    def counted(budget: Budget, characters: int) -> None:
        del budget
        spent[-1] += characters + 1

    def looked(text: str, scripts: Any, *, tools: bool) -> rules.Looked:
        found = rules.looked(text, scripts, tools=tools)
        assert not found.turned
        return replace(found, turned=looks[-1])

    monkeypatch.setattr(Budget, "spend", counted)
    monkeypatch.setattr(chain, "looked", looked)
    for turned in (False, True):
        spent.append(0)
        looks.append(turned)
        assert scan_inbound(PLAIN).status is Status.CLEAN
    assert spent[0] == spent[1] > 2 * len(PLAIN)


def test_a_place_in_a_part_of_a_file_is_counted_from_the_start_of_the_file() -> None:
    item = View(f"see {'x' * 40} end")
    file = item.whole("the text of a file", 4, 44, note="base64")
    assert item.within(3) is None
    for found in (file.within(8), file.part(7, 11).within(1), file.part(5, 14).part(2, 6).within(1)):
        assert found is not None
        assert found[0] is file
        assert found[1] == 8


@pytest.mark.parametrize(
    ("pattern", "written", "exact"),
    [
        (r"a\S+b", r"a[^\t\n\f\r ]+b", True),
        (r"a\S{2,5}b", r"a[^\t\n\f\r ]+b", False),
        (r"a\Sb", r"a[^\t\n\f\r ]+b", False),
        (r"a.{0,5}b", r"a[^\n]*b", False),
        (r"a[^x]*b", r"a[^x]*b", True),
        (r"a[^x]{0,4}b", r"a[^x]*b", False),
    ],
)
def test_what_counts_characters_is_not_exact_in_bytes(pattern: str, written: str, exact: bool) -> None:
    assert bytewise(pattern) == (written, exact)
