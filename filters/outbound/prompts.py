"""Text of the deployer's instructions in what leaves: runs of words that stand in a prompt.

A run is :data:`RUN` words in a row, compared without letter case, punctuation and look-alike forms; read forwards,
backwards, in ROT13, and inside Base64 and hexadecimal. Guarantees: linear; a translated or retold prompt is not found,
and nothing of a prompt is printed. Canaries are registered values (``filters.secrets.registered``), not text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from checkvalve.filters.normalise import normalise
from checkvalve.filters.words import tokens

RUN: Final = 8
"""Words in a row that do not agree by accident."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{32,8192}={0,2}")

Words = list[tuple[str, int, int]]


class PromptText:
    """The instructions whose wording must not leave."""

    def __init__(self, prompts: Iterable[str] = (), *, run: int = RUN) -> None:
        """Remember the runs of ``prompts``; one of fewer words than ``run`` is not protected."""
        self._run = run
        written = [form for prompt in prompts for form in (prompt, prompt[::-1], codecs.encode(prompt, "rot13"))]
        shingles = [shingle for form in written for shingle in self._shingles([one[0] for one in _words(form)])]
        self._runs = set(map(hash, shingles))
        self._vocabulary = frozenset(word for shingle in shingles for word in shingle)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __repr__(self) -> str:
        return f"<PromptText, {len(self._runs)} runs>"

    def find(self, text: str, before: Sequence[str] = ()) -> list[tuple[int, int]]:
        """Return the stretches of ``text`` that repeat a prompt, in order and without overlaps, in characters.

        ``before`` are the words that stand before it (:meth:`last_words`); a run that began there counts from 0.
        """
        if not self._runs:
            return []
        encoded = (match.span() for match in _ENCODED.finditer(text) if any(self._in(_words(_decoded(match[0])), ())))
        return _joined([*self._in(_words(text), before), *encoded])

    def last_words(self, text: str, before: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the words that a run may have begun with: the last ones of ``text``, and of what stood before it."""
        if not self._runs:
            return ()
        return (*before, *(word for word, *_ in _words(text)[1 - self._run :]))[1 - self._run :]

    def _in(self, words: Words, before: Sequence[str]) -> Iterator[tuple[int, int]]:
        if not self._can_repeat(before, words):
            return
        shift = len(before)
        for number, shingle in enumerate(self._shingles([*before, *(word for word, *_ in words)])):
            last = number + self._run - 1 - shift
            if last >= 0 and hash(shingle) in self._runs:
                yield words[number - shift][1] if number >= shift else 0, words[last][2]

    def _can_repeat(self, before: Sequence[str], words: Words) -> bool:
        """Say whether enough words in a row are words of a prompt at all; mostly they are not, and this is fast."""
        row, known = 0, self._vocabulary
        for word in before:
            row = row + 1 if word in known else 0
        for word, _, _ in words:
            row = row + 1 if word in known else 0
            if row == self._run:
                return True
        return False

    def _shingles(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        return (tuple(words[start : start + self._run]) for start in range(len(words) - self._run + 1))


NO_PROMPT: Final = PromptText()
"""No instructions to protect."""


@lru_cache(maxsize=8)
def _words(text: str) -> Words:
    """Return the words of ``text`` with their places in it; nobody changes the list."""
    normal = normalise(text)
    if normal.offsets is None:
        return list(tokens(normal.text))
    places = normal.offsets
    return [(word, places[start], places[end - 1] + 1) for word, start, end in tokens(normal.text)]


def _decoded(text: str) -> str:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    for decode in (bytes.fromhex, lambda data: base64.b64decode(data + "=" * (-len(data) % 4), validate=True)):
        try:
            return decode(plain).decode()
        except (ValueError, binascii.Error):
            continue
    return ""


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
