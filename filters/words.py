"""The user's own words: which parts of a message they are, and what a mention in them means.

Guarantees: quoted, pasted, very long and structured parts of a message lose the user's authority; a mention under a
negation, or one that says where something comes *from*, is told apart from one that names a destination. Everything
here can only make a decision stricter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from checkvalve.filters.vocabulary import (
    DESTINATION_MARKERS,
    DETERMINERS,
    LINKING,
    NEGATIONS,
    QUANTIFIERS,
    REPLY,
    SOURCE_MARKERS,
    STOPWORDS,
)

# Above this many words one paragraph is taken as pasted: people do not type it into an agent's prompt.
MAX_OWN_PARAGRAPH_WORDS: Final = 250

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)")
_PASTED_LINE: Final = re.compile(
    r"^[ \t]*(?:>|\|.*\|[ \t]*$|<\/?[a-z!]|[-=_]{5,}\s*(?:forwarded|original|begin)\b)", re.IGNORECASE
)
_HEADER: Final = re.compile(
    r"^(?:from|to|subject|date|cc|sent|von|an|betreff|发件人|收件人|主题)\s*:\s*\S", re.IGNORECASE
)
_TOKEN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SENTENCE_END: Final = re.compile(r"[.!?;\n。！？；](?=\s|$|[\u3040-\u9fff])")
_CLAUSE_END: Final = re.compile(r"[.!?;\n。！？；](?=\s|$|[\u3040-\u9fff])|\bbut\b|\binstead\b|\bjust\b|\bonly\b")


@dataclass(frozen=True, slots=True)
class Mention:
    """What the words around a mention say about it."""

    negated: bool
    as_source: bool
    marked: bool
    sentence: str


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of normalised ``text`` with their offsets; each Han, kana or hangul sign is a word of its own."""
    for match in _TOKEN.finditer(text):
        yield match[0], match.start(), match.end()


def own_parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a user's message in order, each with whether it is in the user's own words."""
    own: list[str] = []
    pasted: list[str] = []
    for line, foreign in _lines(text):
        # What is left out becomes blanks of the same length, so that byte ranges stay those of the whole message.
        blank = " " * len(line.encode("utf-8", "surrogatepass"))
        own.append(blank if foreign else line)
        pasted.append(line if foreign else blank)
    for kept, label in ((own, True), (pasted, False)):
        if any(line.strip() for line in kept):
            yield "\n".join(kept), label


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is foreign: fenced, quoted, structured, mail-like or too long to be typed.

    A mail header of two lines starts a pasted mail, which lasts to the end of the message.
    """
    fenced = structured = mail = False
    previous = ""
    for line in text.split("\n"):
        fence = bool(_FENCE.match(line))
        header = bool(_HEADER.match(line))
        mail = mail or (header and bool(_HEADER.match(previous)))
        structured = structured or line.strip() in {"{", "["}
        long = len(line.split()) > MAX_OWN_PARAGRAPH_WORDS
        yield line, fenced or fence or structured or mail or header or long or bool(_PASTED_LINE.match(line))
        structured = structured and not line.strip().startswith(("}", "]"))
        fenced = fenced ^ fence
        previous = line


def stem(word: str) -> str:
    """Return a crude English stem, enough to see "emails", "emailed" and "emailing" as one word."""
    for suffix in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004 - shorter stems collide
            return word[: -len(suffix)] + ("y" if suffix == "ies" else "")
    return word


def mention(text: str, start: int, end: int, kind: str) -> Mention:
    """Read the words around ``text[start:end]`` (both normalised) for negation, direction and marking."""
    clause_start = 0
    for match in _CLAUSE_END.finditer(text, max(0, start - 400), start):
        clause_start = match.end()
    before = [word for word, *_ in tokens(text[clause_start:start])]
    near = before[-12:]
    as_source = bool(SOURCE_MARKERS & set(before[-3:])) and not any(
        word in {"to", "for", "with"} for word in before[-2:]
    )
    replying = any(word in REPLY for word, *_ in tokens(text))
    return Mention(
        negated=any(word in NEGATIONS for word in near),
        as_source=as_source and not replying,
        marked=_is_marked(text, start, end, kind),
        sentence=_sentence(text, start, end),
    )


