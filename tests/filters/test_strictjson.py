"""Step 0: hostile JSON is refused with a code, in time linear in its size, and never with another error."""

from __future__ import annotations

import contextlib
import enum
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import (
    JSON,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_ITEMS,
    MAX_STRING,
    check_value,
    parse_strict,
)
from tests.effort import bounded

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(-(2.0**53) + 1, 2.0**53 - 1, allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=5)
    ),
    max_leaves=20,
)

HOSTILE_TEXT = {
    "NaN": ("[NaN]", "not_finite"),
    "Infinity": ('{"a": Infinity}', "not_finite"),
    "minus infinity": ("-Infinity", "not_finite"),
    "1e400": ('{"a": [1e400]}', "not_finite"),
    "duplicate key": ('{"a": 1, "a": 1}', "duplicate_key"),
    "duplicate key, escaped": ('{"a": 1, "\\u0061": 2}', "duplicate_key"),
    "duplicate key, deep": ('[{"x": [[{"k": {"a": 1, "b": 2, "a": 3}}]]}]', "duplicate_key"),
    "duplicate empty key": ('{"": 1, "": 2}', "duplicate_key"),
    "lone surrogate": ('"\\ud800"', "surrogate"),
    "lone surrogate in a key": ('{"to\\udfff": 1}', "surrogate"),
    "surrogates in the wrong order": ('"\\ude00\\ud83d"', "surrogate"),
    "raw surrogate": ('"\ud800"', "surrogate"),
    "surrogate bytes": (b'"\xed\xa0\x80"', "not_json"),
    "overlong UTF-8": (b'"\xc0\xaf"', "not_json"),
    "UTF-16": ('"a"'.encode("utf-16"), "not_json"),
    "byte order mark": ("\ufeff1", "not_json"),
    "10 MB string": ('"' + "a" * 10_000_000 + '"', "too_long"),
    "a string over the limit": ('"' + "a" * (MAX_STRING + 1) + '"', "too_long"),
    "a long string of wide characters": ('"' + "\u20ac" * (MAX_STRING // 2) + '"', "too_long"),
    "a long key": ('{"' + "k" * (MAX_STRING + 1) + '": 1}', "too_long"),
    "200,000 nested brackets": ("[" * 200_000, "too_deep"),
    "200,000 closed brackets": ("[" * 200_000 + "]" * 200_000, "too_deep"),
    "nested objects": ('{"a":' * 100_000, "too_deep"),
    "5,000-digit integer": ("9" * 5_000, "big_integer"),
    "5,000-digit negative integer": ('{"n": -' + "9" * 5_000 + "}", "big_integer"),
    "2**53": (str(2**53), "big_integer"),
    "2**64 as a float": ("18446744073709551616.0", "big_integer"),
    "a million digits after the point": ("0." + "1" * 1_000_000, "too_long"),
    "too many values": ("[" + ",".join(["1"] * (MAX_ITEMS + 1)) + "]", "too_many"),
    "too many empty lists": ("[" + ",".join(["[[]]"] * 5_001) + "]", "too_many"),
    "nothing": ("", "not_json"),
    "two values": ("1 2", "not_json"),
    "trailing comma": ("[1,]", "not_json"),
    "comment": ("[1] // x", "not_json"),
    "single quotes": ("{'a': 1}", "not_json"),
    "raw control character": ('"\x00"', "not_json"),
    "unterminated string": ('"abc', "not_json"),
    "closing bracket": ("]" * 1000, "not_json"),
    "leading zero": ("01", "not_json"),
    "not text": (None, "not_json"),
}


@pytest.mark.parametrize("name", HOSTILE_TEXT)
def test_hostile_text_is_refused_with_its_code(name: str) -> None:
    text, code = HOSTILE_TEXT[name]
    with pytest.raises(HostileInputError) as caught:
        parse_strict(text)  # type: ignore[arg-type]  # one case is no text at all
    assert caught.value.code == code


def test_the_error_repeats_none_of_the_input() -> None:
    for text in ('{"SECRET": 1, "SECRET": 2}', '["SECRET', '{"SECRET": NaN}', '"SECRET\\ud800"'):
        with pytest.raises(HostileInputError) as caught:
            parse_strict(text)
        chain = [caught.value, caught.value.__cause__]
        assert not any("SECRET" in str(error) for error in chain)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "unit", ['"', '\\"', "\\", ",", ":", " ", "]", "1", "-", "[]", '"",', '{"":', "\u20ac", "e", "\\u0041"]
)
def test_a_megabyte_of_anything_is_bounded(unit: str) -> None:
    text = (unit * MAX_BYTES)[: MAX_BYTES // len(unit.encode())]
    for candidate in (text, '"' + text[:-2]):
        with bounded(), pytest.raises(HostileInputError):  # a quadratic scan of a megabyte would take minutes
            parse_strict(candidate)


def test_limits_are_inclusive() -> None:
    assert parse_strict("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    assert parse_strict('"' + "a" * MAX_STRING + '"') == "a" * MAX_STRING
    assert parse_strict(str(MAX_INTEGER)) == MAX_INTEGER
    assert parse_strict(str(-MAX_INTEGER)) == -MAX_INTEGER
    assert len(parse_strict("[" + ",".join(["1"] * (MAX_ITEMS - 1)) + "]")) == MAX_ITEMS - 1  # type: ignore[arg-type]
    with pytest.raises(HostileInputError, match="nested"):
        parse_strict("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_brackets_and_commas_inside_strings_do_not_count() -> None:
    text = json.dumps({"body": "[{," * 20_000 + '\\"' * 100 + "\\"})
    assert parse_strict(text) == json.loads(text)


def test_what_is_unusual_but_fine() -> None:
    assert parse_strict('"\\u0000"') == "\x00"
    assert parse_strict('"\\ud83d\\ude00"') == "\U0001f600"
    assert parse_strict(b' {"a": [true, null, 1.5e3]} ') == {"a": [True, None, 1500.0]}
    assert parse_strict("1e300") == 1e300
    assert str(parse_strict("-0.0")) == "0.0"
    assert str(parse_strict("-0")) == "0"


@given(PLAIN)
def test_plain_json_comes_back_as_it_is(value: JSON) -> None:
    assert repr(parse_strict(json.dumps(value))) == repr(check_value(value))
    assert parse_strict(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.text() | st.binary())
def test_no_other_error_ever_leaves(text: str | bytes) -> None:
    with contextlib.suppress(HostileInputError):
        parse_strict(text)


class Word(enum.StrEnum):
    ONE = "one"


class Number(enum.IntEnum):
    ONE = 1


def test_subclasses_lose_their_class_and_bool_stays_bool() -> None:
    value = check_value({Word.ONE: [Word.ONE, Number.ONE, True, 1, 1.0], "t": (1, 2), "m": MappingProxyType({"a": 1})})
    assert value == {"one": ["one", 1, True, 1, 1.0], "t": [1, 2], "m": {"a": 1}}
    assert isinstance(value, dict)
    assert [type(item) for item in value["one"]] == [str, int, bool, int, float]  # type: ignore[union-attr]
    assert type(value["m"]) is dict


HOSTILE_VALUES: list[tuple[object, str]] = [
    (b"bytes", "not_json"),
    ({"a": b"bytes"}, "not_json"),
    ({1: "a"}, "not_json"),
    ({None: "a"}, "not_json"),
    ({True: "a"}, "not_json"),
    ({("a",): 1}, "not_json"),
    ({b"a": 1}, "not_json"),
    ({1, 2}, "not_json"),
    (object(), "not_json"),
    (1j, "not_json"),
    (float("nan"), "not_finite"),
    ([float("-inf")], "not_finite"),
    (10**5000, "big_integer"),
    (2**53, "big_integer"),
    (-(2**53), "big_integer"),
    (1e20, "big_integer"),
    ("\ud800", "surrogate"),
    ({"\udc00": 1}, "surrogate"),
    ("a" * 10_000_000, "too_long"),
    (["a" * MAX_STRING] * 5, "too_long"),
    ([0] * (MAX_ITEMS + 1), "too_many"),
]


@pytest.mark.parametrize("number", range(len(HOSTILE_VALUES)))
def test_hostile_values_are_refused_with_their_code(number: int) -> None:
    value, code = HOSTILE_VALUES[number]
    with pytest.raises(HostileInputError) as caught:
        check_value(value)
    assert caught.value.code == code


def test_a_value_that_holds_itself_is_too_deep() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(HostileInputError) as caught:
        check_value(loop)
    assert caught.value.code == "too_deep"


def test_a_nearly_full_stack_is_no_recursion_error() -> None:
    codes: set[str] = set()

    def descend() -> None:
        try:
            check_value([[[[[[[[1]]]]]]]])
        except HostileInputError as error:
            codes.add(error.code)
        descend()

    with pytest.raises(RecursionError):  # the test's own descent
        descend()
    assert codes <= {"too_deep"}


def test_the_copy_shares_nothing() -> None:
    inner = {"a": [1]}
    copy = check_value({"x": inner})
    inner["a"].append(2)
    assert copy == {"x": {"a": [1]}}
