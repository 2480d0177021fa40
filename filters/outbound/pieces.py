"""One piece of an outgoing text: what has to go, and what stands there instead.

1. Registered values and prompt text, also where they began in the piece before. 2. Keys by their form. 3. Every link
and resource, ruled on one by one. 4. Signs that nobody sees and no script needs, and what they spell. 5. Personal data
of the kinds that may not leave. 6. Stretches that overlap become one. 7. The result is looked at again: when anything
in it would have to go as well, the whole piece goes.

Guarantees: pure; what is left of a piece has nothing that would be taken out of it a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.outbound.forms import Form, forms, names
from checkvalve.filters.outbound.hosts import address_of
from checkvalve.filters.outbound.judge import Origins, Ruling, has_blob, judge
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.view import View, view_of
from checkvalve.filters.outcomes import Edit, Severity, apply_edits
from checkvalve.filters.pii.detect import PiiHit
from checkvalve.filters.secrets.context import context_secrets
from checkvalve.filters.secrets.scan import mark
from checkvalve.filters.secrets.unseen import unseen
from checkvalve.filters.secrets.vendors import RULES, Rule, vendor_secrets

UNSAFE: Final = "unsafe-markup"
INVISIBLE: Final = "invisible"
"""Signs that nobody sees and no script needs."""
HIDDEN: Final = "hidden-text"
"""Such signs that spell something."""
BEFORE: Final = 48
"""Characters of the text before a piece that are looked at again with it: labels, and the first signs of a value."""
_PLAIN_PATH: Final = re.compile(r"/[\w./~-]{0,120}")
FindPii = Callable[[str, str], Iterable[PiiHit]]
"""Looks for personal data in a piece; the second text stands before it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One edit with what it says: the finding's code, its detail and how much it weighs."""

    edit: Edit
    code: str
    detail: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Before:
    """What stands before a piece: its last characters, and its last words where instructions are protected."""

    text: str = ""
    words: tuple[str, ...] = ()

    def then(self, piece: str, rules: OutboundRules) -> Before:
        """Return what stands before the piece that follows ``piece``."""
        return Before((self.text + piece)[-BEFORE:], rules.prompts.last_words(piece, self.words))


def changes_in(
    piece: str, before: Before, rules: OutboundRules, origins: Origins, pii: FindPii, keys: Sequence[Rule] = RULES
) -> list[Change]:
    """Return what has to go from ``piece``, in order and disjoint; places are characters of the piece.

    ``keys`` are the forms of keys that can stand in it at all.
    """
    found = [*_values(piece, before, rules)]
    view = view_of(piece)
    if rules.secrets:
        found += _secrets(view, keys)
    found += _links(view, piece, rules, origins, suspicious=bool(found))
    if not piece.isascii():
        found += _hidden(piece, rules)
    if rules.pii:
        found += [
            _change(hit.start, hit.end, "personal-data", hit.kind, Severity.MEDIUM) for hit in pii(piece, before.text)
        ]
    if not found:
        return []
    chosen = _disjoint(found)
    cleaned, _ = apply_edits(piece, [one.edit for one in chosen])
    if any(True for _ in _values(cleaned, Before(), rules)) or any(
        True for _ in _links(view_of(cleaned), cleaned, rules, origins, suspicious=True)
    ):
        return [_change(0, len(piece), UNSAFE, chosen[0].detail, Severity.HIGH)]
    return chosen


def _values(piece: str, before: Before, rules: OutboundRules) -> Iterator[Change]:
    """Do step 1. A stretch that began before the piece is cut to it: what has left is gone."""
    base = len(before.text)
    for hit in rules.registered.find(before.text + piece):
        if hit.end > base:
            yield _change(max(hit.start, base) - base, hit.end - base, "registered", hit.code, Severity.HIGH)
    for start, end in rules.prompts.find(piece, before.words):
        yield _change(start, end, "prompt-text", "", Severity.HIGH)


def _hidden(piece: str, rules: OutboundRules) -> Iterator[Change]:
    """Do step 4. The mark of what hidden signs spell stands where they begin; the rest goes without one."""
    found = unseen(piece)
    for start, end in found.strays:
        yield _change(start, end, INVISIBLE, "", Severity.LOW, shown="")
    for start, end in found.smuggled:
        yield _change(start, end, HIDDEN, "", Severity.MEDIUM, shown="")
    for one in found.spelled:
        start, end = next((start, end) for start, end in found.strays if end > one.start)
        if rules.prompts.find(one.text):
            yield _change(start, end, "prompt-text", "", Severity.HIGH)
        if rules.secrets:
            for hit in (*vendor_secrets(one.text), *context_secrets(one.text)):
                yield _change(start, end, "secret", hit.code, Severity.HIGH)
        if any(form.target for form in forms(view_of(one.text))):
            yield _change(start, end, HIDDEN, "", Severity.HIGH)


