"""Normal text compares, and every match can be shown where it really stands."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.normalise import is_invisible, normalise

texts = st.text(alphabet=st.characters(codec="utf-8"))


@given(texts, st.data())
def test_every_stretch_maps_back_into_the_original_bytes(text: str, data: st.DataObject) -> None:
    normal = normalise(text)
    start = data.draw(st.integers(0, len(normal.text)))
    end = data.draw(st.integers(start, len(normal.text)))
    first, last = normal.origin_of(start, end)
    raw = text.encode()
    assert 0 <= first <= last <= len(raw)
    raw[first:last].decode()  # never cuts through a character


@given(texts)
def test_the_whole_maps_to_the_whole(text: str) -> None:
    normal = normalise(text)
    if normal.text:
        assert normal.source(0, len(normal.text)).endswith(text[-1:]) or is_invisible(text[-1])


def test_spellings_that_look_alike_become_equal() -> None:
    assert normalise("Ｂob’s “file” – a").text == normalise('bob\'s "file" - a').text
    assert normalise("p\u200bay\u2063ment").text == "payment"
    assert normalise("tag" + "".join(chr(0xE0000 + ord(char)) for char in "hidden")).text == "tag"


def test_a_confusable_letter_stays_different() -> None:
    assert normalise("аdmin").text != "admin"  # Cyrillic a


def test_invisible_covers_what_isprintable_misses() -> None:
    for code in (0x034F, 0x115F, 0x3164, 0xFE0F, 0xE0100, 0x202E, 0x200B, 0xE0041, 0xFFA0, 0x2028):
        assert is_invisible(chr(code)), hex(code)
    for char in "a \n\té漢😀":
        assert not is_invisible(char), unicodedata.name(char, char)
