"""What the user's words ask for: an effect, a destination, an operation.

Guarantees: pure; a question ("did I pay?"), a negated verb and an undone one ("cancel my order to pay") ask for
nothing; a value is a destination only in a place where people put destinations. Whatever is not understood asks for
nothing, which leads to a question for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from checkvalve.filters.mentions import clauses, is_negated, is_question, mask, sentences
from checkvalve.filters.telling import tells
from checkvalve.filters.values import EMAIL
from checkvalve.filters.vocabulary import (
    DESTINATION_MARKERS,
    DETERMINERS,
    POINTING,
    QUANTIFIERS,
    STOPWORDS,
    THINGS,
    UNDOING,
)
from checkvalve.filters.words import stem, tokens

STATES = re.compile(
    r"\b(?:i|we|he|she|they)(?:['’]ll|['’]d| will| shall| have| had| did| already| would| should| could| might)\b"
    r"(?! like\b)"  # "I would like to send it" asks
    r"|\bused to\b|\b(?:man|on|se) (?:könnte|würde|sollte|pourrait|podría)\b"
    r"|\b(?:last (?:week|month|year|time)|yesterday|letzte[nrs]?|gestern|hier|ayer|la semana pasada)\b"
    r"|\bmight\b|上周|上个|昨天|去年"
    r"|\b(?:wants|wanted|(?<!\bi )(?<!\bwe )want|asks?|asked|tells?|told|says?|said|wrote|writes) "
    r"(?:me|us|you|that|to)\b"
)
"""Before the verb these tell what somebody does or said, and ask for nothing."""
_DOING = frozenset("do tell get give send make read see save mail email message".split())  # noqa: SIM905
_THINGS = frozenset("it them this that these those both es sie".split())  # noqa: SIM905
_ACCORDINGLY = frozenset("accordingly entsprechend conséquence consecuencia".split())  # noqa: SIM905
_THE_SAME = re.compile(
    r"\b(?:the same|dieselben|denselben|les mêmes|los mismos) "
    r"(?:participants|people|recipients|attendees|guests|members|teilnehmer\w*|leute\w*|personnes|participantes|personas)\b"
)
TOWARDS = frozenset("to for with cc an für mit à pour avec para con 给 向".split())  # noqa: SIM905
_RETURNING = frozenset(stem(word) for word in ("back", "return", "refund", "reimburse", "repay", "zurück"))
_MIN_ADDRESS, DIGITS = 8, 6
"""An account number is long, and mostly digits."""


def asks_for(text: str, verbs: Iterable[str], nouns: Iterable[str]) -> bool:
    """Say whether ``text`` (normalised words of the user) asks for an effect, and mentions one of ``nouns``.

    An empty list of verbs or nouns asks for nothing special and is fulfilled.
    """
    things = {stem(noun.casefold()) for noun in nouns}
    return (not things or bool(things & _stems(text))) and any(True for _ in asking_clauses(text, verbs))


@lru_cache(maxsize=64)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word, *_ in tokens(text))


def asking_clauses(text: str, verbs: Iterable[str]) -> Iterator[str]:
    """Yield the clauses of ``text`` that ask for an effect by one of its ``verbs``; all of them when there is none."""
    yield from _asking(text, tuple(verbs))


@lru_cache(maxsize=512)
def _asking(text: str, verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the asking clauses; one decision asks for those of the same words many times."""
    return tuple(_find_asking(text, verbs))


def _find_asking(text: str, verbs: tuple[str, ...]) -> Iterator[str]:
    for sentence in sentences(mask(text)):
        if is_question(sentence):
            continue
        for clause in clauses(sentence):
            if not verbs or any(True for _ in verbs_in(clause, verbs)):
                yield clause


def verbs_in(clause: str, verbs: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the character ranges of the verbs in a clause that ask: neither negated nor told of."""
    spans = list(tokens(clause))
    words = [word for word, *_ in spans]
    stems = [stem(word) for word in words]
    declared = [[word for word, *_ in tokens(verb.casefold())] for verb in verbs]
    base = {word for verb in declared for word in verb}
    for verb in ([stem(word) for word in said] for said in declared):
        for index in range(len(stems) - len(verb) + 1):
            if verb and stems[index : index + len(verb)] == verb and not tells(words, index, base):
                before = clause[: spans[index][1]]
                undone = UNDOING & {word for word, *_ in tokens(before)}
                if not undone and not is_negated(before) and not STATES.search(before):
                    yield spans[index][1], spans[index + len(verb) - 1][2]


def describes(text: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause describes its destination instead of naming it.

    "Send it to the client", "invite everyone", "write them", "with the same people as last time": then a destination
    may come from a record, or from what was said before. "Tell Ann all about it" describes nobody.
    """
    return _describes(text, tuple(verbs))


@lru_cache(maxsize=64)
def _describes(text: str, verbs: tuple[str, ...]) -> bool:
    wanted = [[stem(word) for word, *_ in tokens(verb.casefold())] for verb in verbs]
    for clause in asking_clauses(text, verbs):
        said = [word for word, *_ in tokens(clause)]
        for index, word in enumerate(said[:-1]):
            following = said[index + 1]
            if word in TOWARDS and following in DETERMINERS | QUANTIFIERS:
                return True
            if following in QUANTIFIERS and any(verb and verb[-1] == stem(word) for verb in wanted):
                return True
    return _says_the_same(text, verbs)


def _says_the_same(text: str, verbs: tuple[str, ...]) -> bool:
    return any(_THE_SAME.search(one) and not is_negated(one) for one in sentences(text)) and any(
        True for _ in asking_clauses(text, verbs)
    )


def returning_clauses(text: str, verbs: Iterable[str]) -> Iterator[str]:
    """Yield the asking clauses that speak of giving back."""
    for clause in asking_clauses(text, verbs):
        if _RETURNING & {stem(word) for word, *_ in tokens(clause)}:
            yield clause


def gives_back(text: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause gives something back, where the words name one address only.

    "They sent it from their account X, so send them back the rest": then the place it came from is where it goes.
    """
    addresses = {
        word for word, *_ in tokens(text) if len(word) >= _MIN_ADDRESS and sum(map(str.isdigit, word)) >= DIGITS
    }
    addresses |= {match[0] for match in EMAIL.finditer(text)}
    if len(addresses) != 1:
        return False
    return any(True for _ in returning_clauses(text, verbs))


def refers_back(clause: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause says "it" or "them" where its object would stand: "find a.txt and delete it".

    "The rent is 900 now, update my orders accordingly" points at what was said just as well.
    """
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    said = [word for word, *_ in tokens(clause)]
    pointed = bool(_ACCORDINGLY & set(said)) and any(stem(word) in wanted for word in said)
    return pointed or any(stem(one) in wanted and two in _THINGS for one, two in pairwise(said))


def points_back(text: str) -> bool:
    """Say whether a message points back at what was said before it, and takes nothing back: "yes", "send it to Ann"."""
    said = [word for word, *_ in tokens(text)]
    if is_negated(text) or UNDOING & set(said):
        return False
    if POINTING & set(said):
        return True
    for place, (one, two) in enumerate(pairwise(said), 2):
        verb = len(one) > 1 and one not in STOPWORDS - _DOING
        alone = place == len(said) or said[place] in DESTINATION_MARKERS  # "do that", not "that report"
        if verb and two in THINGS and (alone or two not in DETERMINERS):
            return True
    return False
