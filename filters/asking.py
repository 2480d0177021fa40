"""What the user's words ask for: an effect, a destination, an operation.

Guarantees: pure; a question ("did I pay?"), a negated verb and an undone one ("cancel my order to pay") ask for
nothing; a value is a destination only in a place where people put destinations. Whatever is not understood asks for
nothing, which leads to a question for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from checkvalve.filters.mentions import MASK, Mention, clauses, is_negated, is_question, mask, sentences
from checkvalve.filters.vocabulary import (
    ADDRESS_NOUNS,
    DESTINATION_MARKERS,
    DETERMINERS,
    FINITE,
    POINTING,
    PRONOUNS,
    QUANTIFIERS,
    READING,
    REPLY,
    STOPWORDS,
    THINGS,
    TRANSFERS,
    UNDOING,
)
from checkvalve.filters.values import EMAIL
from checkvalve.filters.words import stem, tokens

_LIST_WORDS = frozenset("and or also both und oder et y 和 以及".split())  # noqa: SIM905 - reads better than a list
_IS = frozenset("is are s ist sind to as be the".split())  # noqa: SIM905
_STATES = re.compile(
    r"\b(?:i|we|he|she|they)(?:['’]ll|['’]d| will| shall| have| had| did| already| would| should| could| might)\b"
    r"|\bused to\b|\b(?:man|on|se) (?:könnte|würde|sollte|pourrait|podría)\b"
    r"|\b(?:last (?:week|month|year|time)|yesterday|letzte[nrs]?|gestern|hier|ayer|la semana pasada)\b|上周|上个|昨天|去年"
    r"|\b(?:wants?|wanted|asks?|asked|tells?|told|says?|said|wrote|writes) (?:me|us|you|that|to)\b"
)
"""Before the verb these tell what somebody does or said, and ask for nothing."""
_SUBJECTS = frozenset(
    "i we you he she they who which man somebody someone jemand quelqu alguien ich wir er je yo".split()
)  # noqa: SIM905
_OF = [["of"], ["about"], ["from"], ["von"], ["über"], ["aus"], ["de"], ["sobre"], ["sur"]]
_DOING = frozenset("do tell get give send make read see save mail email message".split())  # noqa: SIM905
_ENDING = FINITE | frozenset("says sagt dit dice könnte würde pourrait podría aurait".split())  # noqa: SIM905
_MAX_LABEL = 4  # words of a name before an address in a list: "Ann Lee, boss: ann@corp.example"
_THINGS = frozenset("it them this that these those both es sie".split())  # noqa: SIM905
_ACCORDINGLY = frozenset("accordingly entsprechend conséquence consecuencia".split())  # noqa: SIM905
_GIVING = frozenset(stem(word) for word in TRANSFERS)
_TOWARDS = frozenset("to for with cc an für mit à pour avec para con 给 向".split())  # noqa: SIM905
_RETURNING = frozenset(stem(word) for word in ("back", "return", "refund", "reimburse", "repay", "zurück"))
_EDGES = ".,;:!?'\"()<>[]"
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
    addresses = {
        word for word, *_ in tokens(text) if len(word) >= _MIN_ADDRESS and sum(map(str.isdigit, word)) >= _DIGITS
    }
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

    1. Nowhere where it begins a statement ("Ann *has* left"), and as a source only where a reply goes to the sender.
    2. Where an address is introduced ("her e-mail address is ..."). 3. Behind "to", "for", "with" and the like, or in a
    list behind one, in a clause that asks. 4. As the object of the asking verb ("invite Ann"); for verbs of giving
    only where no other destination follows ("send *report* to Ann"), and for a mere name only as one (marked or
    capitalised). 5. Wherever a mere name is marked as one: quoted, behind # or @, beside its noun.
    """
    verbs = list(verbs)
    said = [word for word, *_ in tokens(seen.before)]
    if next((word for word, *_ in tokens(seen.after)), "") in FINITE:
        return False
    if seen.as_source:
        return bool(REPLY & set(said))
    if typed and is_introduced(seen):
        return True
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    if said and said[-1] in ADDRESS_NOUNS and stem(said[-1]) not in wanted:  # "to *her address* ann@corp.example"
        while said and said[-1] in ADDRESS_NOUNS | DETERMINERS:
            said.pop()
    for distance, word in enumerate(reversed(said)):
        if word in DESTINATION_MARKERS:
            return _is_governed(seen, verbs)
        if stem(word) in wanted or word in REPLY:
            name = capitalised or seen.marked or (not distance and stem(word) not in _GIVING)
            return _is_governed(seen, verbs) and _is_object(word, seen, typed=typed, name=name)
        ended = word in _ENDING or (word in DETERMINERS | STOPWORDS and word not in _LIST_WORDS)
        if distance >= _MAX_LIST or ended:
            break
    return seen.marked and not typed


def points_at(seen: Mention, text: str, verbs: Iterable[str], *, typed: bool) -> bool:
    """Say whether an asking clause that only describes its destination points at this mention.

    1. The mention is no source and begins no statement about itself that would be a clause of its own. 2. It stands
    alone, as in a list behind "to the following people:", or is introduced as an address. 3. Or the clause says "her"
    or "them", and stands in the same sentence or in the next one.
    """
    verbs = list(verbs)
    if seen.as_source or not describes(text, verbs):
        return False
    alone = _stands_alone(seen) and not seen.question
    return alone or (typed and is_introduced(seen)) or _says_pronoun(seen, text, verbs)


