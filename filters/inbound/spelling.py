"""Key words of the patterns that were misspelt by one step, and words run together: read as what they stand for.

A step is a letter left out, doubled, or swapped with its neighbour. Only the few words without which the patterns do
not match are mended, so ordinary misspellings stay what they are. Guarantees: linear, one pass of one alternation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase
from typing import Final

from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.outcomes import Channel


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final = _names(
    "ignore disregard forget override bypass previous prior above earlier instructions instruction prompt system "
    "guidelines directives reveal password passwords credentials secret assistant user without telling forward"
)
_ORDINARY: Final = _names(
    "sytem forge forgot forgets priors abov promt user uses sue us ser use usr above secrets secrete foward prompts "
    "credential reveals rior prio pior over"
)
"""Variants that are words of their own, or too common as ordinary slips."""
RUN_TOGETHER: Final = "run-together"
_SHORTEST: Final = 5
_PIVOTS: Final = ("ignore", "disregard", "previous", "instructions", "instruction", "prompt", "system")
"""Of these a letter too many or a wrong one inside the word is mended, too: without them most patterns are blind."""


def _variants(word: str) -> set[str]:
    swapped = {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
    dropped = {word[:at] + word[at + 1 :] for at in range(1, len(word))}
    doubled = {word[:at] + word[at] + word[at:] for at in range(len(word))}
    edited: set[str] = set()
    if word in _PIVOTS:
        inside = range(1, len(word))
        edited = {
            word[:at] + letter + word[at + keep :]
            for at in inside
            for letter in ascii_lowercase
            for keep in (0, 1)
            if at + keep < len(word)
        }
    return (
        {item for item in swapped | dropped | doubled | edited if len(item) >= _SHORTEST} - {word} - _ORDINARY - _WORDS
    )


_MEANT: Final = {variant: word for word in _WORDS for variant in _variants(word)}
_SLIPS: Final = rf"\b(?:{'|'.join(sorted(_MEANT))})\b"
_WRITTEN: Final = frozenset(word.encode() for word in _MEANT)
_WORD: Final = re.compile(r"\w+", re.ASCII)
_NO_WORD: Final = bytes(code if _WORD.match(chr(code)) else 32 for code in range(256))
"""Bytes as they are where RE2 takes them for a part of a word, and blanks elsewhere."""


_RUN: Final = Pattern(r"[a-z]{24,}")


def _single() -> list[str]:
    """Return a pattern for each slip: the bare word, which is found at once, where no right word holds it."""
    bare = sorted(word for word in _MEANT if not any(word in right for right in _WORDS))
    held = sorted(_MEANT.keys() - set(bare))
    return [*bare, *(rf"\b{word}\b" for word in held)]


_ODD: Final = PatternSet((_SLIPS, _RUN.pattern), swift=True, instead={0: _single()})
"""Both at once: most texts have neither."""


def mendings(view: View) -> Iterator[View]:
    """Yield canonical ``view`` with its slips mended, and with words that run together parted, where there are any."""
    found = _ODD.may_match(view.text)
    for number, mend in ((0, mended), (1, parted)):
        if number in found and (view_mended := mend(view)) is not None:
            yield view_mended


def mended(view: View) -> View | None:
    """Return canonical ``view`` with its slips mended, or nothing where there are none."""
    words = view.text.encode("utf-8", "surrogatepass").translate(_NO_WORD).split()
    if _WRITTEN.isdisjoint(words):
        return None
    builder, position = Builder(view), 0
    for found in _WORD.finditer(view.text):
        meant = _MEANT.get(found[0])
        if meant is not None:
            start, end = found.span()
            builder.copy(position, start)
            builder.put(meant, start, end)
            position = end
    builder.copy(position, len(view.text))
    return builder.view(Channel.DECODED, "misspelt")


_PARTS: Final = Pattern(
    "|".join(
        sorted(
            _WORDS | _names("all every any your the and send from this them then instead follow hidden rules"),
            key=len,
            reverse=True,
        )
    )
)


def parted(view: View) -> View | None:
    """Return canonical ``view`` with blanks around key words in letters that run together, or nothing without such."""
    builder, position = Builder(view), 0
    for run in _RUN.finditer(view.text):
        for found in _PARTS.finditer(view.text[run.start() : run.end()]):
            start, end = run.start() + found.start(), run.start() + found.end()
            builder.copy(position, start)
            builder.put(" ", start, start)
            builder.copy(start, end)
            builder.put(" ", end, end)
            position = end
    if not position:
        return None
    builder.copy(position, len(view.text))
    return builder.view(Channel.DECODED, RUN_TOGETHER)
