"""Reading the words around a mention: is it negated, where does it point, what clause does it stand in?

Guarantees: pure and bounded; everything here decides only whether a mention may count *for* something, so a form of
words that it does not know leads to a question, never to an effect. Addresses and links are blanked before reading,
so that the "de" of "firma.de" is no preposition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from checkvalve.filters.values import EMAIL, HOST, NUMBER, TRAILING, URL
from checkvalve.filters.vocabulary import (
    ADDRESS_NOUNS,
    AFTER_SUMS,
    BEFORE_OTHERS,
    CURRENCIES,
    DETERMINERS,
    LINKING,
    MONTHS,
    NEGATIONS,
    QUESTION_WORDS,
    RECORD_NOUNS,
    RECORD_TYPES,
    SOURCE_MARKERS,
)
from checkvalve.filters.words import stem, tokens

_REACH: Final = 400  # characters read to either side: no clause that matters is longer
MASK: Final = "\u02e3"
"""What stands for the letters of an address or link: a letter, so that there is still a word."""
_SENTENCE_END: Final = re.compile(
    r"(?:[!?;\n。！？；]|(?<!\d)\.|(?<=\d)\.(?!\s(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[kc]t|nov|de[cz])))"
    r"(?=\s|$|[\u3040-\u9fff])"
)
_CLAUSE_END: Final = re.compile(
    r"[:;]\s|,\s+(?=(?:then|now|but|and|while|keep|leave|so|because|however|except|don|do|not|never)\b)"
    r"|\b(?:and|und|et|y) (?=(?:keep|leave|retain|preserve|spare|don|do not|not|never"
    r"|behalte|lass|garde|laisse|conserva|deja|guarda)\b)"
    r"|\b(?:but|then|whereas|aber|sondern|dann)\b|[，、¿]|但|然后"
)
_NOT: Final = re.compile(r"\bn['’]?t\b|n['’]t\b|\bn['’](?=[^\W\d_])")
_EXCEPT: Final = re.compile(
    r"\b(?:all|alle[nsm]?|alles|every\w*|any\w*|each|the (?:rest|others)|tou[st]|toutes|todos?|todas)\b[^.!?]{0,80}"
    r"\b(?:but|save|minus|less|moins|menos|bis auf|à part)\b"
    r"|\b(?:other than|apart from|aside from|bis auf|à part|save for)\b|以外|之外"
)
"""What takes something out of a group: "everybody *but* Bob"."""
_SIGNS: Final = ("€", "$", "£", "¥", "₹", "元", "块", "欧", "美")
_DENIALS: Final = frozenset({"not", "never", "nicht", "nichts", "nie", "kein"})
_LEAVING: Final = frozenset(
    {"leave", "leaving", "keep", "keeping", "let", "lass", "lasst", "laisse", "laissez", "deja"}
)
_ALONE: Final = frozenset(
    {"alone", "out", "be", "aside", "unchanged", "untouched", "away", "allein", "aus", "ruhe", "tranquille", "paz"}
)
"""What one says of somebody whom one wants left out of it."""
_COMPARISONS: Final = frozenset({"than", "als"})
_NEAR: Final = 4  # words behind a mention in which a denial still belongs to it


@dataclass(frozen=True, slots=True)
class Mention:
    """What the words around a mention say. ``before`` and ``after`` are the rest of its clause, normalised."""

    before: str = ""
    after: str = ""
    sentence: str = ""
    negated: bool = False
    as_source: bool = False
    marked: bool = False
    quoted: bool = False
    question: bool = False
    currency: bool = False
    numbered: bool = False
    cited: bool = False


@lru_cache(maxsize=64)
def mask(text: str) -> str:
    """Return ``text`` with every address and link blanked, at the same length."""
    for pattern in (EMAIL, URL, HOST):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Blank a link, but not the sign that ends the sentence around it."""
    bare = match[0].rstrip(TRAILING)
    return MASK * len(bare) + match[0][len(bare) :]


def sentences(text: str) -> list[str]:
    """Return the sentences of normalised ``text``, each with the sign it ends in."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        found.append(text[start : match.end()])
        start = match.end()
    return [*found, text[start:]]


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence."""
    return _CLAUSE_END.split(sentence)


def has_currency(text: str) -> bool:
    """Say whether some number of normalised ``text`` carries a currency."""
    return any(_has_currency(text, match.start(), match.end()) for match in NUMBER.finditer(text))


def is_question(sentence: str) -> bool:
    """Say whether a sentence only asks for an answer: "did I pay?", not "can you pay?"."""
    first = next((word for word, *_ in tokens(sentence)), "")
    return sentence.rstrip().endswith(("?", "？")) and first in QUESTION_WORDS


def is_sum(seen: Mention) -> bool:
    """Say whether a number without a currency stands where a sum stands: no time, date, share, count or place."""
    before, after = seen.before.rstrip(), seen.after
    if (
        seen.numbered
        or after.startswith(("%", ":", "°"))
        or after.lstrip().startswith("%")
        or before[-1:] in {":", "#"}
    ):
        return before[-1:] == ":" and seen.before.endswith(" ") and not after.startswith(("%", ":"))
    left = [word for word, *_ in tokens(before)][-1:]
    right = [word for word, *_ in tokens(after)][:1]
    if left and (left[0] in BEFORE_OTHERS or _is_month(left[0])):
        return False
    near = after.lstrip()[:1]
    return not (right and near.isalnum()) or right[0] in AFTER_SUMS


