"""The seeded search: draw attempts of each technique, climb towards an allowed call, and shrink what leaks.

Guarantees: the same seed and budget give the same attempts; a leak is what the attempt's own construction calls one;
the shrunk attempt still leaks, and nothing can be left out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from random import Random

from checkvalve.corpora.laundering.changes import CHANGES, READINGS
from checkvalve.corpora.laundering.court import Court, Judged, Outcome
from checkvalve.corpora.laundering.draft import LOOSE, Draft, Read, Say
from checkvalve.corpora.laundering.technique import Technique

CLIMBS = 2
"""Changes that are tried on one attempt before another one is drawn."""
TWINS_EACH = 24
"""Honest twins that are drawn for a technique."""
KEPT = 8
"""Leaks kept of one technique, each of another shape."""
_STRANGERS = frozenset({"read_mail", "read_page", "read_chat"})


@dataclass(frozen=True, slots=True)
class Leak:
    """A shrunk attempt that leaks, with what makes it again."""

    technique: str
    seed: str
    draft: Draft
    rule: str


@dataclass
class Row:
    """What came of one technique."""

    technique: Technique
    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    leaks: dict[str, Leak] = field(default_factory=dict)
    twins: int = 0
    twins_asked: int = 0
    asked_examples: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Attempts that were judged."""
        return sum(self.counts.values())


def search(techniques: Sequence[Technique], *, seed: int, budget: int, court: Court | None = None) -> list[Row]:
    """Judge ``budget`` attempts, evenly over ``techniques``, and the honest twins of each; return a row for each."""
    judge = court or Court()
    rows = [Row(technique) for technique in techniques]
    left = budget
    for number, row in enumerate(cycle(rows)):
        if left <= 0:
            break
        left -= _climb(row, f"{seed}/{row.technique.name}/{number // len(rows)}", judge, left)
    for row in rows:
        _ask_twins(row, seed, judge)
    return rows


def build(technique: Technique, seed: str, changes: Sequence[str] = ()) -> Draft:
    """Make the attempt again that ``seed`` and ``changes`` name. A change is ``name#number``: the number seeds it."""
    draft = technique.make(Random(seed))
    for change in changes:
        made = CHANGES[change.partition("#")[0]](draft, Random(f"{seed}/{change}"))
        draft = replace(made, changes=(*draft.changes, change))
    return draft


def _climb(row: Row, seed: str, court: Court, left: int) -> int:
    """Draw one attempt and change it as long as it comes nearer; return how many attempts were judged."""
    rng = Random(f"{seed}/climb")
    known = READINGS if row.technique.worded else CHANGES
    changes: tuple[str, ...] = ()
    best = _count(row, seed, changes, court)
    spent = 1
    while spent < min(CLIMBS + 1, left) and best.outcome is not Outcome.LEAK:
        tried = (*changes, f"{rng.choice(list(known))}#{spent}")
        judged = _count(row, seed, tried, court)
        spent += 1
        if judged.nearness >= best.nearness:
            changes, best = tried, judged
    return spent


def _count(row: Row, seed: str, changes: Sequence[str], court: Court) -> Judged:
    judged = court.judge(build(row.technique, seed, changes))
    row.counts[judged.outcome] += 1
    if judged.outcome is Outcome.LEAK and len(row.leaks) < KEPT:
        small = shrink(row.technique, seed, changes, court)
        row.leaks.setdefault(shape(small), Leak(row.technique.name, seed, small, judged.rule))
    return judged


def _ask_twins(row: Row, seed: int, court: Court) -> None:
    if row.technique.twin is None:
        return
    for number in range(TWINS_EACH):
        draft = row.technique.twin(Random(f"{seed}/{row.technique.name}/twin/{number}"))
        judged = court.judge(draft)
        row.twins += 1
        if not judged.allowed:
            row.twins_asked += 1
            row.asked_examples.append(f"{judged.rule}: {said(draft)}")


def shrink(technique: Technique, seed: str, changes: Sequence[str], court: Court) -> Draft:
    """Leave out changes, strangers' texts and arguments while the attempt still leaks.

    The user's words and the readings that give a value back stay: without them the attempt would be another one.
    """
    smaller = True
    while smaller:
        fewer = [(*changes[:number], *changes[number + 1 :]) for number in range(len(changes))]
        leaking = (some for some in fewer if _leaks(build(technique, seed, some), court))
        smaller, changes = (True, found) if (found := next(leaking, None)) is not None else (False, changes)
    draft = build(technique, seed, changes)
    while (candidate := next((one for one in _smaller(draft) if _leaks(one, court)), None)) is not None:
        draft = candidate
    return draft


def _leaks(draft: Draft, court: Court) -> bool:
    return court.judge(draft).outcome is Outcome.LEAK


def _smaller(draft: Draft) -> Iterator[Draft]:
    for number, event in enumerate(draft.events):
        if isinstance(event, Read) and event.tool in _STRANGERS:
            yield replace(draft, events=(*draft.events[:number], *draft.events[number + 1 :]))
    for number, call in enumerate(draft.calls):
        for name in call.args if not draft.carries else ():
            if name in LOOSE:
                args = {key: value for key, value in call.args.items() if key != name}
                yield replace(
                    draft, calls=(*draft.calls[:number], replace(call, args=args), *draft.calls[number + 1 :])
                )


def said(draft: Draft) -> str:
    """Return what the user says in ``draft``, on one line."""
    return " / ".join(event.text.replace("\n", " ⏎ ") for event in draft.events if isinstance(event, Say))


def shape(draft: Draft) -> str:
    """Return what two leaks of one kind have in common: words and tools, without the values drawn by chance."""
    text = said(draft)
    for call in draft.calls:
        for value in (*draft.named, *(str(item) for item in call.args.values())):
            text = text.replace(value, "_")
    return f"{draft.calls[0].tool if draft.calls else ''}: {''.join('0' if char.isdigit() else char for char in text)}"


def leaks(rows: Iterable[Row]) -> list[Leak]:
    """Return every leak of ``rows``."""
    return [leak for row in rows for leak in row.leaks.values()]
