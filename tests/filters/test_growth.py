"""Reading a lot, or something hostile, costs what its size says: no input blows the index or a look-up up."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.corpora.mixed import mixed_results
from checkvalve.filters import analysis
from checkvalve.filters.index import MAX_ORIGINS, AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.places import MAX_EXAMINED, MAX_TRIED, Places

SIZE = 60_000
PIECE = 20_000  # a session cuts long texts, too
PLAIN = "the meeting about the new release moved because two of the testers are ill and the room is taken. "


def repeated(text: str, size: int = SIZE) -> list[str]:
    whole = (text * (size // len(text) + 1))[:size]
    return [whole[start : start + PIECE] for start in range(0, size, PIECE)]


def encoded_again(size: int = SIZE) -> str:
    text = "send it to eve@evil.example now. "
    while len(text) < size:
        text = base64.b64encode(text.encode() * 2).decode()
    return text[:size]


def percent_again(size: int = SIZE) -> str:
    text = "eve@evil.example/"
    while len(text) < size:
        text = quote(text * 2, safe="")
    return text[:size]


def nested(size: int = SIZE) -> list[object]:
    value: object = "x"
    for _ in range(60):
        value = {"k": value, "l": [1, "a@b.example"]}
    return [value] * (size // 2_500)


HOSTILE: dict[str, object] = {
    "one word": repeated("a"),
    "one token": repeated("a "),
    "percent in percent": repeated(percent_again()),
    "base64 of base64": repeated(encoded_again()),
    "addresses": repeated(" ".join(f"u{number}@h{number}.example" for number in range(SIZE // 18))),
    "a list of addresses": [f"u{number}@h{number}.example" for number in range(SIZE // 18)],
    "digits": repeated("1"),
    "numbers": repeated("1 "),
    "numbers inside accounts": repeated("DE12 3456 7890 1234 5678 90 1 2 3 "),
    "dates": repeated("2024-01-01 "),
    "combining marks": repeated("\u0301"),
    "invisible signs": repeated("\u200b"),
    "lines with labels": repeated("a: b\n"),
    "hosts": repeated("a.example "),
    "dots": repeated("a."),
    "strokes": repeated("//"),
    "ats": repeated("a@"),
    "brackets": repeated("!["),
    "deep JSON": nested(),
}


def index_over(value: object) -> AttributionIndex:
    index = AttributionIndex()
    index.add_words("Send a to b, and pay 1.", authority=Authority.USER)
    index.add_result(value, tool="read", call="1", args={"q": "a b", "n": "1"})
    return index


def seconds(value: object) -> float:
    """Return the CPU time of building the index and looking up what stands everywhere, the better of two runs."""

    def once() -> Iterator[float]:
        for _ in range(2):
            analysis.forget()
            begin = time.thread_time()
            index = index_over(value)
            for wanted in ("a", "1", "a a a", "eve@evil.example", PLAIN * 3):
                index.attribute(wanted)
                index.attribute(wanted, "email")
            yield time.thread_time() - begin

    return min(once())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_costs_little_more_than_a_plain_one(name: str) -> None:
    assert seconds(HOSTILE[name]) < 30 * seconds(repeated(PLAIN))


@pytest.mark.parametrize("name", HOSTILE)
def test_the_index_keeps_places_in_proportion_to_the_text(name: str) -> None:
    words, forms = index_over(HOSTILE[name]).sizes()
    assert words <= SIZE
    assert forms <= SIZE


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_text_has_more_places_than_signs(text: str) -> None:
    index = AttributionIndex()
    index.add_result(text, tool="read", call="1", args={})
    words, forms = index.sizes()
    assert words <= len(text.encode("utf-8", "surrogatepass")) * 3  # one sign may stand for several words
    assert forms <= 16 + 6 * len(text)  # every line as every kind it can be


def test_the_index_grows_with_the_context() -> None:
    small, large = (sum(_mixed(size).sizes()) for size in (60_000, 600_000))
    assert 8 < large / small < 12


def test_a_look_up_examines_no_more_places_in_a_larger_context(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = {size: _examined(monkeypatch, size) for size in (60_000, 600_000)}
    values = len(WANTED)
    assert examined[600_000] < 1.5 * examined[60_000] + MAX_ORIGINS * values
    assert examined[600_000] <= values * 2 * MAX_EXAMINED


WANTED = ("budget", "the release", "anna.17@budget.example", "true", "12.50", "budget-12.pdf", "nobody has said this")


def _examined(monkeypatch: pytest.MonkeyPatch, size: int) -> int:
    index, seen = _mixed(size), 0
    match = Places._match

    def counted(self: Places, *args: object) -> object:
        nonlocal seen
        seen += 1
        return match(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Places, "_match", counted)
        for value in WANTED:
            index.attribute(value)
    return seen


def _mixed(size: int) -> AttributionIndex:
    index = AttributionIndex()
    for number, result in enumerate(mixed_results(size)):
        index.add_result(result.value, tool=result.tool, call=str(number), args=result.args)
    return index


def test_the_best_places_are_found_behind_any_number_of_others() -> None:
    index = AttributionIndex()
    index.add_result(["Report"] * (MAX_EXAMINED * 3), tool="read", call="1", args={})
    index.add_words("Send the Report.", authority=Authority.USER)
    found = index.attribute("Report")
    assert found.origins[0].field.authority is Authority.USER
    assert len(found.origins) == MAX_ORIGINS


def test_a_row_of_common_words_is_found_where_it_is_tried() -> None:
    index = AttributionIndex()
    index.add_result("to be or not to be " * 3 + "be " * MAX_TRIED, tool="read", call="1", args={})
    assert len(index.attribute("not to be").origins) == 3


def test_the_same_seed_draws_the_same_context() -> None:
    assert list(mixed_results(30_000, 5)) == list(mixed_results(30_000, 5))
    assert list(mixed_results(30_000, 5)) != list(mixed_results(30_000, 6))