def has_sum(clause: str) -> bool:
    """Say whether a clause (normalised) holds a number that stands where a sum stands."""
    return any(is_sum(mention(clause, *match.span(), "number")) for match in NUMBER.finditer(mask(clause)))


def _is_month(word: str) -> bool:
    return len(word) >= 3 and any(name.startswith(word) for name in MONTHS)  # noqa: PLR2004 - "mar", "dec"


def is_negated(before: str) -> bool:
    """Say whether the words before a mention, in its clause, negate it."""
    return any(word in NEGATIONS for word, *_ in tokens(before)) or bool(_NOT.search(before) or _EXCEPT.search(before))


def mention(text: str, start: int, end: int, kind: str) -> Mention:
    """Read what stands around ``text[start:end]``; ``text`` is normalised and masked, but for the mention itself."""
    low, high = max(0, start - _REACH), min(len(text), end + _REACH)
    first = max((match.end() for match in _SENTENCE_END.finditer(text, low, start)), default=low)
    stop = _SENTENCE_END.search(text, end, high)
    last = stop.end() if stop else high
    before = _CLAUSE_END.split(text[first:start])[-1]
    after = _CLAUSE_END.split(text[end:last])[0]
    sentence = text[first:last]
    said = [word for word, *_ in tokens(before)]
    return Mention(
        before=before,
        after=after,
        sentence=sentence,
        negated=is_negated(before) or _is_denied(said, after),
        as_source=_is_source(said),
        marked=_is_marked(text, start, end, kind),
        quoted=_is_quoted(text, start, end),
        question=is_question(sentence),
        currency=_has_currency(text, start, end),
        numbered=bool(said) and said[-1] in RECORD_NOUNS,
        cited=_is_cited(text[first:start]) and not _is_quoted(text, start, end),
    )


def _is_denied(said: list[str], after: str) -> bool:
    """Say whether what follows denies the mention ("does not get it"; "leave Ann *alone*"), or "older *than*" does."""
    following = [word for word, *_ in tokens(after.replace("if not", ""))][:_NEAR]
    if said and said[-1] in _LEAVING and _ALONE & set(following):
        return True
    return bool(said and said[-1] in _COMPARISONS) or bool(_DENIALS & set(following)) or bool(_NOT.search(after[:20]))


def _is_cited(before: str) -> bool:
    """Say whether a quotation is open: what somebody is to be told is not told to the agent."""
    singles = len(re.findall(r"(?<!\w)'(?=\w)", before)) - len(re.findall(r"(?<=[\w.,!?])'(?!\w)", before))
    return before.count('"') % 2 == 1 or singles > 0


def _is_source(said: list[str]) -> bool:
    """Say whether the words right before a mention say where something comes from: "from", "sent by", "from her"."""
    rest = list(said)
    while rest and rest[-1] in DETERMINERS | RECORD_NOUNS | ADDRESS_NOUNS:
        rest.pop()
    return bool(rest) and rest[-1] in SOURCE_MARKERS


def _is_quoted(text: str, start: int, end: int) -> bool:
    return text[max(0, start - 1) : start] in {"'", '"'} and text[end : end + 1] in {"'", '"', ",", "."}


def _has_currency(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 8) : start].rstrip()
    after = text[end : end + 12].lstrip()
    if before.endswith(_SIGNS) or after.startswith(_SIGNS):
        return True
    around = [*before.split()[-1:], *after.split()[:1]]
    return any(part.strip(".,;:!?()") in CURRENCIES for part in around)


def _is_marked(text: str, start: int, end: int, kind: str) -> bool:
    """Say whether a mention is marked as a name: quoted, behind # or @, or beside the noun of its kind."""
    around = text[max(0, start - 1) : start], text[end : end + 1]
    if around[0] in {"#", "@"} or _is_quoted(text, start, end) or around in {("<", ">"), ("(", ")"), ("[", "]")}:
        return True
    noun = kind.rpartition(":")[2]
    left = [word for word, *_ in tokens(text[max(0, start - 60) : start])][-4:]
    right = [word for word, *_ in tokens(text[end : end + 30])][:1]
    while left and left[-1] in LINKING and left[-1] not in RECORD_NOUNS:
        left.pop()
    beside = set(left[-1:])
    if len(left) > 1 and left[-1] in RECORD_NOUNS:
        beside.add(left[-2])
    # Behind a number its noun counts ("7 files"), and behind a name it names ("the general channel").
    behind = {"id", "number"} if text[start:end].strip().isdecimal() else {noun, "id", "number"}
    if _is_of_another_type(text[max(0, start - 60) : start], kind):
        return False
    return bool({stem(word) for word in beside} & {stem(noun), "id", "number"}) or bool(set(right) & behind)


def _is_of_another_type(before: str, kind: str) -> bool:
    """Say whether the words before an id name another type of record, or none at all before "number"."""
    if not kind.startswith("id:"):
        return False
    own = set(re.split(r"[^a-z]+", kind[3:].casefold()))
    left = [word for word, *_ in tokens(before)][-5:]
    bare = bool(left) and left[-1] in {"number", "no", "nr"}
    while left and (left[-1] in LINKING or left[-1] in DETERMINERS):
        left.pop()
    last = left[-1] if left else ""
    found = next((words for words in RECORD_TYPES if {last, stem(last)} & {*words, *map(stem, words)}), None)
    if found is None:
        return bare and stem(last) not in {stem(word) for word in own}
    return not own & found and bool(own & frozenset().union(*RECORD_TYPES))
