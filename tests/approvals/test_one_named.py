"""A thing is named by the start of its id: enough of it, and of one thing only."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.matching import MIN_PREFIX, one_named
from checkvalve.approvals.refusals import AmbiguousError


@dataclass(frozen=True)
class Thing:
    id: str


ONE, OTHER, THIRD = Thing("abcdef0123"), Thing("abcdef9999"), Thing("1234567890")
KNOWN = [ONE, OTHER, THIRD]


@pytest.mark.parametrize("prefix", ["abcdef0", " ABCDEF01 ", ONE.id])
def test_the_start_of_one_id_names_it(prefix: str) -> None:
    assert one_named(KNOWN, prefix, "thing", "things list") is ONE


@pytest.mark.parametrize("prefix", [THIRD.id[: MIN_PREFIX - 1], "1", "abcdef"])
def test_a_start_that_is_short_or_of_several_names_nothing(prefix: str) -> None:
    with pytest.raises(AmbiguousError, match="one thing"):
        one_named(KNOWN, prefix, "thing", "things list")


@pytest.mark.parametrize("prefix", ["", "  ", "f", "ffffffffff", ONE.id + "0"])
def test_what_is_not_there_is_said_with_the_command_that_lists_them(prefix: str) -> None:
    with pytest.raises(NotFoundError, match="no such thing") as caught:
        one_named(KNOWN, prefix, "thing", "things list")
    assert "things list" in caught.value.remedy
