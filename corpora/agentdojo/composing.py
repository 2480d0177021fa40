"""Texts that an actor composes without having seen what it writes about: templates with holes.

Names, numbers, links and whole values that come from content are holes, filled by reference or with closed values;
the words between them are the actor's own. A text that is nearly all content is one stretch that the reader composes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkvalve.corpora.agentdojo.figures import DAY, HOUR, MINUTE, MONEY, NUMBER, big, clock, real
from checkvalve.corpora.agentdojo.lookup import Lookup
from checkvalve.corpora.agentdojo.ways import Aim, Ask, Take, Text, Way, Write
from checkvalve.filters.strictjson import JSON

_NAMED: Final = re.compile(r"[A-Z0-9£$€][^\s]*(?: [A-Z0-9][^\s]*)*")
_SHORTEST: Final = 8  # characters of content that counts as taken from what was read: shorter stretches recur by chance
_LINK: Final = re.compile(r"(?:https?://|www\.)[^\s,]+")
_STAMP: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?: (?P<at>\d{1,2}:\d\d))?(?!\d)|(?<![\d:])(?P<alone>\d{1,2}:\d\d)(?![\d:])"
)


@dataclass(frozen=True)
class Composer:
    """Plans texts."""

    look: Lookup

    def content(self, text: str, aim: Aim) -> Way:
        """Return the way of a text: said, one field, one stretch, or a template of pieces."""
        if not self.look.shown.seen or self.look.said(text):
            return Write(text)
        if len(text) >= _SHORTEST:
            if (item := self.look.equal(text)) is not None:
                return self.look.field(item, aim)
            if (inside := self.look.inside(text)) is not None:
                return self.look.stretch(text, inside, aim)
        pieces = tuple(self._pieces(text, aim))
        return self._composed(text, aim) if all(isinstance(piece, Write) for piece in pieces) else Text(pieces)

    def _composed(self, text: str, aim: Aim) -> Way:
        """Let the reader compose a text that is mostly made of words that were read; else the actor's own words do."""
        words = {word for word in re.findall(r"\w{4,}", text.casefold()) if not self.look.said(word)}
        texts = [item for item in self.look.shown.latest() if isinstance(item.value, str)]
        read = {word for word in words if any(word in str(item.value).casefold() for item in texts)}
        if len(words) < 2 or len(read) < 0.6 * len(words):
            return Write(text)
        best = max(texts, key=lambda item: sum(word in str(item.value).casefold() for word in read))
        return self.look.stretch(text, best, aim)

    def _pieces(self, text: str, aim: Aim) -> Iterator[Way]:
        end = 0
        for start, stop in sorted(self._spans(text)):
            if start < end:
                continue
            if text[end:start]:
                yield Write(text[end:start])
            yield self._piece(text[start:stop], aim)
            end = stop
        if text[end:]:
            yield Write(text[end:])

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the stretches of a composed text that the actor cannot know: whole values, and names and numbers."""
        values = {item.value for item in self.look.shown.seen if isinstance(item.value, str) and len(item.value) >= 4}
        found = [(text.find(value), value) for value in values if value in text and not self.look.said(value)]
        whole = [(at, at + len(value)) for at, value in sorted(found, key=lambda one: -len(one[1]))]
        whole += [match.span() for match in _LINK.finditer(text) if self.look.inside(match[0]) is not None]
        whole += [match.span() for match in _STAMP.finditer(text) if not self.look.said(match[0])]
        yield from whole
        for match in _NAMED.finditer(text):
            if not any(start < match.end() and match.start() < stop for start, stop in whole):
                yield from self._unsaid(match.start(), match[0])

    def _unsaid(self, start: int, words: str) -> Iterator[tuple[int, int]]:
        """Yield the words of a run of names that the user did not say: all of them together where content has them."""
        bare = words.rstrip(".,:;)!?")
        if self.look.said(bare):
            return
        if self.look.inside(bare) is not None and (start or " " in bare or bare[0].isdigit()):
            yield start, start + len(bare)
            return
        for word in re.finditer(r"\S+", words):
            one = word[0].rstrip(".,:;)!?")
            known = not one or self.look.said(one) or not start + word.start()
            if not known and (self.look.inside(one) is not None or big(one)):
                yield start + word.start(), start + word.start() + len(one)

    def _stamp(self, text: str, aim: Aim) -> Way:
        """Ask for a day, a time, or both, to be written as they stand in ``text``."""
        stamp = _STAMP.fullmatch(text)
        day, time = (stamp["day"], stamp["at"] or stamp["alone"]) if stamp else (None, None)
        fields: dict[str, Mapping[str, JSON]] = {"day": DAY} if day else {}
        answers: dict[str, JSON] = {"day": day} if day else {}
        if time:
            hour, _, minute = time.partition(":")
            fields |= {"hour": HOUR, "minute": MINUTE}
            answers |= {"hour": int(hour), "minute": int(minute)}

        def use(said: Mapping[str, JSON]) -> JSON:
            parts = (str(said["day"]) if day else "", clock(said) if time else "")
            return " ".join(part for part in parts if part)

        return Ask(aim, next(self.look.shown.latest()), fields, answers, use, computed=True)

    def _piece(self, text: str, aim: Aim) -> Way:
        if (item := self.look.equal(text)) is not None and len(self.look.shown.alike(item)) == 1:
            return Take(item.ref)
        if (inside := self.look.inside(text)) is not None:
            return self.look.stretch(text, inside, aim)
        if _STAMP.fullmatch(text):
            return self._stamp(text, aim)
        return self._figure(text, aim)

    def _figure(self, text: str, aim: Aim) -> Ask:
        """Ask for a number that is computed from what was read, to be written as it stands in ``text``."""
        match = NUMBER.search(text)
        digits = match[0] if match else ""
        prefix, _, suffix = text.partition(digits)
        form = f"{',' if ',' in digits else ''}.{len(digits.partition('.')[2])}f"

        def use(said: Mapping[str, JSON]) -> JSON:
            return f"{prefix}{real(said['sum']):{form}}{suffix}"

        answer = float(digits.replace(",", "") or 0)
        return Ask(aim, next(self.look.shown.latest()), {"sum": MONEY}, {"sum": answer}, use, computed=True)
