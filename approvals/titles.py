"""What a call would do, in one sentence: the headline of every channel, by a template and never by a model.

1. The words are the ``title`` that the manifest had when the call was decided; without one, a sentence of ours for its
effect. 2. A slot is filled from the stored call as it is shown, so what a rule redacts is a mark in it. 3. Of several
values those that nobody vouches for come first; what is left out is counted, and a long one keeps both ends. 4. What
the question is about, and no slot says, is added at the end, so no sentence leaves out the blind copy. 5. Every value
stands in quotation marks that it cannot hold itself, and one of untrusted origin says so beside them.

Guarantees: pure, deterministic, and read by nothing that decides; no value can end its own marks, begin a line, reorder
what stands around it, or look like words of the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.hand import TYPED
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.render import clip, neutralise
from checkvalve.approvals.seen import Part, Seen
from checkvalve.approvals.titlespec import MAX_TITLE, pieces_of
from checkvalve.approvals.veiled import CLOSE, OPEN

MAX_VALUES: Final = 3
"""Values of one slot that are said; of more it says how many."""
HEAD: Final = 60
TAIL: Final = 20
"""Bytes of a long value that are said, from its start and from its end."""
FREE: Final = 40
"""Bytes of free text that are said from its start: enough to know it again, too few to tell a story in."""
TOOL, WHAT, AMOUNT, ALSO = "tool", "what", "amount", "also"
SENTENCES: Final[Mapping[str, str]] = {
    "read": "{tool}: reads {what}",
    "write": "{tool}: changes {what}",
    "send": "{tool}: sends to {what}",
    "pay": "{tool}: pays {amount} to {what}",
    "execute": "{tool}: runs {what}",
    "remember": "{tool}: remembers {what}",
    "configure": "{tool}: changes settings of {what}",
    "delete": "{tool}: deletes {what}",
    "answer": "answers the user",
    "read.bare": "{tool}: reads",
    "write.bare": "{tool}: changes something",
    "send.bare": "{tool}: sends",
    "pay.bare": "{tool}: pays",
    "pay.amount": "{tool}: pays {amount}",
    "pay.what": "{tool}: pays {what}",
    "execute.bare": "{tool}: runs code",
    "remember.bare": "{tool}: remembers something",
    "configure.bare": "{tool}: changes settings",
    "delete.bare": "{tool}: deletes something",
    "none": "{tool}: what it does was not looked at",
}
"""By effect: the sentence for a tool without a title. The pages have it in their own languages."""
_ROLES: Final[Mapping[str, tuple[Role, ...]]] = {
    Effect.READ: (Role.SELECTOR, Role.TARGET),
    Effect.WRITE: (Role.SELECTOR, Role.TARGET),
    Effect.DELETE: (Role.SELECTOR, Role.TARGET),
    Effect.EXECUTE: (Role.COMMAND, Role.TARGET),
    Effect.REMEMBER: (Role.TARGET, Role.SELECTOR),
    Effect.CONFIGURE: (Role.TARGET, Role.SELECTOR, Role.CONTROL),
}
"""What an effect is done to: the first of these roles that the call has. Of others it is where it goes."""
_AUTHORITY: Final = frozenset({role.value for role in Role} - {Role.CONTENT.value})
_RANK: Final = {"unknown": 0, "untrusted": 0, TYPED: 1, "verified": 2, "authoritative": 3}


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a slot as it is shown, before it is shortened: where it stands in the call, its text and its trust.

    ``free`` says that it is free text, ``asked`` that the question is about it.
    """

    at: str
    text: str
    trust: str
    free: bool = False
    asked: bool = False

    def clipped(self) -> tuple[str, int, str]:
        """Return its start, the number of bytes left out, and its end."""
        return clip(self.text, head=FREE, tail=0) if self.free else clip(self.text, head=HEAD, tail=TAIL)

    def plain(self) -> str:
        """Return it for one line: what misleads by its code point, and how much is left out."""
        start, left_out, end = self.clipped()
        more = f"{OPEN}{left_out:,} bytes more{CLOSE}" if left_out else ""
        return neutralise(start) + more + neutralise(end)


