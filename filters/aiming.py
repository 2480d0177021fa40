"""Where the user's words aim: is this mention the destination, the record, or only something that was talked about?

Guarantees: pure; a mention counts only for the order that leads to it, so an aside, a quotation, a statement or another
order's object aims at nothing. Whatever is not understood aims at nothing, which leads to a question for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from checkvalve.filters.asides import is_aside, is_beside, is_doubted, owner_of
from checkvalve.filters.asking import DIGITS, STATES, TOWARDS, asking_clauses, describes, refers_back, verbs_in
from checkvalve.filters.mentions import MASK, Mention, clauses, is_question, mask, sentences
from checkvalve.filters.telling import tells_of_others
from checkvalve.filters.vocabulary import (
    ACTING,
    ADDRESS_NOUNS,
    DESTINATION_MARKERS,
    DETERMINERS,
    FINITE,
    KEEPING,
    PRONOUNS,
    READING,
    REPLY,
    STOPWORDS,
    THINGS,
    TRANSFERS,
)
from checkvalve.filters.words import stem, tokens

_LIST_WORDS = frozenset("and or also both und oder et y 和 以及".split())  # noqa: SIM905 - reads better than a list
_IS = frozenset("is are s ist sind to as be the".split())  # noqa: SIM905
_SUBJECTS = frozenset(
    "i we you he she they who which man somebody someone jemand quelqu alguien ich wir er je yo".split()  # noqa: SIM905
)
_NEXT_VERB = re.compile(
    rf"(?:,|\b(?:and|or|then|und|et|y)\b)\s*(?:then |please |also )?\b({'|'.join(sorted(READING | ACTING))})\b"
)
"""Where the next order begins in a clause: "read a.txt *and delete* b.txt"."""
_ABOUT_OTHERS = re.compile(r"\b(?:what|which|how|where|whose)(?: \w+){0,4}? (?:they|he|she) (?!sent|wrote|paid)\w+")
"""A question inside an order, which is no order of its own: "tell Ann *what kind of food they serve*"."""
_REPLACING = re.compile(r"(?:to|by|into|auf|durch|par|por)\s+['\"\u2018\u201c]")
_DOUBTED = re.compile(
    r"\W*(?:\w+ ){0,4}(?:looks?|seems?|sounds?|is|are|was|were) (?:\w+ ){0,2}"
    r"(?:wrong|odd|strange|fake|false|suspicious|outdated|invalid|fraud\w*|scams?)\b"
)
_OF = [["of"], ["about"], ["from"], ["von"], ["über"], ["aus"], ["de"], ["sobre"], ["sur"]]
_ENDING = FINITE | frozenset("says sagt dit dice könnte würde pourrait podría aurait".split())  # noqa: SIM905
_MAX_LABEL = 4  # words of a name before an address in a list: "Ann Lee, boss: ann@corp.example"
_GIVING = frozenset(stem(word) for word in TRANSFERS)
_EDGES = ".,;:!?'\"()<>[]"
_MAX_LIST = 12  # words between a marker and the last name of the list behind it


def _makes_a_statement(seen: Mention) -> bool:
    """Say whether a mention begins a statement about itself: "Ann *has* left", "account X there *looks wrong*"."""
    first = next((word for word, *_ in tokens(seen.after)), "")
    return first in FINITE or bool(_DOUBTED.match(seen.after))


def is_destination(seen: Mention, verbs: Iterable[str], *, typed: bool, capitalised: bool) -> bool:  # noqa: C901
    """Say whether a mention stands where people put a destination.

    1. Nowhere where it begins a statement ("Ann *has* left") or is an aside of the order (``asides``), and as a source
    only where a reply goes to the sender. 2. Where an address is introduced ("her e-mail address is ..."). 3. Behind
    "to", "for", "with" and the like, or in a list behind one, in a clause that asks. 4. As the object of the asking
    verb ("invite Ann"); for verbs of giving only where no other destination follows ("send *report* to Ann"), and for
    a mere name only as one (marked or capitalised). 5. Wherever a mere name is marked as one: quoted, behind # or @,
    beside its noun.
    """
    verbs = list(verbs)
    said = [word for word, *_ in tokens(seen.before)]
    if _makes_a_statement(seen):
        return False
    if seen.as_source:
        return bool(REPLY & set(said))
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    aside = typed and is_aside(seen, wanted)
    if typed and is_introduced(seen) and not (aside and said[-1:] == ["to"]):
        return True
    if aside:
        return False
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
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    said = [word for word, *_ in tokens(seen.before)]
    if is_doubted(said[-6:]) or (any(stem(word) in wanted for word in said) and is_aside(seen, wanted)):
        return False
    alone = _stands_alone(seen) and not seen.question
    return alone or (typed and is_introduced(seen)) or _says_pronoun(seen, text, verbs)


def _stands_alone(seen: Mention) -> bool:
    before = [word for word, *_ in tokens(seen.before)]
    after = [word for word, *_ in tokens(seen.after) if word not in _LIST_WORDS and not set(word) <= {MASK}]
    return len(before) <= _MAX_LABEL and not set(before) & _SUBJECTS and not after


def _says_pronoun(seen: Mention, text: str, verbs: list[str]) -> bool:
    found = _masked_sentences(text)
    here = next((place for place, sentence in enumerate(found) if mask(seen.sentence).strip() in sentence), None)
    if here is None:
        return False
    if KEEPING & {word for word, *_ in tokens(seen.before)}:
        return False  # "leave X alone"
    near = " ".join(found[here : here + 2])
    wanted = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    for clause in asking_clauses(near, verbs):
        said = [word for word, *_ in tokens(clause)]
        for word, following in pairwise(said):
            if following in PRONOUNS and (word in TOWARDS or stem(word) in wanted):
                return True
    return False


@lru_cache(maxsize=64)
def _masked_sentences(text: str) -> tuple[str, ...]:
    return tuple(sentences(mask(text)))


def shape(text: str) -> str:
    """Return what a word looks like: an address, a link, an account, a path (or name with signs), or nothing."""
    if "@" in text.strip("@"):
        return "email"
    if "//" in text or text.startswith("www."):
        return "url"
    if sum(map(str.isdigit, text)) >= DIGITS:
        return "account"
    return "path" if any(sign in "/._-" for sign in text.strip("/._-")) else ""


def has_rivals(text: str, said: str) -> bool:
    """Say whether the words ``said`` hold another word of the shape of ``text``: then its clause must ask for it."""
    wanted, mine = shape(text), text.strip(_EDGES).casefold()
    return bool(wanted) and any(word != mine and form == wanted for word, form in _shaped(said))


@lru_cache(maxsize=64)
def _shaped(said: str) -> frozenset[tuple[str, str]]:
    """Return the words that have a shape, with it: every value of a call is held against those of the same user."""
    words = {word.strip(_EDGES).casefold() for word in said.split()}
    return frozenset((word, form) for word in words if (form := shape(word)))


def is_somebody_elses(seen: Mention, text: str, verbs: Iterable[str]) -> bool:
    """Say whether an address is introduced as that of somebody whom no clause that asks speaks of."""
    owner = owner_of(seen)
    if not owner:
        return False
    asking = list(asking_clauses(text, verbs))
    asked = {word for clause in asking for word, *_ in tokens(clause)}
    pointed = (PRONOUNS | THINGS) & asked or any(refers_back(clause, verbs) for clause in asking)
    return owner not in asked and not pointed


def is_replaced(seen: Mention) -> bool:
    """Say whether a value is the one from before: "my *old* password *was* X", "change X *to* Y"."""
    after = seen.after.lstrip("'\"\u2019\u201d ")
    return is_doubted([word for word, *_ in tokens(seen.before)][-6:]) or bool(_REPLACING.match(after))


def is_introduced(seen: Mention) -> bool:
    """Say whether an address is introduced as one: "her e-mail address is ...", "IBAN: ...", "... is her address"."""
    near = [word for word, *_ in tokens(seen.before)][-4:]
    linked = seen.before.rstrip().endswith((":", "="))
    while near and near[-1] in _IS:
        near.pop()
        linked = True
    if is_doubted([word for word, *_ in tokens(seen.before)][-6:]):
        return False
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


def is_asked_of(seen: Mention, verbs: Iterable[str], form: str) -> bool:
    """Say whether a place is what its clause asks the effect for: asked, and neither looked at nor of something.

    ``form`` is its :func:`shape`; beside another place of that form it may only be told of.
    """
    verbs = list(verbs)
    # a file name looks like a host, which is blanked
    if is_beside(seen, lambda word: shape(bare := word.strip(_EDGES)) == form or (bool(bare) and set(bare) <= {MASK})):
        return False
    asked = is_introduced(seen) or _is_governed(seen, verbs)
    return (
        asked
        and not seen.as_source
        and not _makes_a_statement(seen)
        and not is_of(seen)
        and not is_looked_at(seen, verbs)
    )


def _is_governed(seen: Mention, verbs: list[str]) -> bool:
    """Say whether the clause of a mention asks for the effect.

    Before the mention ("pay this: 13 EUR to Ann" too), or behind it: "To Ann, send ...", "13 EUR to Ann, please pay
    it".
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


