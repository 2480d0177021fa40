"""What a person lets a source do ahead of time: the value of a mandate, checked once and frozen.

Guarantees: a mandate names one source, one tool or effect, and roles; whatever it does not say, it does not cover. It
says nothing of who may read the data, of protected paths and of what a policy forbids. Texts are parsed here and
nowhere else, and only from typed fields that a host or a person fills: never from a message, a result or a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.mandate_source import NamedSource, wrong
from checkvalve.approvals.moments import micros_of, rfc3339
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.values import canonical

MAX_TEXT: Final = 900
"""Characters of a source, a value or the description of an effect: what a person reads before saying yes."""
MAX_ITEMS: Final = 50
"""Members of one list of a mandate."""
MAX_CALLS: Final = 1_000
"""Calls that one mandate may cover at most."""

_HOST: Final = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?")
_KEYS: Final = (
    "source",
    "tool",
    "effect",
    "roles",
    "max_amount",
    "max_total",
    "max_calls",
    "values",
    "hosts",
    "delegates",
    "expires_at",
)


@dataclass(frozen=True, slots=True)
class Mandate:
    """The user, ahead of time, lets one source fill named roles of one tool or effect, within limits.

    Attributes:
        source: whose results are meant; see :meth:`NamedSource.parse`.
        tool: the tool that may be filled, as ``name`` or ``server/name``; empty for any tool with ``effect``.
        roles: what may be filled. ``amount`` needs ``max_amount``.
        max_amount: the most that one call may move, in the tool's own unit: its amounts are added up.
        max_total: the most that all calls together may move; ``max_amount`` when it is not given.
        max_calls: how many calls may use it.
        effect: the effect the tool has to have. ``remember`` and ``configure`` are never covered without it.
        values: for an argument, the only values it may have in a call that uses the mandate.
        hosts: the only hosts a destination may be at; ``*.example.com`` stands for every host below it.
        delegates: a person's description of an effect that the source may ask for in the user's place; empty: none.
        expires_at: the deadline, in microseconds; None leaves it to whoever grants it.

    Raises:
        MandateError: a field cannot be what it says.
    """

    source: str
    tool: str = ""
    roles: tuple[str, ...] = ()
    max_amount: Decimal | float | str | None = None
    max_total: Decimal | float | str | None = None
    max_calls: int = 1
    effect: str = ""
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    hosts: tuple[str, ...] = ()
    delegates: str = ""
    expires_at: int | None = None

    def __post_init__(self) -> None:
        """Check every field; amounts become exact decimals."""
        for name in ("source", "tool", "effect", "delegates"):
            _check_text(name, getattr(self, name))
        if not self.source or (not self.tool and not self.effect):
            raise wrong("source", "a mandate names a source, and a tool or an effect", "say which")
        NamedSource.parse(self.source)
        if self.effect and self.effect not in set(Effect):
            raise wrong("effect", f"there is no effect {self.effect!r}", f"use one of: {', '.join(Effect)}")
        if not self.roles or not set(self.roles) <= set(Role):
            raise wrong("roles", "these are no roles of arguments", f"use one or more of: {', '.join(Role)}")
        amount, total = _amount("max_amount", self.max_amount), _amount("max_total", self.max_total)
        if total is not None and (amount is None or total < amount):
            raise wrong("max_total", "a total needs a `max_amount` that is not above it", "give both")
        if Role.AMOUNT in self.roles and amount is None:
            raise wrong("max_amount", "the role `amount` needs a limit", "say up to how much: max_amount")
        object.__setattr__(self, "roles", tuple(sorted({str(role) for role in self.roles})))
        object.__setattr__(self, "max_amount", amount)
        object.__setattr__(self, "max_total", total if total is not None else amount)
        if type(self.max_calls) is not int or not 0 < self.max_calls <= MAX_CALLS:
            raise wrong("max_calls", f"1 to {MAX_CALLS} calls can use a mandate", "give a whole number")
        _check_bounds(self.values, self.hosts)

    @property
    def per_call(self) -> Decimal | None:
        """The most that one call may move."""
        return _amount("max_amount", self.max_amount)

    @property
    def total(self) -> Decimal | None:
        """The most that all calls may move."""
        return _amount("max_total", self.max_total)

    def to_json(self) -> dict[str, JSON]:
        """Return the form that :meth:`from_json` reads; what says nothing is left out."""
        found: dict[str, JSON] = {
            "source": self.source,
            "tool": self.tool,
            "effect": self.effect,
            "roles": list(self.roles),
            "max_amount": _plain(self.per_call),
            "max_total": _plain(self.total),
            "max_calls": self.max_calls,
            "values": {name: list(allowed) for name, allowed in self.values},
            "hosts": list(self.hosts),
            "delegates": self.delegates,
            "expires_at": None if self.expires_at is None else rfc3339(self.expires_at),
        }
        return {name: value for name, value in found.items() if value not in (None, "", [], {})}

    @classmethod
    def from_json(cls, data: object) -> Mandate:
        """Return the mandate in a JSON object that a host or a person wrote.

        Raises:
            MandateError: it is none; the error names the field.
        """
        if not isinstance(data, Mapping):
            raise wrong("mandate", "a mandate is one JSON object", "see docs/mandates.md")
        if unknown := [str(name) for name in data if name not in _KEYS]:
            raise wrong(unknown[0][:40], "there is no such field", f"use: {', '.join(_KEYS)}")
        values = data.get("values", {})
        if not isinstance(values, Mapping):
            raise wrong("values", "give an object of lists", '{"currency": ["EUR"]}')
        return cls(
            source=_text(data, "source"),
            tool=_text(data, "tool"),
            roles=_texts("roles", data.get("roles", [])),
            max_amount=_given_amount(data, "max_amount"),
            max_total=_given_amount(data, "max_total"),
            max_calls=data.get("max_calls", 1),
            effect=_text(data, "effect"),
            values=tuple((str(name), _texts("values", allowed)) for name, allowed in sorted(values.items())),
            hosts=_texts("hosts", data.get("hosts", [])),
            delegates=_text(data, "delegates"),
            expires_at=_moment(data.get("expires_at")),
        )

    def in_words(self) -> str:
        """Return one sentence for people."""
        what = f"`{self.tool}`" if self.tool else f"any tool that does `{self.effect}`"
        limits = [f"{self.max_calls} call{'s' if self.max_calls > 1 else ''}"]
        if self.per_call is not None:
            once = f"up to {_plain(self.per_call)}"
            limits.append(once if self.max_calls == 1 else f"{once} each and {_plain(self.total)} together")
        limits += [f"{name} only {' or '.join(allowed)}" for name, allowed in self.values]
        limits += [f"only at {', '.join(self.hosts)}"] if self.hosts else []
        asks = f"; it may ask for: {self.delegates}" if self.delegates else ""
        return f"{self.source} may fill {', '.join(self.roles)} of {what} ({'; '.join(limits)}){asks}"


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise wrong(name, f"this is text of at most {MAX_TEXT} visible characters", "write it shorter")


def _check_bounds(values: tuple[tuple[str, tuple[str, ...]], ...], hosts: tuple[str, ...]) -> None:
    for name, allowed in values:
        _check_text("values", name)
        for value in allowed:
            _check_text("values", value)
        if not name or not allowed:
            raise wrong("values", "an argument needs the values that it may have", '{"currency": ["EUR"]}')
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise wrong("hosts", "this is no host", "write shop.example or *.shop.example, in small letters")


def _amount(name: str, value: Decimal | float | str | None) -> Decimal | None:
    if value is None:
        return None
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    form = None if isinstance(value, bool) else canonical("number", text)
    if form is None or Decimal(form) <= 0:
        raise wrong(name, "this is no amount above zero", "write it as digits, such as 99.50")
    return Decimal(form)


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _text(data: Mapping[str, object], name: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise wrong(name, "this is text", "write it in quotation marks")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) > MAX_ITEMS
        or not all(isinstance(item, str) for item in value)
    ):
        raise wrong(name, f"this is a list of at most {MAX_ITEMS} texts", '["one", "two"]')
    return tuple(str(item) for item in value)


def _given_amount(data: Mapping[str, object], name: str) -> float | str | None:
    value = data.get(name)
    if value is None or (isinstance(value, int | float | str) and not isinstance(value, bool)):
        return value
    raise wrong(name, "this is no amount", "write it as digits, such as 99.50")


def _moment(value: object) -> int | None:
    """Return the moment in RFC 3339 text."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise wrong("expires_at", "this is no moment", "write it with its zone, such as 2030-01-31T12:00:00Z")
    return micros_of(found.astimezone(UTC))
