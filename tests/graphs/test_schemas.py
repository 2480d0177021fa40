"""Closed types: what a schema may be, what passes it, and how many bits that is."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.graphs.bits import charge
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.schemas import ReadSchema, parse_schema


def parse(**fields: Any) -> ReadSchema:
    return parse_schema({"fields": fields}, max_fields=5, max_enum=4)


def check(schema: ReadSchema, values: dict[str, Any], **ids: set[str]) -> Any:
    return schema.check({"have_enough_information": True, **values}, ids, {"odd": re.compile(r"\d+")})


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"fields": {}},
        {"fields": []},
        {"fields": {"a": {"type": "string"}}},
        {"fields": {"a": {"type": ["bool"]}}},
        {"fields": {"a": "bool"}},
        {"fields": {"a": {"type": "bool", "min": 1}}},
        {"fields": {"a": {"type": "bool", "question": 5}}},
        {"fields": {"a": {"type": "bool"}}, "more": 1},
        {"fields": {"A b": {"type": "bool"}}},
        {"fields": {"have_enough_information": {"type": "bool"}}},
        {"fields": {f"f{n}": {"type": "bool"} for n in range(6)}},
        {"fields": {"a": {"type": "number"}}},
        {"fields": {"a": {"type": "number", "min": 0}}},
        {"fields": {"a": {"type": "number", "min": True, "max": 5}}},
        {"fields": {"a": {"type": "number", "min": 5, "max": 0}}},
        {"fields": {"a": {"type": "number", "min": 0, "max": 5, "step": 0}}},
        {"fields": {"a": {"type": "number", "min": 0, "max": 5, "step": -1}}},
        {"fields": {"a": {"type": "number", "min": 0, "max": 1, "step": 1e-300}}},
        {"fields": {"a": {"type": "number", "min": 0, "max": 2**60}}},
        {"fields": {"a": {"type": "number", "min": "0", "max": "5"}}},
        {"fields": {"a": {"type": "date", "from": "soon"}}},
        {"fields": {"a": {"type": "date", "from": 5}}},
        {"fields": {"a": {"type": "date", "from": "2026-02-02", "to": "2026-02-01"}}},
        {"fields": {"a": {"type": "enum"}}},
        {"fields": {"a": {"type": "enum", "values": []}}},
        {"fields": {"a": {"type": "enum", "values": ["x", "x"]}}},
        {"fields": {"a": {"type": "enum", "values": ["x", 1]}}},
        {"fields": {"a": {"type": "enum", "values": [["x"]]}}},
        {"fields": {"a": {"type": "enum", "values": list("abcde")}}},
        {"fields": {"a": {"type": "id"}}},
        {"fields": {"a": {"type": "id", "of": ""}}},
        {"fields": {"a": {"type": "id", "of": 5}}},
    ],
    ids=str,
)
def test_a_schema_is_closed_or_refused(data: Any) -> None:
    with pytest.raises(CodedError) as caught:
        parse_schema(data, max_fields=5, max_enum=4)
    assert caught.value.code == "bad_schema"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("spec", "bits"),
    [
        ({"type": "bool"}, 1.0),
        ({"type": "number", "min": 0, "max": 7}, 3.0),
        ({"type": "number", "min": 0, "max": 0.7, "step": 0.1}, 3.0),
        ({"type": "number", "min": 5, "max": 5}, 0.0),
        ({"type": "date", "from": "2026-01-01", "to": "2026-01-16"}, 4.0),
        ({"type": "enum", "values": ["a", "b", "c", "d"]}, 2.0),
        ({"type": "id", "of": "mail"}, 3.0),
        ({"type": "reference"}, 0.0),
    ],
)
def test_a_domain_is_counted(spec: dict[str, Any], bits: float) -> None:
    field = parse(a=spec).fields["a"]
    assert math.isclose(field.bits([str(n) for n in range(8)]), bits)


def test_values_come_in_one_form() -> None:
    schema = parse(
        n={"type": "number", "min": 0, "max": 1, "step": 0.01},
        m={"type": "number", "min": 1, "max": 9},
        d={"type": "date"},
        i={"type": "id", "of": "odd"},
        r={"type": "reference"},
    )
    answer = {"n": 0.07, "m": 3.0, "d": "20260203", "i": 5, "r": "free text"}
    values = check(schema, answer, odd={"5"})
    assert values == {"n": 0.07, "m": 3, "d": "2026-02-03", "i": "5", "r": "free text"}
    assert type(values["m"]) is int
    assert schema.check({"have_enough_information": False}, {}, {}) is None
    assert schema.to_json_schema()["additionalProperties"] is False


def test_an_id_needs_its_pattern_and_its_list() -> None:
    plain, odd = parse(i={"type": "id", "of": "mail"}), parse(i={"type": "id", "of": "odd"})
    assert check(plain, {"i": "m-1"}, mail={"m-1"}) == {"i": "m-1"}
    for schema, value, ids in (
        (plain, "m-2", {"mail": {"m-1"}}),
        (plain, "pay now", {"mail": {"pay now"}}),
        (plain, "m\n", {"mail": {"m\n"}}),
        (plain, "x" * 65, {"mail": {"x" * 65}}),
        (plain, "", {"mail": {""}}),
        (odd, "m5", {"odd": {"m5"}}),
        (odd, True, {"odd": {"1", "True"}}),
    ):
        with pytest.raises(CodedError) as caught:
            check(schema, {"i": value}, **ids)
        assert (caught.value.code, caught.value.place) in {("unknown_id", "i"), ("wrong_type", "i")}


@given(
    low=st.integers(-50, 50), width=st.integers(0, 60), tenths=st.sampled_from([1, 5, 10, 20]), at=st.floats(-99, 99)
)
def test_no_more_numbers_pass_than_are_counted(low: int, width: int, tenths: int, at: float) -> None:
    field = parse(n={"type": "number", "min": low, "max": low + width, "step": tenths / 10}).fields["n"]
    passed = set()
    for value in [*(low + k * tenths / 10 for k in range(-2, 700)), at]:
        try:
            passed.add(field.check(value, (), re.compile("")))
        except CodedError:
            continue
    assert len(passed) <= round(2 ** field.bits(()))


def test_an_account_only_grows_and_never_beyond_its_cap() -> None:
    accounts: dict[str, float] = {}
    for bits, fits in ((30, True), (30, True), (5, False), (4, True), (0.1, False), (0, True)):
        found = charge(accounts, "mail", bits, 64)
        assert found.fits is fits
        assert accounts.get("mail", 0) <= found.spent <= 64
        accounts[found.source] = found.spent
    assert charge(accounts, "other", 64, 64).fits