def _sentence(text: str, start: int, end: int) -> str:
    """Return the sentence around ``text[start:end]``, at most 400 characters to either side."""
    low, high = max(0, start - 400), min(len(text), end + 400)
    first = max((match.end() for match in _SENTENCE_END.finditer(text, low, start)), default=low)
    stop = _SENTENCE_END.search(text, end, high)
    return text[first : stop.start() if stop else high]


def _is_marked(text: str, start: int, end: int, kind: str) -> bool:
    around = text[max(0, start - 1) : start], text[end : end + 1]
    if around[0] in {"#", "@"} or (
        around[0] in {"'", '"', "<", "(", "["} and around[1] in {"'", '"', ">", ")", "]", ",", "."}
    ):
        return True
    noun = kind.rpartition(":")[2]
    left = [word for word, *_ in tokens(text[max(0, start - 60) : start])][-4:]
    right = [word for word, *_ in tokens(text[end : end + 30])][:2]
    while left and left[-1] in LINKING and left[-1] not in {"id", "number", "no", "nr"}:
        left.pop()
    beside = (
        set(left[-1:])
        | ({left[-2]} if len(left) > 1 and left[-1] in {"id", "number", "no", "nr"} else set())
        | set(right[:1])
    )
    return bool({stem(word) for word in beside} & {stem(noun), "id", "number"})


def is_evidence(value: str, kind: str, *, marked: bool, capitalised: bool) -> bool:
    """Say whether mentioning ``value`` is enough to mean it: short or common words prove nothing by accident.

    ``value`` is normalised. A number never names a record by itself: it needs its noun or the word "id".
    """
    family = kind.partition(":")[0]
    if family == "id" or (kind == "text" and value.isdecimal()):
        return marked
    if family in {"email", "url", "host", "account", "phone", "number", "date", "path"}:
        return True
    found = [word for word, *_ in tokens(value)]
    if len(found) == 1:
        word = found[0]
        return marked or (len(word) >= 3 and not word.isdecimal() and (word not in STOPWORDS or capitalised))  # noqa: PLR2004
    return sum(len(word) for word in found) >= 3  # noqa: PLR2004


def describes(text: str, verbs: Iterable[str]) -> bool:
    """Say whether a sentence of ``text`` that asks for an effect describes a destination instead of naming it.

    "Send it to the client", "invite everyone": then a destination may come from a record. "Tell Ann" describes nobody.
    """
    for sentence in _SENTENCE_END.split(text):
        said = [word for word, *_ in tokens(sentence)]
        after_marker = any(one in DESTINATION_MARKERS and two in DETERMINERS for one, two in pairwise(said))
        if (after_marker or QUANTIFIERS & set(said)) and asks_for(sentence, verbs, ()):
            return True
    return False


def asks_for(text: str, verbs: Iterable[str], nouns: Iterable[str]) -> bool:
    """Say whether ``text`` (normalised words of the user) has one of ``verbs`` unnegated, and one of ``nouns``.

    An empty list of verbs or nouns asks for nothing special and is fulfilled.
    """
    spans = list(tokens(text))
    stems = {stem(word) for word, *_ in spans}
    wanted = {stem(verb.casefold()) for verb in verbs if " " not in verb}
    phrases = [" ".join(stem(word) for word, *_ in tokens(verb.casefold())) for verb in verbs if " " in verb]
    joined = " ".join(stem(word) for word, *_ in spans)
    hit = not (wanted or phrases) or any(f" {phrase} " in f" {joined} " for phrase in phrases)
    if not hit:
        hits = [(start, end) for word, start, end in spans if stem(word) in wanted]
        hit = any(not mention(text, start, end, "text").negated for start, end in hits)
    things = {stem(noun.casefold()) for noun in nouns}
    return hit and (not things or bool(things & stems))
