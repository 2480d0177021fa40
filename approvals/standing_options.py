"""What people type to widen a standing rule, and how far back it is tried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from checkvalve.approvals.clock import micros
from checkvalve.approvals.moments import micros_of
from checkvalve.approvals.standing import wrong
from checkvalve.approvals.standing_draft import CALLS, DAYS, Widening
from checkvalve.filters.strictjson import JSON

_DIGITS: Final = 4


def widened(  # noqa: PLR0913  # each is an option
    *,
    anything: Sequence[str] | None = None,
    same: Sequence[str] | None = None,
    at: Sequence[str] | None = None,
    also: Sequence[str] | None = None,
    up_to: Sequence[str] | None = None,
    anybody: bool = False,
    max_calls: int = 0,
    per_day: int = 0,
    max_amount: str = "",
    max_total: str = "",
    days: int = DAYS,
) -> Widening:
    """Return what the options say.

    Raises:
        StandingRuleError: one of them is no pair.
    """
    return Widening(
        anything=tuple(anything or ()),
        same=tuple(same or ()),
        at=tuple(at or ()),
        also=tuple((name, _value(text)) for name, text in _pairs("--or", also)),
        up_to=tuple(_pairs("--up-to", up_to)),
        anybody=anybody,
        max_calls=max_calls or CALLS,
        per_day=per_day,
        max_amount=max_amount,
        max_total=max_total,
        days=days,
    )


def _pairs(option: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    found = []
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise wrong(option, "this is no pair", f"write {option} argument=value")
        found.append((name, value))
    return found


def _value(text: str) -> JSON:
    """Return what was typed: JSON where it is a list, an object or a text in quotation marks, else the text itself.

    A number stays a text unless it is typed as ``=5``, since an account number is one, too.
    """
    if text[:1] in {"[", "{", '"', "="}:
        try:
            found: JSON = json.loads(text.removeprefix("="))
        except (ValueError, RecursionError) as error:
            raise wrong("--or", "this looks like JSON and is none", "put a text in quotation marks") from error
        return found
    return text


def moment(text: str, now: int) -> int | None:
    """Return the moment that ``60d`` or ``2030-01-31`` means, in microseconds; None for an empty text.

    Raises:
        StandingRuleError: it is neither.
    """
    if not text:
        return None
    number = text.removesuffix("d")
    if text.endswith("d") and number.isascii() and number.isdigit() and len(number) <= _DIGITS:
        return now - micros(timedelta(days=int(number)))
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise wrong("--since", "this is no moment", "write 60d, or a day such as 2030-01-31") from None
    return micros_of(day.replace(tzinfo=UTC) if day.tzinfo is None else day.astimezone(UTC))


__all__ = ["moment", "widened"]
