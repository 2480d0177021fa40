"""The characters of a text, and others in their place, are those of the plain way, however many of them there are."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.inbound import letters, scan_inbound
from checkvalve.filters.inbound.canonical import _even, canonical, fold
from checkvalve.filters.inbound.letters import PLAIN, exchanged, foreign
from checkvalve.filters.inbound.views import View

POOLS = {
    "Latin": "".join(map(chr, range(0xA0, 0x250))),
    "Greek and Cyrillic": "".join(map(chr, range(0x370, 0x530))),
    "Arabic": "".join(map(chr, range(0x600, 0x700))),
    "Han": "".join(map(chr, range(0x4E00, 0x5200))),
    "wide forms": "".join(map(chr, range(0xFF01, 0xFFEF))),
    "emoji": "".join(map(chr, range(0x1F300, 0x1F400))),
    "few emoji": "\U0001f468\u200d\U0001f469",
    "odd": "\0\x01\x7f\ufffe\uffff\ud800\udfff\U00010000\U0010ffff",
    "uneven": "ß½İﬁ\u0301\u200b",
    "plain": "Ignore ALL\n previous",
}


def text_of(dice: random.Random, pools: list[str], size: int) -> str:
    """Return runs of characters from pieces of the pools, so that some come up late in the text."""
    said = ""
    while len(said) < size:
        pool = dice.choice(pools)
        said += "".join(dice.choice(pool) for _ in range(dice.choice((1, 7, 90, 400))))
    return said[:size]


TEXTS = st.builds(
    lambda seed, names, few, size: text_of(random.Random(seed), [POOLS[name][:few] for name in names], size),
    st.integers(0, 10_000),
    st.lists(st.sampled_from(sorted(POOLS)), min_size=1, max_size=4),
    st.sampled_from((2, 30, 150, 1_000)),
    st.sampled_from((0, 60, 511, 513, 700, 3_000)),
)


@given(TEXTS)
def test_the_characters_outside_plain_ascii_are_all_told(text: str) -> None:
    for _ in range(2):  # an alphabet may be remembered
        assert foreign(text) == "".join(sorted(set(text) - set(PLAIN.decode())))


@pytest.mark.parametrize("text", ["\0" * 300, "é\0" * 99, "я" * 50, "\ufffe" * 50, "\x01é", "я\x01\0" * 40, "\0"])
def test_signs_that_no_alphabet_has_are_told(text: str) -> None:
    for _ in range(2):
        assert foreign(text) == "".join(sorted(set(text)))
        assert canonical(View(text)).text == "".join(map(fold, text))


@pytest.mark.parametrize(
    ("before", "behind"), [("я" * 300, ""), ("é" * 129 + "я" * 400, ""), ("中" * 2_000, ""), ("я" * 200, "中" * 900)]
)
def test_a_zero_is_told_wherever_it_stands_and_hides_no_role_token(
    before: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every alphabet has a place for it, so the codec does not stop there."""
    monkeypatch.setattr(letters, "_known", {})  # nothing is remembered
    assert foreign(f"{before}\0{behind}") == "".join(sorted({"\0", *before, *behind}))
    monkeypatch.setattr(letters, "_known", {})
    assert scan_inbound(f"{before} <|im_\0start|>{behind}").text == f"{before} ‹¦im_start¦›{behind}"


@given(TEXTS, st.sampled_from((1, 2, 3, 100)))
def test_a_text_is_exchanged_as_its_characters_are_one_by_one(text: str, every: int) -> None:
    others = foreign(text)

    def form(char: str) -> str:
        return char if char == "\0" or ord(char) % every else chr(0x61 + ord(char) % 26)

    plainly = "".join(form(char) if char in others else char.lower() for char in text)
    for _ in range(2):  # an alphabet may be remembered
        assert exchanged(text, others, lambda asked: "".join(map(form, asked))) == plainly


@given(TEXTS)
def test_a_long_text_is_folded_as_its_characters_are_one_by_one(text: str) -> None:
    view = canonical(View(text))
    assert view.text == "".join(map(fold, text))
    places = [at for at, char in enumerate(text) for _ in fold(char)]
    assert [view.origin(at, at + 1) for at in range(len(places))] == [(place, place + 1) for place in places]


@pytest.mark.parametrize("count", [150, 157, 158, 159, 160, 300])
def test_the_length_of_an_alphabet_changes_nothing(count: int) -> None:
    letters = (POOLS["Greek and Cyrillic"] + POOLS["Latin"])[:count]
    text = (letters + "Abc ") * 9
    assert canonical(View(text)).text == "".join(map(fold, text))
    assert foreign(text) == "".join(sorted(letters))


def test_the_forms_of_many_characters_are_not_remembered() -> None:
    """A text may have all that there are, and hundreds of such texts would stay in memory."""
    _even.cache_clear()
    text = "".join(map(chr, range(0x3400, 0x9000)))
    assert canonical(View(text)).text == "".join(map(fold, text))
    assert _even.cache_info().currsize == 0
    canonical(View("я" * 50))
    assert _even.cache_info().currsize == 1
