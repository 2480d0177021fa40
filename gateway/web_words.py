"""The frame texts of the review pages in three languages: one flat catalogue each, the same keys in all.

Guarantees: only what the pages themselves say is translated, never content; a word that is not in the catalogue, such
as a rule of somebody's own policy, is shown as it is, made safe like content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from checkvalve.approvals.render import short

LANGUAGES: Final = {"en": "English", "de": "Deutsch", "zh": "\u4e2d\u6587"}
"""Codes with the names that their speakers use. The first one is the fallback."""
_FOLDER: Final = Path(__file__).parent / "web" / "words"
_SPANS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class Words:
    """One catalogue."""

    language: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of ``key`` with ``values`` put in; the key's last part, made safe, where there is none."""
        found = self.texts.get(key)
        if found is None:
            return short(key.rpartition(".")[2])
        return found.format_map({name: short(str(value)) for name, value in values.items()}) if values else found

    def has(self, key: str) -> bool:
        """Say whether there is a text for it."""
        return key in self.texts

    def span(self, micros: int, *, plain: bool = False) -> str:
        """Return a length of time in its largest unit; ``plain`` where no word before it changes its case."""
        seconds = max(0, micros) // 1_000_000
        for size, unit in _SPANS:
            if seconds >= size:
                count = seconds // size
                key = f"span.{unit}" if count == 1 else f"span.{unit}s"
                return self(self._cased(key, plain=plain), n=count)
        return self(self._cased("span.now", plain=plain))

    def _cased(self, key: str, *, plain: bool) -> str:
        other = key.replace("span.", "span.plain.")
        return other if plain and self.has(other) else key


@lru_cache(maxsize=len(LANGUAGES))
def words_in(language: str) -> Words:
    """Return the catalogue of a language code."""
    return Words(language, json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8")))


def chosen(cookie: str, accepted: str) -> Words:
    """Return the catalogue a browser wants: the one that was picked, else the first known one of Accept-Language."""
    for code in (cookie, *(part.split(";")[0].strip()[:2].lower() for part in accepted[:200].split(","))):
        if code in LANGUAGES:
            return words_in(code)
    return words_in(next(iter(LANGUAGES)))


__all__ = ["LANGUAGES", "Words", "chosen", "words_in"]