def _secrets(view: View, keys: Sequence[Rule]) -> Iterator[Change]:
    """Do step 2, over the text as people read it; a key with an invisible sign in it is still one."""
    known = keys if view.places is None else RULES
    for hit in (*vendor_secrets(view.text, known), *context_secrets(view.text)):
        yield _change(*view.span(hit.start, hit.end), "secret", hit.code, Severity.HIGH)


def _links(view: View, piece: str, rules: OutboundRules, origins: Origins, *, suspicious: bool) -> Iterator[Change]:
    """Do step 3; ``suspicious`` says that the piece has a value or key, so that one may stand in an address."""
    strays = () if view.places is None else unseen(piece).strays
    for form in forms(view):
        ruling = judge(form, rules.links, origins, lambda target: _is_private(target, rules, suspicious=suspicious))
        if strays and not form.resource and _is_odd(form.to, strays):
            ruling = Ruling("remove", "unusable-link")
        if form.definition and not _may_define(form, ruling, rules):
            yield from (
                _edit(*place, sign, "definition", Severity.NOTE)
                for place, sign in zip(form.remove, ("", ":"), strict=True)
            )
        if ruling.what != "keep":
            yield from _rewritten(form, ruling)
    for form in names(view):
        if has_blob(form.target) and judge(form, rules.links, origins, lambda _: False).what == "remove":
            yield from _rewritten(form, Ruling("remove", "link-data"))


def _is_odd(written: tuple[int, int], strays: Iterable[tuple[int, int]]) -> bool:
    """Say whether invisible signs stand in a link as it is written; those right behind it are no part of it."""
    return any(written[0] <= start and end < written[1] for start, end in strays)


def _may_define(form: Form, ruling: Ruling, rules: OutboundRules) -> bool:
    """Say whether a definition may stay one, although images can use it: where clients may load what it names.

    An address that the user named may be followed, and yet no client visits it without a click.
    """
    return ruling.what == "keep" and rules.links.hosts.fetches(address_of(form.target))


def _is_private(target: str, rules: OutboundRules, *, suspicious: bool) -> bool:
    """Say whether an address carries a registered value, a key or prompt text."""
    if suspicious and (rules.registered.find(target) or (rules.secrets and any(True for _ in vendor_secrets(target)))):
        return True
    return bool(rules.prompts) and bool(rules.prompts.find(re.sub(r"%20|[+_%-]", " ", target)))


def _rewritten(form: Form, ruling: Ruling) -> Iterator[Change]:
    """Yield the edits that take a link out, or leave it readable and not clickable."""
    start, end = form.to
    severity = Severity.LOW if ruling.what == "defang" else Severity.HIGH if form.resource else Severity.MEDIUM
    text = defanged(form.target) if ruling.what == "defang" else mark(ruling.code)
    shown = f" ({text})" if form.shown and ruling.what == "defang" else f" {text}" if form.shown.strip() else text
    if form.resource and form.shown and not form.target:
        shown = ""  # the end of an element whose beginning has its mark
    if not form.definition:
        yield from (_edit(*stretch, "", ruling.code, severity) for stretch in form.remove)
    yield _edit(start, end, shown, ruling.code, severity)


def defanged(target: str) -> str:
    """Return an address that people can read and no client opens: no scheme, no query, the host's dots in brackets."""
    bare = re.sub(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/{0,2}", "", target)
    host = re.split(r"[/?#]", bare, maxsplit=1)[0]
    path = _PLAIN_PATH.match(bare, len(host))
    rest = path[0] if path and "//" not in path[0] else ""
    more = "…" if len(host) + len(rest) < len(bare) else ""
    return host.replace(".", "[.]").replace(":", "[:]") + rest.rstrip("/") + more


def _edit(start: int, end: int, shown: str, code: str, severity: Severity) -> Change:
    return Change(Edit(start, end, shown, code), code, "", severity)


def _change(  # the parts of a change
    start: int, end: int, code: str, detail: str, severity: Severity, *, shown: str | None = None
) -> Change:
    return Change(Edit(start, end, mark(detail or code) if shown is None else shown, code), code, detail, severity)


def _disjoint(changes: Iterable[Change]) -> list[Change]:
    """Return changes that do not overlap: where some do, the heaviest speaks for the stretch of all of them."""
    found: list[Change] = []
    for change in sorted(changes, key=lambda one: (one.edit.start, -one.edit.end)):
        last = found[-1] if found else None
        if last is None or change.edit.start >= last.edit.end:
            found.append(change)
            continue
        found[-1] = _joined(last, change)
    return found


def _joined(first: Change, second: Change) -> Change:
    """Return one change for two that overlap: the stretch of both, under the heavier one's code and mark."""
    heavy = second if second.severity > first.severity else first
    blank = " " if first.edit.replacement.startswith(" ") else ""
    shown = blank + (heavy.edit.replacement or first.edit.replacement or second.edit.replacement).lstrip()
    edit = Edit(first.edit.start, max(first.edit.end, second.edit.end), shown, heavy.code)
    return Change(edit, heavy.code, heavy.detail, heavy.severity)
