"""Which parts of a text a card does not show, by rule, and the mark that stands there instead.

1. What the deployer registered, what has the form of a key, and what a name before it calls a password: found anywhere
by :mod:`checkvalve.filters.secrets`. 2. What the arguments of the task hold that are declared as secret: found again in
every text around them, in the forms that a registered value is found in. 3. One that is too short for that is found as
a word of its own; one that is too long, line by line.

Guarantees: pure; the mark says how many characters are not shown, and a digest of them that is keyed: without the key
nobody can try out what would give it. Within a task the same secret has the same mark. A lifted veil hides nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.render import warnings
from checkvalve.approvals.veiled import CLOSE, OPEN, Hidden, veiled
from checkvalve.filters.secrets.registered import MIN_VALUE, NOTHING, Registered
from checkvalve.filters.secrets.scan import find_secrets, merged
from checkvalve.filters.secrets.vendors import SecretHit
from checkvalve.filters.strictjson import JSON

MARK_DIGITS: Final = 8
"""Hexadecimal digits of a mark: enough to tell the secrets of one task apart."""
MAX_FORMS: Final = 256
"""Characters of a declared secret that is looked for in every form; longer ones are texts, and found line by line."""
MIN_WORD: Final = 3
"""Letters and digits of a secret that is looked for at all: two of them stand in every text."""
_MIN_LINE: Final = 12
_MAX_LINES: Final = 200
_DECLARED: Final = "declared"


@dataclass(frozen=True, slots=True)
class Told:
    """Secrets that arguments of a task hold because somebody declared them so."""

    forms: Registered = NOTHING
    words: re.Pattern[str] | None = None
    lines: tuple[str, ...] = ()

    def find(self, text: str, *, words: bool) -> Iterator[SecretHit]:
        """Yield every place one of them stands at; the short ones only where ``words`` says so."""
        yield from self.forms.find(text)
        for pattern in [self.words] if words and self.words is not None else []:
            yield from (SecretHit(match.start(), match.end(), _DECLARED) for match in pattern.finditer(text))
        for line in self.lines:
            at = text.find(line)
            while at >= 0:
                yield SecretHit(at, at + len(line), _DECLARED)
                at = text.find(line, at + len(line))


def told(secrets: Iterable[str]) -> Told:
    """Return what is looked for, so that these secrets are found again."""
    forms, words, lines = list[tuple[str, str]](), set[str](), dict[str, None]()
    for secret in {text.strip(): None for text in secrets}:
        size = sum(map(str.isalnum, secret))
        if len(secret) > MAX_FORMS:
            lines.update((line.strip(), None) for line in secret.splitlines() if len(line.strip()) >= _MIN_LINE)
        elif size >= MIN_VALUE:
            forms.append((_DECLARED, secret))
        elif size >= MIN_WORD:
            words.add(re.escape(secret))
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(words))})(?![^\W_])") if words else None
    return Told(Registered(forms) if forms else NOTHING, pattern, tuple(lines)[:_MAX_LINES])


@dataclass(frozen=True, slots=True)
class Veil:
    """What is not shown of one task. ``key`` makes its marks."""

    key: bytes
    registered: Registered = NOTHING
    told: Told = Told()
    lifted: bool = False

    def mark(self, secret: str) -> str:
        """Return what stands in the place of a secret."""
        found = hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"{OPEN}redacted: {len(secret)} characters, mark {found[:MARK_DIGITS]}{CLOSE}"

    def hidden(self, text: str, *, before: str = "", words: bool = True) -> list[Hidden]:
        """Return the stretches of a text that are not shown, in order and apart.

        ``before`` is a name that stands before it and may call it a secret; ``words`` says whether short secrets of the
        task are looked for, too, which in a destination might be anything.
        """
        if self.lifted or not text:
            return []
        named = f"{before}: " if before else ""
        found = [*find_secrets(text, self.registered), *self.told.find(text, words=words)]
        if named:
            start = len(named)
            behind = (hit for hit in find_secrets(named + text) if hit.end > start)
            found += [SecretHit(max(0, hit.start - start), hit.end - start, hit.code) for hit in behind]
        return [Hidden(hit.start, hit.end, self.mark(text[hit.start : hit.end])) for hit in merged(found)]

    def whole(self, text: str) -> list[Hidden]:
        """Return the one stretch of a text of which nothing is shown but that it is there."""
        return [] if self.lifted or not text else [Hidden(0, len(text), self.mark(text))]

    def text(self, text: str) -> str:
        """Return a text as it is shown: the same one where nothing in it is hidden."""
        return shown_text(text, self.hidden(text))

    def beneath(self, path: str, text: str) -> str:
        """Return a text as it is shown that stands under a name, which may call it a password."""
        return shown_text(text, self.hidden(text, before=last_name(path)))

    def beneath_json(self, path: str, value: JSON) -> JSON:
        """Return any value as it is shown that stands under a name and is no argument of a recorded call."""
        if isinstance(value, dict):
            return {self.text(key): self.beneath_json(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.beneath_json(path, item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        hidden = self.hidden(text, before=last_name(path))
        return shown_text(text, hidden) if hidden else value

    def json(self, value: JSON) -> JSON:
        """Return a value as it is shown, texts and names in it one by one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.json(item) for key, item in value.items()}
        return [self.json(item) for item in value] if isinstance(value, list) else value


def last_name(path: str) -> str:
    """Return the last name of a dotted path: what somebody called the value."""
    return next((step for step in reversed(path.split(".")) if not step.isdigit()), path)


def shown_text(text: str, hidden: Sequence[Hidden]) -> str:
    """Return a text without its hidden stretches."""
    return veiled(text, hidden, warnings(text))[0] if hidden else text


__all__ = ["MARK_DIGITS", "MAX_FORMS", "Told", "Veil", "last_name", "shown_text", "told"]
