"""The result type that every scan of content shares: joining only gets worse, and a changed text leads back."""

from __future__ import annotations

import itertools

import pytest

from checkvalve.filters.outcomes import (
    ContentOutcome,
    Edit,
    Finding,
    ScanResult,
    Severity,
    Status,
    apply_edits,
    stricter,
    worse,
    worst,
)


def test_joining_results_only_gets_worse() -> None:
    order = [Status.CLEAN, Status.CHANGED, Status.FLAGGED, Status.UNSCANNED]
    for one, other in itertools.product(order, order):
        assert worse(one, other) is order[max(order.index(one), order.index(other))]
    outcomes = [ContentOutcome.PASS, ContentOutcome.SANITISE, ContentOutcome.WITHHOLD]
    for first, second in itertools.product(outcomes, outcomes):
        assert stricter(first, second) is outcomes[max(outcomes.index(first), outcomes.index(second))]


def test_nothing_scanned_is_unscanned_and_many_are_the_worst_of_them() -> None:
    assert worst([]) == (Status.UNSCANNED, ContentOutcome.PASS)
    results = [
        ScanResult(Status.CLEAN, ContentOutcome.WITHHOLD, ""),
        ScanResult(Status.FLAGGED, ContentOutcome.PASS, ""),
    ]
    assert worst(results) == (Status.FLAGGED, ContentOutcome.WITHHOLD)


def test_a_result_names_its_codes_once_and_its_heaviest_weight() -> None:
    findings = (
        Finding("b", 0, 1, severity=Severity.LOW),
        Finding("a", 2, 3, severity=Severity.HIGH),
        Finding("b", 4, 5),
    )
    result = ScanResult(Status.FLAGGED, ContentOutcome.PASS, "", findings)
    assert (result.codes, result.severity) == (("a", "b"), Severity.HIGH)
    assert ScanResult(Status.CLEAN, ContentOutcome.PASS, "x").severity is Severity.NOTE


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [(0, 1, (0, 1)), (1, 2, (1, 3)), (2, 5, (3, 8)), (0, 7, (0, 10)), (5, 7, (8, 10)), (6, 7, (9, 10))],
)
def test_a_stretch_of_a_changed_text_leads_to_its_bytes(start: int, end: int, place: tuple[int, int]) -> None:
    text, spans = apply_edits("aéXXXXXyz", [Edit(2, 7, "[-]", "cut")])
    assert text == "aé[-]yz"
    assert ScanResult(Status.CHANGED, ContentOutcome.SANITISE, text, (), spans).origin(start, end) == place


def test_a_text_that_was_not_changed_is_its_own_map() -> None:
    assert ScanResult(Status.CLEAN, ContentOutcome.PASS, "aéb").origin(1, 3) == (1, 4)


def test_of_edits_that_overlap_the_first_and_longest_is_made() -> None:
    edits = [Edit(3, 5, "c"), Edit(1, 2, "a"), Edit(1, 4, "b"), Edit(4, 6, "d")]
    text, spans = apply_edits("0123456", edits)
    assert text == "0bd6"
    assert [(span.origin_start, span.origin_end, bool(span.code)) for span in spans] == [
        (0, 1, False),
        (1, 4, True),
        (4, 6, True),
        (6, 7, False),
    ]
