"""Moments as numbers and as text. Pure: UTC, in whole microseconds since 1970; people see RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def micros(span: timedelta) -> int:
    """Return ``span`` in whole microseconds."""
    return span // _MICROSECOND


def micros_of(when: datetime) -> int:
    """Return a moment with a zone in microseconds since 1970."""
    return (when - _EPOCH) // _MICROSECOND


def moment(micros_: int) -> datetime:
    """Return microseconds since 1970 as a moment in UTC: the other way round."""
    return _EPOCH + timedelta(microseconds=micros_)


def to_the_second(moment: int) -> str:
    """Return ``moment`` for people: RFC 3339 in UTC without decimals."""
    return (_EPOCH + timedelta(microseconds=moment)).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339(moment: int) -> str:
    """Return ``moment`` as RFC 3339 text in UTC, always with six decimals so that texts sort as times do."""
    when = _EPOCH + timedelta(microseconds=moment)
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond:06d}Z"


__all__ = ["micros", "micros_of", "moment", "rfc3339", "to_the_second"]
