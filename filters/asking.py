"""What the user's words ask for: an effect, a destination, an operation.

Guarantees: pure; a question ("did I pay?"), a negated verb and an undone one ("cancel my order to pay") ask for
nothing; a value is a destination only in a place where people put destinations. Whatever is not understood asks for
nothing, which leads to a question for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from checkvalve.filters.mentions import Mention, clauses, is_negated, is_question, mask, sentences
from checkvalve.filters.vocabulary import (
    ADDRESS_NOUNS,
    DESTINATION_MARKERS,
    DETERMINERS,
    QUANTIFIERS,
    REPLY,
    STOPWORDS,
    TRANSFERS,
    UNDOING,
)
from checkvalve.filters.values import EMAIL
from checkvalve.filters.words import stem, tokens

_LIST_WORDS = frozenset("and or also both und oder et y 和 以及".split())  # noqa: SIM905 - reads better than a list
_IS = frozenset("is are s ist sind to as be the".split())  # noqa: SIM905
_STATES = re.compile(
    r"\b(?:i|we|he|she|they)(?:['’]ll| will| shall| have| had| did| already)\b"
    r"|\b(?:wants?|wanted|asks?|asked|tells?|told|says?|said|wrote|writes) (?:me|us|you|that|to)\b"
)
"""Before the verb these tell what somebody does or said, and ask for nothing."""
_THINGS = frozenset("it them this that these those both es sie".split())  # noqa: SIM905
_ACCORDINGLY = frozenset("accordingly entsprechend conséquence consecuencia".split())  # noqa: SIM905
_GIVING = frozenset(stem(word) for word in TRANSFERS)
_TOWARDS = frozenset("to for with cc an für mit à pour avec para con 给 向".split())  # noqa: SIM905
_RETURNING = frozenset(stem(word) for word in ("back", "return", "refund", "reimburse", "repay", "zurück"))
_MIN_ADDRESS, _DIGITS = 8, 6  # an account number: long, and mostly digits
_MAX_LIST = 12  # words between a marker and the last name of the list behind it


def asks_for(text: str, verbs: Iterable[str], nouns: Iterable[str]) -> bool:
    """Say whether ``text`` (normalised words of the user) asks for an effect, and mentions one of ``nouns``.

    An empty list of verbs or nouns asks for nothing special and is fulfilled.
    """
    stems = {stem(word) for word, *_ in tokens(text)}
    things = {stem(noun.casefold()) for noun in nouns}
    return (not things or bool(things & stems)) and any(True for _ in asking_clauses(text, verbs))


def asking_clauses(text: str, verbs: Iterable[str]) -> Iterator[str]:
    """Yield the clauses of ``text`` that ask for an effect by one of its ``verbs``; all of them when there is none."""
    wanted = [[stem(word) for word, *_ in tokens(verb.casefold())] for verb in verbs]
    for sentence in sentences(mask(text)):
        if is_question(sentence):
            continue
        for clause in clauses(sentence):
            if not wanted or any(True for _ in _verbs_in(clause, wanted)):
                yield clause


def _verbs_in(clause: str, wanted: list[list[str]]) -> Iterator[tuple[int, int]]:
    """Yield the character ranges of the unnegated verbs in a clause."""
    spans = list(tokens(clause))
    stems = [stem(word) for word, *_ in spans]
    for verb in wanted:
        for index in range(len(stems) - len(verb) + 1):
            if verb and stems[index : index + len(verb)] == verb:
                before = clause[: spans[index][1]]
                undone = UNDOING & {word for word, *_ in tokens(before)}
                if not undone and not is_negated(before) and not _STATES.search(before):
                    yield spans[index][1], spans[index + len(verb) - 1][2]


def describes(text: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause describes its destination instead of naming it.

    "Send it to the client", "invite everyone", "write them": then a destination may come from a record, or from what
    was said before. "Tell Ann all about it" describes nobody.
    """
    wanted = [[stem(word) for word, *_ in tokens(verb.casefold())] for verb in verbs]
    for clause in asking_clauses(text, verbs):
        said = [word for word, *_ in tokens(clause)]
        for index, word in enumerate(said[:-1]):
            following = said[index + 1]
            if word in _TOWARDS and following in DETERMINERS | QUANTIFIERS:
                return True
            if following in QUANTIFIERS and any(verb and verb[-1] == stem(word) for verb in wanted):
                return True
    return False


def gives_back(text: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause gives something back, where the words name one address only.

    "They sent it from their account X, so send them back the rest": then the place it came from is where it goes.
    """
    addresses = {word for word, *_ in tokens(text) if len(word) >= _MIN_ADDRESS and sum(map(str.isdigit, word)) >= _DIGITS}
    addresses |= {match[0] for match in EMAIL.finditer(text)}
    if len(addresses) != 1:
        return False
    return any(_RETURNING & {stem(word) for word, *_ in tokens(clause)} for clause in asking_clauses(text, verbs))


def refers_back(clause: str, verbs: Iterable[str]) -> bool:
    """Say whether an asking clause says "it" or "them" where its object would stand: "find a.txt and delete it".

    "The rent is 900 now, update my orders accordingly" points at what was said just as well.
    """
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    said = [word for word, *_ in tokens(clause)]
    pointed = bool(_ACCORDINGLY & set(said)) and any(stem(word) in wanted for word in said)
    return pointed or any(stem(one) in wanted and two in _THINGS for one, two in pairwise(said))


def is_destination(seen: Mention, verbs: Iterable[str], *, typed: bool, capitalised: bool) -> bool:
    """Say whether a mention stands where people put a destination.

    1. Behind "to", "for", "with" and the like, or in a list behind one. 2. As the object of the asking verb ("invite
    Ann"); for verbs of giving only where no other destination follows ("send *report* to Ann"), and for a mere name
    only as one (marked or capitalised). 3. Where an address is introduced ("her e-mail address is ..."). 4. As the
    sender that a reply goes to. 5. Wherever a mere name is marked as one: quoted, behind # or @, beside its noun.
    """
    verbs = list(verbs)
    said = [word for word, *_ in tokens(seen.before)]
    replying = bool(REPLY & set(said))
    if seen.as_source:
        return replying
    if _introduced(said) and typed:
        return True
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    for distance, word in enumerate(reversed(said)):
        if word in DESTINATION_MARKERS:
            return _asks_somewhere(seen, verbs)
        if stem(word) in wanted or word in REPLY:
            name = capitalised or seen.marked or (not distance and stem(word) not in _GIVING)
            return _asks_somewhere(seen, verbs) and _is_object(word, seen, typed=typed, name=name)
        if distance >= _MAX_LIST or (word in DETERMINERS | STOPWORDS and word not in _LIST_WORDS):
            break
    return seen.marked and not typed


def _asks_somewhere(seen: Mention, verbs: list[str]) -> bool:
    return any(True for _ in asking_clauses(seen.sentence, verbs))


def _is_object(verb: str, seen: Mention, *, typed: bool, name: bool) -> bool:
    if typed:
        return True
    elsewhere = any(word in DESTINATION_MARKERS for word, *_ in tokens(seen.after))
    return name and not (stem(verb) in _GIVING and elsewhere)


def _introduced(said: list[str]) -> bool:
    near = said[-4:]
    while near and near[-1] in _IS:
        near.pop()
    return bool(near) and near[-1] in ADDRESS_NOUNS
