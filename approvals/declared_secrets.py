"""Values that the calls of a task declare as secret, found again in the texts around them.

1. One with six letters or digits is found in every form that a registered value is found in. 2. One with three is found
as a word of its own. 3. One of signs, four characters at least, and whatever cannot be looked for otherwise, as it
stands. 4. A text over 256 characters: its lines, and any 32 letters and digits of it in a row, so that neither wrapping
nor the escapes of JSON hide it.

Guarantees: pure; linear in the text; letters are counted as :mod:`checkvalve.filters.secrets` counts them; no value,
whatever is in it, makes this fail. Which texts are searched is for others to say: a destination is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.errors import FilterError
from checkvalve.filters.secrets.readings import squeezed
from checkvalve.filters.secrets.registered import MIN_VALUE, NOTHING, Registered
from checkvalve.filters.secrets.vendors import SecretHit

MAX_FORMS: Final = 256
"""Characters of a declared secret that is looked for in every form; longer ones are texts, and found in parts."""
MIN_WORD: Final = 3
"""Letters and digits of a secret that is looked for as a word: two of them stand in every text."""
MIN_SIGNS: Final = 4
"""Characters of a secret of signs that is looked for at all."""
_MIN_LINE: Final = 12
_MAX_LINES: Final = 200
_RUN: Final = 32  # letters and digits in a row that are a part of a long secret and hardly chance
_STEP: Final = 8
_MAX_RUNS: Final = 400_000  # letters and digits of all long secrets of a task that are looked for in a row
_BREAKS: Final = re.compile(r"\\[nrtbf]")
_DECLARED: Final = "declared"


@dataclass(frozen=True, slots=True)
class Told:
    """Secrets that arguments of a task hold because somebody declared them so."""

    forms: Registered = NOTHING
    words: re.Pattern[str] | None = None
    whole: tuple[str, ...] = ()
    long: str = field(default="", repr=False)  # what is looked for in a row, one secret behind the other
    runs: dict[str, int] = field(default_factory=dict, repr=False)

    def find(self, text: str) -> Iterator[SecretHit]:
        """Yield every place one of them stands at."""
        yield from self.forms.find(text)
        if self.words is not None:
            yield from (SecretHit(match.start(), match.end(), _DECLARED) for match in self.words.finditer(text))
        for secret in self.whole:
            at = text.find(secret)
            while at >= 0:
                yield SecretHit(at, at + len(secret), _DECLARED)
                at = text.find(secret, at + len(secret))
        if self.runs:
            yield from self._in_a_row(*squeezed(_BREAKS.sub("  ", text)))

    def _in_a_row(self, view: str, places: Sequence[int]) -> Iterator[SecretHit]:
        """Yield what is as much as a run of a long secret, and as far as it goes on like it to both sides."""
        at = reached = 0
        while at + _RUN <= len(view):
            start = self.runs.get(view[at : at + _RUN])
            if start is None:
                at += 1
                continue
            first, last, end = at, at + _RUN, start + _RUN
            while first > reached and start > 0 and view[first - 1] == self.long[start - 1]:
                first, start = first - 1, start - 1
            while last < len(view) and end < len(self.long) and view[last] == self.long[end]:
                last, end = last + 1, end + 1
            yield SecretHit(places[first], places[last - 1] + 1, _DECLARED)
            at = reached = last


UNTOLD: Final = Told()
"""Nothing that is looked for."""


def told(secrets: Iterable[str]) -> Told:
    """Return what is looked for, so that these secrets are found again."""
    forms, words, whole, long = list[str](), set[str](), list[str](), list[str]()
    lines: dict[str, None] = {}
    for secret in {text.strip(): None for text in secrets}:
        size = len(squeezed(secret)[0])
        if len(secret) > MAX_FORMS:
            lines.update((line.strip(), None) for line in secret.splitlines() if len(line.strip()) >= _MIN_LINE)
            long.append(squeezed(_BREAKS.sub("  ", secret))[0])
        elif size >= MIN_VALUE:
            forms.append(secret)
        elif size >= MIN_WORD:
            words.add(re.escape(secret))
        elif len(secret) >= MIN_SIGNS:
            whole.append(secret)
    known = _registered(forms)
    if known is None:  # one of them cannot be registered: it is found as it stands
        alone = {secret: _registered([secret]) for secret in forms}
        whole += [secret for secret in forms if alone[secret] is None]
        known = _registered([secret for secret in forms if alone[secret] is not None]) or NOTHING
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(words))})(?![^\W_])") if words else None
    row = "\n".join(long)[:_MAX_RUNS]
    return Told(known, pattern, (*whole, *[*lines][:_MAX_LINES]), row, dict(_runs(row)))


def _registered(secrets: Sequence[str]) -> Registered | None:
    try:
        return Registered((_DECLARED, secret) for secret in secrets) if secrets else NOTHING
    except (FilterError, ValueError):
        return None


def _runs(row: str) -> Iterator[tuple[str, int]]:
    """Yield runs of a text so close together that each longer one holds one of them whole."""
    for start in range(0, len(row) - _RUN + 1, _STEP):
        run = row[start : start + _RUN]
        if "\n" not in run:
            yield run, start


__all__ = ["MAX_FORMS", "MIN_SIGNS", "MIN_WORD", "UNTOLD", "Told", "told"]
