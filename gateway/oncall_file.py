"""The file of on-call: schedules, services and programs of the organisation that know who is on call.

Guarantees: an unknown key, zone or day is an error that names it; a gap or an overlap of a schedule is an error that
says when and who; a secret stands in a file of its own and never here; relative paths are relative to the file.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from checkvalve.approvals.moments import moment
from checkvalve.approvals.oncall import MAX_PEOPLE, YEARS
from checkvalve.approvals.people import RULE, is_usable
from checkvalve.gateway.channel_secrets import check_url, secret_text, signing_secrets
from checkvalve.gateway.errors import ChannelError, OnCallError
from checkvalve.gateway.oncall_schedule import Entry, Problem, Rotation, Schedule, Span
from checkvalve.gateway.placed_file import PlacedFile

_FILE: Final = PlacedFile(
    "oncall",
    ("secret_file", "token_file", "ca_file"),
    OnCallError,
    "see docs/escalation.md for what the file may say",
)
MAX_TURNS: Final = 100
MAX_CACHE: Final = 900
"""Seconds that an answer may be kept."""
_NAME: Final = r"^[a-z][a-z0-9-]{0,39}$"
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EVERY: Final = re.compile(r"([1-9][0-9]{0,2})([dw])")
_HOURS: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{16,4096}")


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {value!r}; name one such as Europe/Berlin, or UTC") from None
    return value


def _person(value: str) -> str:
    if not is_usable(value):
        raise ValueError(f"a person is {RULE}")
    return value.strip()


def _local(value: object) -> object:
    if not isinstance(value, datetime) or value.tzinfo is not None:
        raise ValueError("this is a local date and time without quotes and zone, such as 2026-11-30T09:00:00")
    if value.year not in YEARS:
        raise ValueError(f"the year {value.year} is not one from {YEARS[0]} to {YEARS[-1]}")
    return value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _every(value: object) -> object:
    found = _EVERY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("a turn is whole days or weeks, such as 1d or 1w")
    return timedelta(days=int(found[1]) * (7 if found[2] == "w" else 1))


def _hours(value: object) -> object:
    found = _HOURS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("hours are two times, such as 09:00-17:00")
    return time(int(found[1]), int(found[2])), time(int(found[3] or 0), int(found[4] or 0))


Zone = Annotated[str, AfterValidator(_zone)]
Person = Annotated[str, AfterValidator(_person)]
People = Annotated[list[Person], BeforeValidator(_listed), Field(min_length=1, max_length=MAX_PEOPLE)]
Local = Annotated[datetime, BeforeValidator(_local)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpanEntry(_Strict):
    """One span in local time: of a schedule's own, or an override."""

    people: People
    start: Local = Field(alias="from")
    end: Local = Field(alias="to")
    zone: Zone = ""

    @model_validator(mode="after")
    def _forwards(self) -> SpanEntry:
        if self.end <= self.start:
            raise ValueError("`to` has to lie after `from`")
        return self

    def made(self, zone: str) -> Span:
        """Return it in its own zone, or that of the schedule."""
        return Span(tuple(self.people), self.start, self.end, ZoneInfo(self.zone or zone))


class RotationEntry(_Strict):
    """Turns that go round."""

    people: Annotated[list[People], Field(min_length=1, max_length=MAX_TURNS)]
    start: Local
    every: Annotated[timedelta, BeforeValidator(_every)]
    hours: Annotated[tuple[time, time], BeforeValidator(_hours)] | None = None
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = []
    end: Local | None = Field(None, alias="until")
    zone: Zone = ""

    def made(self, zone: str) -> Rotation:
        """Return it in its own zone, or that of the schedule."""
        days = frozenset(_DAYS.index(day) for day in self.days)
        turns = tuple(tuple(turn) for turn in self.people)
        return Rotation(turns, self.start, self.every, ZoneInfo(self.zone or zone), self.hours, days, self.end)


