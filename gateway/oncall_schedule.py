"""A schedule of who is on call: turns that go round, single spans, and overrides, in the local time of their zones.

1. Every entry becomes spans of time in UTC; a turn begins and ends at the same local time all year. 2. An override goes
before everything else. 3. Of the rest, two entries never cover one moment: that is an error, since nobody could say
which counts. 4. A moment that nothing covers is an error as well, unless the schedule says ``gaps = "allowed"``.

Guarantees: pure; a local time that the clock skips is taken as if it had not been changed yet, one that comes twice is
its first; the same file gives the same answer everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

LOOKED: Final = timedelta(days=400)
"""How far ahead gaps and overlaps are looked for: every day of a year, and both changes of the clock."""
_DAY: Final = timedelta(days=1)
_INSTANT: Final = timedelta(microseconds=1)
_FORM: Final = "%Y-%m-%d %H:%M"


@dataclass(frozen=True, order=True, slots=True)
class Cover:
    """Who is on call from ``start`` to before ``end``, both in UTC. In order, the one that begins first is first."""

    start: datetime
    end: datetime
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a schedule, when and who; and what to do."""

    said: str
    remedy: str


class Entry(Protocol):
    """Something that covers time."""

    @property
    def bounds(self) -> tuple[datetime, datetime | None]:
        """From when on it covers anything, and until when; None: for ever."""

    def covers(self, since: datetime, until: datetime) -> Iterator[Cover]:
        """Yield what it covers of a time, whole covers only, in order."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span in local time."""

    people: tuple[str, ...]
    start: datetime
    end: datetime
    zone: ZoneInfo

    @property
    def bounds(self) -> tuple[datetime, datetime | None]:
        """See :class:`Entry`."""
        return _utc(self.start, self.zone), _utc(self.end, self.zone)

    def covers(self, since: datetime, until: datetime) -> Iterator[Cover]:
        """See :class:`Entry`."""
        start, end = _utc(self.start, self.zone), _utc(self.end, self.zone)
        if start < until and end > since:
            yield Cover(start, end, self.people)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Turns of ``every`` whole days from ``start`` on, in local time; one after the other, and round again.

    With ``hours`` (from, to; to may be on the next day) or ``days`` (0 is Monday) a turn covers only these; who has the
    turn when such a window begins has it whole.
    """

    turns: tuple[tuple[str, ...], ...]
    start: datetime
    every: timedelta
    zone: ZoneInfo
    hours: tuple[time, time] | None = None
    days: frozenset[int] = frozenset()
    end: datetime | None = None

    @property
    def bounds(self) -> tuple[datetime, datetime | None]:
        """See :class:`Entry`."""
        return _utc(self.start, self.zone), None if self.end is None else _utc(self.end, self.zone)

    def covers(self, since: datetime, until: datetime) -> Iterator[Cover]:
        """See :class:`Entry`."""
        low, high = _local(since, self.zone) - 2 * _DAY, _local(until, self.zone) + 2 * _DAY
        for start, end, turn in self._windows(low, high) if self.hours or self.days else self._turns(low, high):
            stop = end if self.end is None else min(end, self.end)
            cover = Cover(_utc(start, self.zone), _utc(stop, self.zone), self.turns[turn % len(self.turns)])
            if cover.start < until and cover.end > since and cover.start < cover.end:
                yield cover

    def _turns(self, low: datetime, high: datetime) -> Iterator[tuple[datetime, datetime, int]]:
        first = max(0, (low - self.start) // self.every)
        for turn in itertools.count(first):
            start = self.start + turn * self.every
            if start >= high:
                return
            yield start, start + self.every, turn

    def _windows(self, low: datetime, high: datetime) -> Iterator[tuple[datetime, datetime, int]]:
        opens, closes = self.hours or (time(), time())
        length = timedelta(hours=closes.hour - opens.hour, minutes=closes.minute - opens.minute)
        length = length if length > timedelta() else length + _DAY
        day = max(low, self.start).date()
        while datetime.combine(day, opens) < high:
            start = datetime.combine(day, opens)
            if start >= self.start and (not self.days or day.weekday() in self.days):
                yield start, start + length, (start - self.start) // self.every
            day += _DAY


@dataclass(frozen=True, slots=True)
class Schedule:
    """The entries of one name."""

    name: str
    zone: ZoneInfo
    entries: tuple[Entry, ...]
    overrides: tuple[Span, ...] = ()
    gaps: bool = False

    def at(self, moment: datetime) -> Cover | None:
        """Return who is on call at a moment, None where nobody is."""
        for listed in (self.overrides, self.entries):
            found = next((cover for entry in listed for cover in entry.covers(moment, moment + _INSTANT)), None)
            if found is not None:
                return found
        return None

    def problem(self, now: datetime) -> Problem | None:
        """Return what is wrong with the schedule from ``now`` on; None where nothing is."""
        until = now + LOOKED
        for what, listed in (("overrides", self.overrides), ("entries", self.entries)):
            covers = sorted(cover for entry in listed for cover in entry.covers(now, until))
            for one, other in itertools.pairwise(covers):
                if other.start < one.end:
                    return self._overlap(what, one, other)
        if self.gaps or not self.entries:
            return None
        return self._gap(now, until)

    def _gap(self, now: datetime, until: datetime) -> Problem | None:
        start = max(now, min(entry.bounds[0] for entry in self.entries))
        ends = [entry.bounds[1] for entry in self.entries]
        known = [end for end in ends if end is not None]
        end = until if len(known) < len(ends) else min(until, max(known))
        every: Sequence[Entry] = (*self.entries, *self.overrides)
        at, gaps = start, list[tuple[datetime, datetime]]()
        for cover in sorted(cover for entry in every for cover in entry.covers(start, end)):
            if cover.start > at:
                gaps.append((at, cover.start))
            at = max(at, cover.end)
        if at < end:
            gaps.append((at, end))
        if not gaps:
            return None
        more = f", and {len(gaps) - 1} times more within {LOOKED.days} days" if len(gaps) > 1 else ""
        said = f"{self.name}: nobody is on call from {self._in_words(*gaps[0])}{more}"
        return Problem(said, 'mend the times, or say gaps = "allowed"')

    def _overlap(self, what: str, one: Cover, other: Cover) -> Problem:
        span = self._in_words(other.start, min(one.end, other.end))
        both = f"{' and '.join(one.people)}, and {' and '.join(other.people)}"
        said = f"{self.name}: two {what} cover the time from {span}: {both}"
        return Problem(said, "shorten one of them, or make it an [[schedule.override]]")

    def _in_words(self, start: datetime, end: datetime) -> str:
        low, high = (moment.astimezone(self.zone).strftime(_FORM) for moment in (start, end))
        return f"{low} to {high} ({self.zone.key})"


def _utc(local: datetime, zone: ZoneInfo) -> datetime:
    return local.replace(tzinfo=zone).astimezone(UTC)


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


__all__ = ["LOOKED", "Cover", "Entry", "Problem", "Rotation", "Schedule", "Span"]