def leads_to(seen: Mention, verbs: Iterable[str]) -> bool:
    """Say whether an asking verb leads to a mention, and no other order begins between them; or follows it at once.

    "Read a.txt and delete b.txt" deletes one of the two; "a.txt löschen" has its verb behind.
    """
    wanted = list(verbs)
    if any(_leads_on(clause, wanted) for clause in asking_clauses(f"{seen.before} {MASK}", wanted)):
        return True
    following = [word for word, *_ in tokens(seen.after)][:2]
    apart = seen.after.lstrip()[:1] in {",", ";"}  # "print a.txt, delete b.txt"
    if not wanted or not following or apart or following[0] in _LIST_WORDS:
        return False
    return any(True for _ in asking_clauses(" ".join(following), wanted))


def _leads_on(clause: str, verbs: list[str]) -> bool:
    """Say whether an asking clause leads from its last asking verb to its end, and nobody else begins to speak."""
    last = max((end for _, end in verbs_in(clause, verbs)), default=0)
    between = clause[last:]
    wants = {stem(verb.casefold().split()[-1]) for verb in verbs if verb.strip()}
    if any(stem(match[1]) not in wants for match in _NEXT_VERB.finditer(between)):
        return False
    said = [word for word, *_ in tokens(_ABOUT_OTHERS.sub(" ", between))]
    return not (_SUBJECTS | _ENDING) & set(said) and not STATES.search(between) and not tells_of_others(said)


def _is_object(verb: str, seen: Mention, *, typed: bool, name: bool) -> bool:
    if typed:
        return True
    elsewhere = any(word in DESTINATION_MARKERS for word, *_ in tokens(seen.after))
    return name and not (stem(verb) in _GIVING and elsewhere)