def _stands_alone(seen: Mention) -> bool:
    before = [word for word, *_ in tokens(seen.before)]
    after = [word for word, *_ in tokens(seen.after) if word not in _LIST_WORDS and not set(word) <= {MASK}]
    return len(before) <= _MAX_LABEL and not set(before) & _SUBJECTS and not after


def _says_pronoun(seen: Mention, text: str, verbs: list[str]) -> bool:
    found = sentences(mask(text))
    here = next((place for place, sentence in enumerate(found) if mask(seen.sentence).strip() in sentence), None)
    if here is None:
        return False
    near = " ".join(found[here : here + 2])
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    for clause in asking_clauses(near, verbs):
        said = [word for word, *_ in tokens(clause)]
        for word, following in pairwise(said):
            if following in PRONOUNS and (word in _TOWARDS or stem(word) in wanted):
                return True
    return False


def shape(text: str) -> str:
    """Return what kind of place a word looks like: an address, a link, an account, a path or name with signs, or none."""
    if "@" in text.strip("@"):
        return "email"
    if "//" in text or text.startswith("www."):
        return "url"
    if sum(map(str.isdigit, text)) >= _DIGITS:
        return "account"
    return "path" if any(sign in "/._-" for sign in text.strip("/._-")) else ""


def has_rivals(text: str, said: str) -> bool:
    """Say whether the words ``said`` hold another word of the shape of ``text``: then its clause must ask for it."""
    wanted, mine = shape(text), text.strip(_EDGES).casefold()
    others = {word.strip(_EDGES).casefold() for word in said.split()}
    return bool(wanted) and any(word != mine and shape(word) == wanted for word in others)


def is_introduced(seen: Mention) -> bool:
    """Say whether an address is introduced as one: "her e-mail address is ...", "IBAN: ...", "... is her address"."""
    near = [word for word, *_ in tokens(seen.before)][-4:]
    linked = seen.before.rstrip().endswith((":", "="))
    while near and near[-1] in _IS:
        near.pop()
        linked = True
    if linked and near and near[-1] in ADDRESS_NOUNS:
        return True
    after = [word for word, *_ in tokens(seen.after)][:5]
    return bool(after) and after[0] in {"is", "ist"} and bool(ADDRESS_NOUNS & set(after[1:]))


def is_looked_at(seen: Mention, verbs: Iterable[str]) -> bool:
    """Say whether a mention is only the object of reading: "*read* a.txt and save the summary in b.txt"."""
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    reading = {stem(word) for word in READING}
    for word, *_ in reversed(list(tokens(seen.before))):
        if stem(word) in wanted:
            return False
        if stem(word) in reading:
            return True
    return False


def is_of(seen: Mention) -> bool:
    """Say whether a mention only says whose something is, or where it comes from: "the issues *of* acme/site"."""
    return [word for word, *_ in tokens(seen.before)][-1:] in _OF


def is_asked_of(seen: Mention, verbs: Iterable[str]) -> bool:
    """Say whether a place is what its clause asks the effect for: asked, and neither looked at nor of something."""
    verbs = list(verbs)
    begins = next((word for word, *_ in tokens(seen.after)), "") in FINITE
    asked = is_introduced(seen) or _is_governed(seen, verbs)
    return asked and not begins and not is_of(seen) and not is_looked_at(seen, verbs)


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


def _is_governed(seen: Mention, verbs: list[str]) -> bool:
    """Say whether the clause of a mention asks for the effect.

    Before the mention ("pay this: 13 EUR to Ann" too), or behind it: "To Ann, send ...", "13 EUR to Ann, please pay it".
    """
    if is_question(seen.sentence):
        return False
    start = seen.sentence.find(seen.before) if seen.before.strip() else 0
    head = seen.sentence[: max(0, start)].rstrip()
    introduction = clauses(head[:-1])[-1] if head.endswith(":") else ""
    if any(_leads_on(clause, verbs) for clause in asking_clauses(f"{introduction} {seen.before} {MASK}", verbs)):
        return True
    for clause in asking_clauses(seen.after, verbs):
        if refers_back(clause, verbs) and not DESTINATION_MARKERS & {word for word, *_ in tokens(clause)}:
            return True
    opening = {word for word, *_ in tokens(seen.before)} <= DESTINATION_MARKERS | DETERMINERS | ADDRESS_NOUNS
    return opening and any(True for _ in asking_clauses(seen.after, verbs))


def _leads_on(clause: str, verbs: list[str]) -> bool:
    """Say whether an asking clause leads from its last asking verb to its end, and nobody else begins to speak."""
    wanted = [[stem(word) for word, *_ in tokens(verb.casefold())] for verb in verbs]
    last = max((end for _, end in _verbs_in(clause, wanted)), default=0)
    between = clause[last:]
    return not (_SUBJECTS | _ENDING) & {word for word, *_ in tokens(between)} and not _STATES.search(between)


def _is_object(verb: str, seen: Mention, *, typed: bool, name: bool) -> bool:
    if typed:
        return True
    elsewhere = any(word in DESTINATION_MARKERS for word, *_ in tokens(seen.after))
    return name and not (stem(verb) in _GIVING and elsewhere)