class ScheduleEntry(_Strict):
    """A schedule: who is on call when."""

    name: str = Field(pattern=_NAME)
    zone: Zone
    gaps: Literal["error", "allowed"] = "error"
    rotation: Annotated[list[RotationEntry], Field(max_length=MAX_TURNS)] = []
    span: Annotated[list[SpanEntry], Field(max_length=2_000)] = []
    override: Annotated[list[SpanEntry], Field(max_length=2_000)] = []

    @model_validator(mode="after")
    def _covers_something(self) -> ScheduleEntry:
        if not self.rotation and not self.span:
            raise ValueError("a schedule needs a [[schedule.rotation]] or a [[schedule.span]]")
        return self

    def made(self) -> Schedule:
        """Return the schedule."""
        entries: list[Entry] = [one.made(self.zone) for one in self.rotation]
        entries += [one.made(self.zone) for one in self.span]
        overrides = tuple(one.made(self.zone) for one in self.override)
        return Schedule(self.name, ZoneInfo(self.zone), tuple(entries), overrides, gaps=self.gaps == "allowed")


class Service(_Strict):
    """An HTTPS service of the organisation: asked with a signature or with a bearer token, each from a file."""

    name: str = Field(pattern=_NAME)
    url: Annotated[str, AfterValidator(check_url)]
    secret_file: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    cache: int = Field(60, ge=0, le=MAX_CACHE)

    @model_validator(mode="after")
    def _says_who_asks(self) -> Service:
        if (self.secret_file is None) == (self.token_file is None):
            raise ValueError(
                "a service takes secret_file (a signed request) or token_file (a bearer token), one of them"
            )
        return self

    def check(self) -> None:
        """Make sure that its secret can be used.

        Raises:
            ChannelError: it cannot.
        """
        if self.secret_file is not None:
            signing_secrets(self.secret_file)
        else:
            self.bearer()

    def bearer(self) -> str:
        """Return the token. Raises as :meth:`check`."""
        file = self.token_file or Path()
        found = secret_text(file).strip()
        if not _TOKEN.fullmatch(found):
            raise ChannelError(f"{file} holds no bearer token", "16 or more visible characters in one line")
        return found


class ProgramEntry(_Strict):
    """A program of the organisation: an entry point of the group ``checkvalve.oncall``."""

    name: str = Field(pattern=_NAME)
    entry: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$")


class OnCallFile(_Strict):
    """The whole file. ``private_hosts`` are names that may lead to addresses of this network."""

    private_hosts: list[Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}$")]] = []
    schedule: list[ScheduleEntry] = []
    service: list[Service] = []
    program: list[ProgramEntry] = []

    @model_validator(mode="after")
    def _names_differ(self) -> OnCallFile:
        names = self.names()
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two entries are called {doubled[0]!r}")
        return self

    def names(self) -> list[str]:
        """Return every name that a step may ask for."""
        listed: list[ScheduleEntry | Service | ProgramEntry] = [*self.schedule, *self.service, *self.program]
        return [entry.name for entry in listed]


def load_oncall(file: Path, now: int) -> OnCallFile:
    """Read the file, and make sure that its secrets can be used and its schedules have no holes from ``now`` on.

    Raises:
        OnCallError: the file cannot be used; the error says which entry and what to do.
    """
    found = _FILE.load(file, OnCallFile)
    try:
        for service in found.service:
            service.check()
    except ChannelError as error:
        raise OnCallError(str(error), error.remedy) from error
    for entry in found.schedule:
        if problem := _problem(entry, file, now):
            raise OnCallError(f"{file}: {problem.said}", problem.remedy)
    return found


def _problem(entry: ScheduleEntry, file: Path, now: int) -> Problem | None:
    try:
        return entry.made().problem(moment(now))
    except (ValueError, OverflowError) as error:
        raise OnCallError(f"{file}: {entry.name}: its times cannot be counted ({error})", "mend its times") from error


def oncall_secrets(file: Path) -> list[Path]:
    """Return the files of secrets that the file names; none where it cannot be read, which is said later."""
    return _FILE.named(file)


__all__ = ["OnCallFile", "ProgramEntry", "Service", "load_oncall", "oncall_secrets"]
