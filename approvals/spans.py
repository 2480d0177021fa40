"""Times as people type them: how long (``90m``, ``12h``, ``7d``), and when (``2026-12-24``, or RFC 3339)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.moments import micros, micros_of

_SPAN: Final = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400}


def span_of(text: str) -> int:
    """Return a length of time in microseconds.

    Raises:
        QueueError: it is none.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise QueueError("this is no length of time", remedy="write 90m, 12h or 7d")
    return micros(timedelta(seconds=int(found[1]) * _UNITS[found[2]]))


def moment_of(text: str) -> int:
    """Return a moment in microseconds since 1970; without a zone it is meant in UTC, and a day begins at midnight.

    Raises:
        QueueError: it is none.
    """
    try:
        when = datetime.fromisoformat(text.strip())
        return micros_of(when if when.tzinfo is not None else when.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise QueueError("this is no moment", remedy="write 2026-12-24 or 2026-12-24T08:00:00Z") from None


__all__ = ["moment_of", "span_of"]
