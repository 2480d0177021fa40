"""Tokens are counted without a network, exactly where that is possible, and never too low."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters import tokens
from checkvalve.filters.tokens import CHUNK, MAX_CHARS, count_tokens, is_exact
from tests.effort import bounded


@pytest.mark.parametrize(
    ("text", "vocabulary", "count"),
    [
        ("", "o200k_base", 0),
        ("hello world", "o200k_base", 2),
        ("hello world", "cl100k_base", 2),
        ("tiktoken is great!", "cl100k_base", 6),
        ("<|im_start|>", "o200k_base", 6),
        ("123456", "o200k_base", 2),
    ],
)
def test_b04_counts_are_the_published_ones_and_need_no_network(
    text: str, vocabulary: tokens.Vocabulary, count: int
) -> None:
    assert is_exact(vocabulary)
    assert count_tokens(text, vocabulary) == count


def test_special_marks_of_a_hostile_text_are_plain_text_and_lone_surrogates_are_counted() -> None:
    assert count_tokens("a<|endoftext|>b<|endofprompt|>") > 8
    assert count_tokens("x\ud800y") > 0


@pytest.mark.parametrize("sign", ["a", "_", "^", " ", "\n", "=", "\u4e00"])
def test_b01_b02_one_long_run_of_a_sign_takes_no_longer_than_prose(sign: str) -> None:
    count_tokens("warm")
    with bounded():
        count = count_tokens(sign * 500_000)
    assert 0 < count <= 500_000 * 3


def test_beyond_the_limit_the_bytes_are_the_bound() -> None:
    assert count_tokens("é" * (MAX_CHARS + 1)) == 2 * (MAX_CHARS + 1)


@given(st.text(max_size=200))
def test_no_text_has_more_tokens_than_bytes(text: str) -> None:
    assert count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_chunks_only_add() -> None:
    text = "The quick brown fox. " * (2 * CHUNK // 21)
    whole = len(tokens._encoder("o200k_base")(text))
    assert whole <= count_tokens(text) <= whole + 4


def test_without_the_vocabulary_or_with_a_changed_one_the_bytes_are_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens._encoder.cache_clear()
    monkeypatch.setattr(tokens, "_PACKAGE", "no_such_package")
    assert not is_exact()
    assert count_tokens("hello") == 5
    monkeypatch.undo()
    with pytest.raises(ValueError, match="not the published one"):
        tokens._shipped("https://host.example/cl100k_base.tiktoken", "0" * 64)


def test_b02_a_panic_of_native_code_is_an_answer_and_an_interrupt_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        pass

    def panics(_name: str) -> None:
        raise Panic

    def stops(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tokens, "_encoder", panics)
    assert count_tokens("hello") == 5
    monkeypatch.setattr(tokens, "_encoder", stops)
    with pytest.raises(KeyboardInterrupt):
        count_tokens("hello")