@dataclass(frozen=True, slots=True)
class Slot:
    """What fills a slot; no value where the call has none."""

    name: str
    values: tuple[Value, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence with slots. ``key`` is that of ours in :data:`SENTENCES`, empty where the manifest has a title.

    ``also`` are the values that the question is about and that stand in no slot.
    """

    template: str
    key: str
    tool: str
    slots: Mapping[str, Slot]
    also: Slot | None = None

    def parts(self, template: str = "") -> Iterator[tuple[str, str | Slot]]:
        """Yield ``words`` or ``tool`` with text as it is recorded, or ``slot``; ``template`` is ours in a language."""
        for is_slot, part in pieces_of(template or self.template):
            if not is_slot:
                yield "words", part
            elif part == TOOL and self.key:
                yield "tool", self.tool
            else:
                yield "slot", self.slots.get(part, Slot(part))
        if self.also is not None:
            yield "also", self.also


def headline(row: Seen) -> Headline:
    """Return what a recorded call would do."""
    tool = f"{row.server}/{row.tool}" if row.server else row.tool
    title = row.decision.get("title")
    if isinstance(title, str) and title:
        words, values = title[: 2 * MAX_TITLE], _values(row)
        named = {part: _under(values, part) for is_slot, part in pieces_of(words) if is_slot}
        said = [value for found in named.values() for value in found]
        slots = {name: _slot(name, found) for name, found in named.items()}
        return Headline(words, "", tool, slots, _also(values, said))
    return _default(row, tool)


def sentence_of(row: Proposal) -> Headline:
    """Return what a call of this tool does, without the values of any: a slot has its name alone."""
    tool = f"{row.server}/{row.tool}" if row.server else row.tool
    title = row.decision.get("title")
    if isinstance(title, str) and title:
        return Headline(title[: 2 * MAX_TITLE], "", tool, {})
    effect = str(row.decision.get("action") or "")
    key = effect if effect == "answer" else f"{effect}.bare"
    key = key if key in SENTENCES else "none"
    return Headline(SENTENCES[key], key, tool, {})


def _default(row: Seen, tool: str) -> Headline:
    effect = str(row.decision.get("action") or "")
    if effect == "answer" or effect not in set(Effect):
        key = effect if effect == "answer" else "none"
        return Headline(SENTENCES[key], key, tool, {})
    values = _values(row)
    by_role = _by_role(row, values)
    roles = _ROLES.get(effect, (Role.TARGET, Role.SELECTOR))
    whats = next((found for role in roles if (found := by_role.get(role))), [])
    amounts = by_role.get(Role.AMOUNT, []) if effect == Effect.PAY else []
    what, amount = _slot(WHAT, whats), _slot(AMOUNT, amounts)
    if effect == Effect.PAY:
        have = (bool(amount.values), bool(what.values))
        key = {(True, True): "pay", (True, False): "pay.amount", (False, True): "pay.what"}.get(have, "pay.bare")
    else:
        key = effect if what.values else f"{effect}.bare"
    return Headline(SENTENCES[key], key, tool, {WHAT: what, AMOUNT: amount}, _also(values, [*whats, *amounts]))


def _slot(name: str, found: Sequence[Value]) -> Slot:
    """Return the first values of a slot: those that nobody vouches for before the others."""
    ordered = sorted(found, key=lambda one: _RANK.get(one.trust, 0))
    return Slot(name, tuple(ordered[:MAX_VALUES]), max(0, len(ordered) - MAX_VALUES))


def _also(values: Sequence[Value], said: Sequence[Value]) -> Slot | None:
    """Return what the question is about and the sentence does not say."""
    at = {value.at for value in said}
    left = [value for value in values if value.asked and value.at not in at]
    return _slot(ALSO, left) if left else None


def _by_role(row: Seen, values: Iterable[Value]) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for value in values:
        role, _ = row.declared.of(value.at)
        found.setdefault(role, []).append(value)
    return found


def _under(values: Iterable[Value], name: str) -> list[Value]:
    return [value for value in values if value.at == name or value.at.startswith(f"{name}.")]


def _values(row: Seen) -> list[Value]:
    try:
        parts = list(row.parts())
    except StoreCorruptError:  # erased, or not as it was decided: who looks at the call itself is told so
        return []
    reports = _reports(row.decision)
    return [_value(part, reports.get(part.at, {})) for part in parts]


def _value(part: Part, report: Mapping[str, Any]) -> Value:
    role = report.get("role")
    return Value(
        part.at,
        part.text,
        _trust(report),
        free=role == Role.CONTENT and report.get("kind") == "text",
        asked=role in _AUTHORITY and report.get("sufficient") is not True,
    )


def _trust(report: Mapping[str, Any]) -> str:
    """Return whose word one value is: of a sufficient one the best origin's, else the worst one's."""
    listed = report.get("origins")
    origins = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    trusts = [TYPED if item.get("match") == TYPED else str(item.get("trust")) for item in origins]
    known = [trust if trust in _RANK else "unknown" for trust in trusts]
    if not known:
        return "unknown"
    pick = max if report.get("sufficient") is True else min
    return pick(known, key=lambda trust: _RANK[trust])


def _reports(decision: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    listed = decision.get("arguments")
    found: Iterable[Any] = listed if isinstance(listed, list) else ()
    return {str(item.get("path")): item for item in found if isinstance(item, dict)}


__all__ = ["ALSO", "SENTENCES", "TOOL", "Headline", "Slot", "Value", "headline", "sentence_of"]
