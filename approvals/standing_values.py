"""What a standing rule says of one value of a call, and whether a value is so. Pure.

``is``: one of some values, to the byte. ``same``: one of some values in the canonical form of its kind (a mailbox, a
host, an address, an account, a path), for plain ASCII; other letters count as they are, so that nothing that only looks
alike passes. ``at``: an address at one of some hosts, with its scheme and port. ``up_to``: a plain number above zero up
to a cap. ``any``: whatever it is, for content only; whether the content may go there is judged call by call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import StandingRuleError
from checkvalve.approvals.fieldspec import Role
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.values import canonical as canonical_form
from checkvalve.filters.values import canonical_host

HOWS: Final = ("is", "same", "at", "up_to", "any")
MAX_VALUES: Final = 50
"""Members of one closed set: what a person reads before saying yes."""
_NEVER: Final = frozenset({Role.COMMAND.value, Role.CREDENTIAL.value})
_NUMBER: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_SLASHES: Final = re.compile(r"/(?:\.?/)+")
_OTHERWISE: Final = re.compile(r"//(?!/)|[^/]*:/|\./(?:\.?/)*(?:[^A-Za-z0-9_./]|[^/]*:)")


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the value at ``path`` (keys of objects) has to be.

    ``values`` are JSON texts in canonical form: the set of ``is`` and ``same``, the origins (``//host``) of ``at``, the
    cap of ``up_to`` as a text of digits, nothing for ``any``.

    Raises:
        StandingRuleError: this cannot be said of a value of this role and kind.
    """

    path: tuple[str, ...]
    role: str
    kind: str
    how: str
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that the role and kind can be bounded so."""
        if not self.path or self.role not in set(Role) or self.role in _NEVER:
            self._wrong("values of commands and credentials are looked at one by one", "make no rule for this tool")
        if self.how not in HOWS:
            self._wrong(f"there is no such constraint: {self.how[:20]}", f"use one of: {', '.join(HOWS)}")
        if self.how == "any" and self.role != Role.CONTENT:
            self._wrong("a value that carries authority has to be named", "bound it: is, same, at or up_to")
        if self.how == "same" and self.kind not in _FORMS:
            self._wrong(f"values of kind {self.kind} have no canonical form here", "name them exactly: is")
        if self.how == "at" and self.kind != "url":
            self._wrong("only an address is at a host", "name the value: is")
        if self.how == "up_to" and self.role != Role.AMOUNT:
            self._wrong("only an amount has a cap", "name the value: is")
        most = {"any": 0, "up_to": 1}.get(self.how, MAX_VALUES)
        if len(self.values) > most or (self.how != "any" and not self.values):
            self._wrong(f"there are too many values, or none (at most {most})", "give fewer, or one")
        if not all(self._may_be(text) for text in self.values):
            self._wrong("a value is not of a form that can be compared", "give it as it stands in the call")

    def _may_be(self, text: str) -> bool:
        try:
            value: Any = json.loads(text)
            if canonical(value).decode() != text:
                return False
        except (ValueError, RecursionError, HostileInputError):
            return False
        if self.how == "same":
            return same_form(self.kind, value) is not None
        if self.how == "at":
            return isinstance(value, str) and origin_of(value) == value
        return self.how != "up_to" or (isinstance(value, str) and plain_number(value) is not None)

    def _wrong(self, what: str, remedy: str) -> None:
        raise StandingRuleError(f"{self.dotted()}: {what}", remedy=remedy)

    def dotted(self) -> str:
        """Return the path for people."""
        return ".".join(self.path)

    def others(self) -> tuple[str, ...]:
        """Return how else a value of this role and kind may be bounded; ``is`` stands for further values."""
        found = {
            "is": self.how in {"is", "same", "at"},
            "same": self.kind in _FORMS and self.how != "same",
            "at": self.kind == "url" and self.how != "at",
            "up_to": self.role == Role.AMOUNT and self.how != "up_to",
            "any": self.role == Role.CONTENT and self.how != "any",
        }
        return tuple(how for how in HOWS if found[how])

    def fits(self, value: JSON) -> bool:
        """Say whether a value is what the constraint says."""
        if self.how == "is":
            return canonical(value).decode() in self.values
        if self.how == "same":
            form = same_form(self.kind, value)
            return form is not None and form in {same_form(self.kind, json.loads(text)) for text in self.values}
        if self.how == "at":
            where = origin_of(value) if isinstance(value, str) else None
            return where is not None and where in {json.loads(text) for text in self.values}
        if self.how == "up_to":
            number = plain_number(value)
            return number is not None and number <= Decimal(json.loads(self.values[0]))
        return True

    def to_json(self) -> dict[str, JSON]:
        """Return the form that :meth:`from_json` reads."""
        found: list[JSON] = [json.loads(text) for text in self.values]
        said: JSON = True if self.how == "any" else found[0] if self.how == "up_to" else found
        return {"path": list(self.path), "role": self.role, "kind": self.kind, self.how: said}

    @classmethod
    def from_json(cls, data: object) -> Constraint:
        """Return the constraint in its JSON form.

        Raises:
            StandingRuleError, TypeError, ValueError, KeyError: it is none.
        """
        if not isinstance(data, Mapping) or set(data) - {"path", "role", "kind", *HOWS}:
            raise TypeError
        (how,) = [name for name in HOWS if name in data]
        path, role, kind, said = data["path"], data["role"], data["kind"], data[how]
        if not isinstance(path, list) or not all(isinstance(step, str) for step in [*path, role, kind]):
            raise TypeError
        listed = [] if how == "any" else [said] if how == "up_to" else said
        if not isinstance(listed, list) or (how == "any" and said is not True):
            raise TypeError
        return cls(tuple(path), role, kind, how, tuple(canonical(item).decode() for item in listed))

    def in_words(self) -> str:
        """Return it for people; the values are content."""
        listed = " or ".join(self.values)
        said = {
            "is": f"is {listed}",
            "same": f"is {listed} in any spelling of that {self.kind}",
            "at": f"is an address at {' or '.join(json.loads(text).removeprefix('//') for text in self.values)}"
            if self.how == "at"
            else "",
            "up_to": f"is up to {json.loads(self.values[0])}" if self.how == "up_to" else "",
            "any": "is anything",
        }
        return f"{self.dotted()} {said[self.how]}"


def same_form(kind: str, value: JSON) -> str | None:
    """Return the canonical text of a value, or of a list of values, of a kind; None when a member is not of it."""
    maker = _FORMS.get(kind)
    if maker is None:
        return None
    found = _mapped(maker, value)
    return None if found is None else canonical(found).decode()


def _mapped(maker: Callable[[str], str | None], value: JSON) -> JSON | None:
    if isinstance(value, str):
        if not value.isascii():
            return value  # compared as it is: what only looks alike is another value
        return maker(value) if value == value.strip() and value.isprintable() else None
    if isinstance(value, list) and value:
        found: list[JSON] = []
        for item in value:
            form = _mapped(maker, item)
            if form is None:
                return None
            found.append(form)
        return found
    return None


def origin_of(text: str) -> str | None:
    """Return ``//host`` or ``http://host`` of an address, with the port where it is not the usual one."""
    form = canonical_form("url", text) if text.isascii() and text == text.strip() else None
    if form is None:
        return None
    scheme, _, rest = form.partition("//")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return f"{scheme}//{host}" if host else None


def plain_number(value: JSON) -> Decimal | None:
    """Return a JSON number, or a text of plain digits, above zero; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value if isinstance(value, str) else format(Decimal(str(value)), "f")
    if not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    found = Decimal(text)
    return found if found > 0 else None


def _path(text: str) -> str | None:
    """Return a path without doubled and closing slashes; letter case counts.

    None where another spelling may be another file: one that leads up, two slashes at the start or a scheme (a host may
    follow), and ``./`` before a first step that programs read as something else (a home, an option, a variable).
    """
    if not text or ".." in text.split("/") or _OTHERWISE.match(text):
        return None
    form = _SLASHES.sub("/", text).removeprefix("./")
    return form.rstrip("/") or ("/" if form.startswith("/") else None)


_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "email": lambda text: canonical_form("email", text),
    "host": lambda text: None if ":" in text else canonical_host(text),
    "url": lambda text: canonical_form("url", text),
    "account": lambda text: canonical_form("account", text),
    "path": _path,
}
"""Kinds whose spellings are one value beyond doubt. A phone number is not: without its country it is another one."""

__all__ = ["HOWS", "MAX_VALUES", "Constraint", "origin_of", "plain_number", "same_form"]
