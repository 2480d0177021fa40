"""Which parts of a text a card does not show, by rule, and the mark that stands there instead.

1. What the deployer registered, what has the form of a key, and what a name before it calls a password: found anywhere
by :mod:`checkvalve.filters.secrets`. 2. What the arguments of the task hold that are declared as secret: found again in
every text around them by :mod:`checkvalve.approvals.declared_secrets`. 3. What a person judges a call by, such as its
destination, is searched for the deployer's values and for keys of a known form, and for nothing that the model that
proposes could have declared or named as secret.

Guarantees: pure; brackets of the content are code points, so no content writes a mark; names stay apart; the mark says
how many characters are not shown, and a digest of them that is keyed: without the key nobody can try out what would
give it. Within a task the same secret has the same mark. A lifted veil hides nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.declared_secrets import MAX_FORMS, UNTOLD, Told, told
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.render import warnings
from checkvalve.approvals.veiled import CLOSE, OPEN, Hidden, joined, veiled
from checkvalve.filters.secrets.registered import NOTHING, Registered
from checkvalve.filters.secrets.scan import find_secrets, merged
from checkvalve.filters.secrets.vendors import SecretHit, vendor_secrets
from checkvalve.filters.strictjson import JSON

MARK_DIGITS: Final = 8
"""Hexadecimal digits of a mark: enough to tell the secrets of one task apart."""
OPEN_ROLES: Final = frozenset({Role.CONTENT.value, ""})
"""Roles whose values may be anything, so that what a call declares as secret is looked for; empty: nothing is known."""


@dataclass(frozen=True, slots=True)
class Veil:
    """What is not shown of one task. ``key`` makes its marks."""

    key: bytes
    registered: Registered = NOTHING
    told: Told = UNTOLD
    lifted: bool = False

    def mark(self, secret: str) -> str:
        """Return what stands in the place of a secret."""
        found = hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"{OPEN}redacted: {len(secret)} characters, mark {found[:MARK_DIGITS]}{CLOSE}"

    def hidden(self, text: str, *, before: str = "", judged: bool = False) -> list[Hidden]:
        """Return the stretches of a text that are not shown, in order and apart.

        ``before`` is a name that stands before it and may call it a secret. ``judged`` says that a person judges the
        call by it: nothing in it is hidden because a call declared the same somewhere, or a name calls it a secret.
        """
        if self.lifted or not text:
            return []
        if judged:
            return self._marked(text, [*self.registered.find(text), *vendor_secrets(text)])
        named = f"{before}: " if before else ""
        found = [*find_secrets(text, self.registered), *self.told.find(text)]
        if named:
            start = len(named)
            behind = (hit for hit in find_secrets(named + text) if hit.end > start)
            found += [SecretHit(max(0, hit.start - start), hit.end - start, hit.code) for hit in behind]
        return self._marked(text, found)

    def _marked(self, text: str, found: Iterable[SecretHit]) -> list[Hidden]:
        return [Hidden(hit.start, hit.end, self.mark(text[hit.start : hit.end])) for hit in merged(found)]

    def whole(self, text: str) -> list[Hidden]:
        """Return the one stretch of a text of which nothing is shown but that it is there."""
        return [] if self.lifted or not text else [Hidden(0, len(text), self.mark(text))]

    def shown(self, text: str, hidden: Sequence[Hidden]) -> str:
        """Return a text without its hidden stretches; under a lifted veil it is the text itself."""
        return text if self.lifted else shown_text(text, hidden)

    def text(self, text: str) -> str:
        """Return a text as it is shown: the same one where nothing in it is hidden and no bracket is in it."""
        return self.shown(text, self.hidden(text))

    def judged(self, text: str) -> str:
        """Return a text as it is shown that a person judges by."""
        return self.shown(text, self.hidden(text, judged=True))

    def bound(self, role: str, text: str) -> str:
        """Return what a rule demands of an argument of some role, as it is shown."""
        return self.text(text) if role in OPEN_ROLES else self.judged(text)

    def beneath(self, path: str, text: str) -> str:
        """Return a text as it is shown that stands under a name, which may call it a password."""
        return self.shown(text, self.hidden(text, before=last_name(path)))

    def beneath_json(self, path: str, value: JSON) -> JSON:
        """Return any value as it is shown that stands under a name and is no argument of a recorded call."""
        if isinstance(value, dict):
            names = apart(value, self.text)
            return {names[key]: self.beneath_json(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.beneath_json(path, item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        hidden = self.hidden(text, before=last_name(path))
        return self.shown(text, hidden) if hidden or isinstance(value, str) else value

    def json(self, value: JSON) -> JSON:
        """Return a value as it is shown, texts and names in it one by one."""
        return one_by_one(value, self.text)

    def judged_json(self, value: JSON) -> JSON:
        """Return a value as it is shown whose texts a person judges by."""
        return one_by_one(value, self.judged)


def one_by_one(value: JSON, show: Callable[[str], str]) -> JSON:
    """Return a value in which each text, and each name apart from the others, is as ``show`` gives it."""
    if isinstance(value, str):
        return show(value)
    if isinstance(value, dict):
        names = apart(value, show)
        return {names[key]: one_by_one(item, show) for key, item in value.items()}
    return [one_by_one(item, show) for item in value] if isinstance(value, list) else value


def apart(names: Iterable[str], show: Callable[[str], str]) -> dict[str, str]:
    """Return how each name is shown: two that would look the same are numbered, so that no member is lost."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        first = shown = show(name)
        number = 1
        while shown in used:
            number += 1
            shown = joined([first, f" ({number})"])
        used.add(shown)
        found[name] = shown
    return found


def last_name(path: str) -> str:
    """Return the last name of a dotted path: what somebody called the value."""
    return next((step for step in reversed(path.split(".")) if not step.isdigit()), path)


def shown_text(text: str, hidden: Sequence[Hidden]) -> str:
    """Return a text without its hidden stretches, and with brackets of its own as code points."""
    if hidden or OPEN in text or CLOSE in text:
        return veiled(text, hidden, warnings(text))[0]
    return text


__all__ = ["MARK_DIGITS", "MAX_FORMS", "OPEN_ROLES", "Told", "Veil", "apart", "last_name", "shown_text", "told"]
