"""Values that must not leave, found in whatever form they are written: the strongest check against smuggling data out.

Guarantees: linear in the text and independent of how many values there are; a value is found as it stands, in another
letter case, reversed, split by signs, line breaks or markup, in letters that look like its own, in hidden text
(tags, selectors, bits), in Base64 at each of the three offsets, Base32, hexadecimal and ROT13, percent-encoded, in
backslash escapes or entities, and in two of these forms one inside the other; as UTF-16 in Base64 or hexadecimal, as
Base85, and as a list of decimal, octal, hexadecimal or binary codes. Values are only held in this object: it prints how
many there are and nothing of them. A part of a value is not found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.linear import Pattern
from checkvalve.filters.secrets.readings import bare_views, squeezed, views
from checkvalve.filters.secrets.spellings import KEY, forms_of
from checkvalve.filters.secrets.unseen import unseen
from checkvalve.filters.secrets.vendors import SecretHit

MIN_VALUE: Final = 6
"""Letters and digits of the shortest value: a shorter one would be found in ordinary text."""
MAX_VALUE: Final = 4096
_SPLIT_FROM: Final = 8  # letters and digits from which on a value is also found split by signs
_FEW_KEYS: Final = 5_000  # beginnings that one pattern takes
_OPEN_FROM: Final = 4  # signs of a form that keep a stream from going on


class Registered:
    """A set of values with the code that a find is reported under."""

    def __init__(self, values: Iterable[tuple[str, str]] = ()) -> None:
        """Take ``(code, value)`` pairs; a value is kept in no form that could be printed.

        Raises:
            HostileInputError: ``value_too_short`` or ``value_too_long``; the text repeats nothing of the value.
        """
        self._forms: dict[str, list[tuple[str, str, frozenset[str]]]] = defaultdict(list)
        self._longest = 0
        known: set[tuple[str, str]] = set()
        self._size = 0
        for code, value in values:
            plain = squeezed(value)[0]
            if len(plain) < MIN_VALUE:
                raise HostileInputError("value_too_short", f"a registered value needs {MIN_VALUE} letters or digits")
            if len(value) > MAX_VALUE:
                raise HostileInputError("value_too_long", f"a registered value has at most {MAX_VALUE} characters")
            self._size += 1
            for form, around in forms_of(value).items():
                if (form, code) not in known:
                    known.add((form, code))
                    self._forms[form[:KEY]].append((form, code, around))
                    self._longest = max(self._longest, len(form))
        self._openings = {key[:_OPEN_FROM] for key in self._forms}

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<Registered, {self._size} values>"

    def find(self, text: str) -> list[SecretHit]:
        """Return every place a value stands at, in characters of ``text``, in order and without overlaps."""
        if not self._forms:
            return []
        hits = self._seen(text)
        for hidden in () if text.isascii() else unseen(text).spelled:
            hits += [SecretHit(hidden.start, hidden.end, hit.code) for hit in self._seen(hidden.text)]
        if not hits:
            return []
        return list(_disjoint(sorted(set(hits), key=lambda hit: (hit.start, -hit.end))))

    def _seen(self, text: str) -> list[SecretHit]:
        """Return every place in what ``text`` shows, and where tags stand for letters of a value that is begun."""
        if not any(map(self._can_hold, bare_views(text))):
            return []
        return [hit for view, places in views(text) for hit in self._in_view(text, view, places)]

    def _can_hold(self, view: str) -> bool:
        """Say whether any form can stand in a view at all; only then the places of its signs are needed."""
        if self._keys is not None:
            return self._keys.found(view)
        forms = self._forms
        return any(view[start : start + KEY] in forms for start in range(len(view) - KEY + 1))

    @cached_property
    def _keys(self) -> Pattern | None:
        """The beginnings of all forms as one pattern, while they are few enough to be one."""
        keys = [key for key in self._forms if key.isascii()]
        return Pattern("|".join(keys)) if len(keys) == len(self._forms) <= _FEW_KEYS else None

    def _in_view(self, text: str, view: str, places: Sequence[int]) -> Iterator[SecretHit]:
        forms = self._forms
        for start in range(len(view) - KEY + 1):
            for form, code, around in forms.get(view[start : start + KEY], ()):
                if not view.startswith(form, start):
                    continue
                first, last = places[start], _end(text, places, start + len(form))
                if around:  # the stretch goes on to both sides with signs that say a part of the value, too
                    first, last = _run_before(text, first, around), _run_behind(text, last, around)
                if len(form) >= _SPLIT_FROM or _stands_whole(text, first, last):
                    yield SecretHit(first, last, code)

    def open_from(self, text: str) -> int:
        """Return where an unfinished value may begin at the end of ``text``; its length when none does."""
        if not self._forms:
            return len(text)
        base = max(0, len(text) - 4 * self._longest)
        tail = text[base:]
        if not any(map(self._may_be_open, bare_views(tail))):
            return len(text)
        for view, places in views(tail):
            for start in range(max(0, len(view) - self._longest), len(view) - _OPEN_FROM + 1):
                rest = view[start:]
                if rest[:_OPEN_FROM] in self._openings and self._begins(rest):
                    return base + places[start]
        return len(text)

    def _may_be_open(self, view: str) -> bool:
        first = max(0, len(view) - self._longest)
        if self._opened is not None:
            return self._opened.found(view[first:])
        return any(
            view[start : start + _OPEN_FROM] in self._openings for start in range(first, len(view) - _OPEN_FROM + 1)
        )

    @cached_property
    def _opened(self) -> Pattern | None:
        if not all(key.isascii() for key in self._openings) or len(self._openings) > _FEW_KEYS:
            return None
        return Pattern("|".join(sorted(self._openings)))

    def _begins(self, rest: str) -> bool:
        if len(rest) >= KEY:
            return any(form.startswith(rest) for form, *_ in self._forms.get(rest[:KEY], ()))
        return any(key.startswith(rest) for key in self._forms)


NOTHING: Final = Registered()
"""No value at all."""


def _stands_whole(text: str, first: int, last: int) -> bool:
    """Say whether a short value stands as one word: not split, and no part of a longer one."""
    before, after = text[first - 1 : first], text[last : last + 1]
    whole = not (before.isalnum() or after.isalnum())
    return whole and not any(char.isspace() for char in text[first:last])


def _run_before(text: str, end: int, signs: frozenset[str]) -> int:
    """Return where the run of encoded signs begins that reaches to ``end``."""
    while end > 0 and text[end - 1] in signs:
        end -= 1
    return end


def _run_behind(text: str, start: int, signs: frozenset[str]) -> int:
    while start < len(text) and text[start] in signs:
        start += 1
    return start


def _end(text: str, places: Sequence[int], index: int) -> int:
    """Return the end of a hit: right behind its last sign, with the padding of Base64."""
    end = places[index]
    while end > places[index - 1] + 1 and text[end - 1] != "=" and not text[end - 1].isalnum():
        end -= 1
    return end


def _disjoint(hits: Iterable[SecretHit]) -> Iterator[SecretHit]:
    reached = 0
    for hit in hits:
        if hit.start >= reached:
            yield hit
            reached = hit.end
