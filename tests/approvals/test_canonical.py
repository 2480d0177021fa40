"""The digest that everything binds to: the same for equal values, another for any other."""

from __future__ import annotations

import random

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from checkvalve.approvals.canonical import canonical, digest, digest_bytes
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, MAX_INTEGER, check_value, parse_strict

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not 2**53 - 1 < abs(number) < 1e21)
    | TEXT
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=15
)


def shuffled(value: JSON, seed: int) -> JSON:
    if isinstance(value, dict):
        items = [(key, shuffled(item, seed)) for key, item in value.items()]
        random.Random(seed).shuffle(items)
        return dict(items)
    return [shuffled(item, seed) for item in value] if isinstance(value, list) else value


def paths(value: JSON) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        return [(key, *rest) for key, item in value.items() for rest in paths(item)]
    if isinstance(value, list) and value:
        return [(index, *rest) for index, item in enumerate(value) for rest in paths(item)]
    return [()]


def replaced(value: JSON, path: tuple[str | int, ...], new: JSON) -> JSON:
    if not path:
        return new
    if isinstance(value, dict):
        return {key: replaced(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    assert isinstance(value, list)
    return [replaced(item, path[1:], new) if index == path[0] else item for index, item in enumerate(value)]


@pytest.mark.claim("C2")
@given(VALUE)
def test_round_trip(value: JSON) -> None:
    form = canonical(check_value(value))
    assert canonical(parse_strict(form)) == form
    assert parse_strict(form) == value


@pytest.mark.claim("C2")
@given(
    VALUE | st.dictionaries(st.text(st.characters(codec="ascii")), st.text(st.characters(exclude_categories=["Cs"])))
)
def test_the_quick_way_writes_what_the_standard_says(value: JSON) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.claim("C2")
def test_every_character_is_escaped_as_the_standard_says() -> None:
    every: list[JSON] = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x11000))]
    assert canonical(every) == rfc8785.dumps(every)
    keys: dict[str, JSON] = dict.fromkeys(map(chr, range(128)), 1)
    assert canonical(keys) == rfc8785.dumps(keys)


@pytest.mark.claim("C2")
@given(st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-1, 1, places=8).map(float))
def test_floats_are_written_as_the_standard_says(value: float) -> None:
    assert canonical([value]) == rfc8785.dumps([value])


def test_subclasses_of_plain_types_are_written_as_before() -> None:
    class Word(str):
        __slots__ = ()

        def isascii(self) -> bool:
            return True

    class Number(int):
        def __repr__(self) -> str:
            return "nine"

    value: dict[str, JSON] = {Word("\U00010000"): [Word("a"), Number(9)], Word("\uffff"): (1, 2)}  # type: ignore[dict-item]
    assert canonical(value) == rfc8785.dumps(value) == '{"\U00010000":["a",9],"\uffff":[1,2]}'.encode()


@pytest.mark.claim("C2")
@given(VALUE, st.integers())
def test_the_order_of_keys_does_not_count(value: JSON, seed: int) -> None:
    assert digest(value) == digest(shuffled(value, seed))


@pytest.mark.claim("C2", "C4")
@given(VALUE, SCALAR, st.data())
def test_changing_any_leaf_changes_the_digest(value: JSON, new: JSON, data: st.DataObject) -> None:
    changed = replaced(value, data.draw(st.sampled_from(paths(value))), new)
    assume(not _same(changed, value))
    assert digest(changed) != digest(value)


def _same(first: JSON, second: JSON) -> bool:
    """Say whether the two differ only in writing one number as 1 or as 1.0, which JSON does not tell apart."""
    return repr(_as_float(first)) == repr(_as_float(second))


def _as_float(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _as_float(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_float(item) for item in value]
    return float(value) + 0.0 if isinstance(value, int) and not isinstance(value, bool) else value


def test_values_that_python_calls_equal_are_kept_apart() -> None:
    values: list[JSON] = [True, 1, "1", "true", [1], [True], None, "", 0, False, [], {}]
    assert len({digest(value) for value in values}) == len(values)
    assert digest({"a": True}) != digest({"a": 1})
    assert digest(0) == digest(-0.0) == digest(0.0)
    assert digest(1) == digest(1.0)


def test_known_answer() -> None:
    assert canonical({"b": [1.0, "\u20ac\x00"], "a": 1e21}) == '{"a":1e+21,"b":[1,"\u20ac\\u0000"]}'.encode()
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest_bytes(b"{}") == digest({})


def test_unicode_is_not_normalised() -> None:
    assert digest("\u00e9") != digest("e\u0301")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (2**53, "big_integer"),
        (float("nan"), "not_finite"),
        (float("inf"), "not_finite"),
        ("\ud800", "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ({1: 1}, "not_json"),
        (b"a", "not_json"),
        (object(), "not_json"),
    ],
)
def test_what_has_no_canonical_form(value: object, code: str) -> None:
    with pytest.raises(HostileInputError) as caught:
        canonical(value)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_depth_is_no_recursion_error() -> None:
    value: JSON = []
    for _ in range(10_000):
        value = [value]
    with pytest.raises(HostileInputError) as caught:
        canonical(value)
    assert caught.value.code == "too_deep"
