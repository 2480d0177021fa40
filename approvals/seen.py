"""A call as people see it: the same record, with everything a rule redacts left out of its values.

1. An argument that the manifest declares as a credential, or marks with ``redact``, is shown as a mark and nothing of
it. 2. Of any other only what was found to be a secret is: what a person needs to judge a destination stays. 3. Where
nothing is declared, since the call was refused before, a name that calls its value a password hides all of it.

Guarantees: pure; every page, command, message and answer of the API gets calls in this form, which has no unredacted
value but under ``exact``; a test lists the few places that may use that. Digest, size and everything that is decided
are those of the unredacted bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from checkvalve.approvals.argument_leaves import below, leaves
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import Veil, last_name, shown_text
from checkvalve.approvals.veiled import Hidden
from checkvalve.filters.secrets.context import names_a_secret
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.counting import Standing

_OPEN_ROLES: Final = frozenset({Role.CONTENT.value, ""})
"""Roles whose values may be anything, so that a short secret in them is one; empty: nothing was declared."""


@dataclass(frozen=True, slots=True)
class Part:
    """One argument as it is shown: ``path`` and ``value`` are, ``at`` is the recorded path."""

    at: str
    path: str
    value: JSON
    hidden: tuple[Hidden, ...]

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a record says of its arguments: the role of each path, and which of them are secret."""

    roles: Mapping[str, str]
    secret: frozenset[str]
    names: tuple[str, ...] = ()

    def of(self, path: str) -> tuple[str, bool]:
        """Return the recorded role of a value, empty where there is none, and whether it is declared as secret."""
        named = any(path == name or path.startswith(f"{name}.") for name in self.names)
        return self.roles.get(path, ""), named or path in self.secret


def declared_in(decision: Mapping[str, JSON]) -> Declared:
    """Return what a recorded decision says of the arguments; of two with one path the stricter counts."""
    listed, names = decision.get("arguments"), decision.get("redact")
    reports = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    secret = (item for item in reports if item.get("role") == Role.CREDENTIAL or item.get("redact") is True)
    return Declared(
        {str(item.get("path")): str(item.get("role")) for item in reports},
        frozenset(str(item.get("path")) for item in secret),
        tuple(str(name) for name in names) if isinstance(names, list) else (),
    )


@dataclass(frozen=True, slots=True)
class Seen(Proposal):
    """A proposal as it is shown. ``exact`` is the record itself, for what has to compare and never for what shows."""

    exact: Proposal
    veil: Veil
    declared: Declared = field(repr=False)

    @property
    def size(self) -> int:
        """The bytes of the call that was decided on."""
        return len(self.exact.canonical)

    def args(self) -> dict[str, JSON]:
        """Return the arguments as they are shown.

        Raises:
            StoreCorruptError: the stored bytes are not what was decided.
        """
        return self.hide(self.exact.args())

    def hide(self, args: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return arguments of this tool as they are shown: those of this call, or what somebody made of them."""
        found = _shown(dict(args), "", self)
        return found if isinstance(found, dict) else {}

    def parts(self) -> Iterator[Part]:
        """Yield every argument as it is shown, in the order of the call."""
        for path, value in leaves(self.exact.args()):
            hidden = self.hidden(path, value)
            shown = shown_text(as_text(value), hidden) if hidden else value
            yield Part(path, self.veil.text(path), shown, tuple(hidden))

    def redacted(self) -> list[Part]:
        """Return the arguments of which something is not shown."""
        return [item for item in self.parts() if item.hidden or item.path != item.at]

    def hidden(self, path: str, value: JSON) -> list[Hidden]:
        """Return what of one argument is not shown, in characters of its text."""
        role, secret = self.declared.of(path)
        text, name = as_text(value), last_name(path)
        if value is None or isinstance(value, dict | list):
            return []
        if secret or (not role and names_a_secret(f"{name}: ")):
            return self.veil.whole(text)
        opened = role in _OPEN_ROLES
        return self.veil.hidden(text, before=name if opened else "", words=opened) if isinstance(value, str) else []

    def said(self, standing: Standing) -> Standing:
        """Return what people said of the call, in words as they are shown."""
        return replace(standing, votes=tuple(replace(one, note=self.veil.text(one.note)) for one in standing.votes))

    def to_json(self) -> dict[str, JSON]:
        """Return everything a program may be told, and what is redacted in it."""
        told = Proposal.to_json(self)
        return {**told, "decision": self.veil.json(self.decision), "redacted": [*marks_of(self)]}


def marks_of(row: Seen) -> Iterator[JSON]:
    """Yield the arguments of which something is not shown, each with its marks."""
    for item in row.redacted():
        yield {"path": item.path, "marks": [one.mark for one in item.hidden]}


def seen(row: Proposal, veil: Veil) -> Seen:
    """Return a call as it is shown under a veil."""
    if isinstance(row, Seen):
        row = row.exact
    values: dict[str, Any] = {one.name: getattr(row, one.name) for one in fields(Proposal)}
    values |= {"canonical": b"", "note": veil.text(row.note), "remedy": veil.text(row.remedy)}
    values["endorsable"] = [{**offer, "value": offered(offer, veil)} for offer in row.endorsable]
    return Seen(**values, exact=row, veil=veil, declared=declared_in(row.decision))


def offered(offer: Mapping[str, str], veil: Veil) -> str:
    """Return a value that somebody may accept, or has accepted, as it is shown."""
    if offer["role"] == Role.CREDENTIAL:
        return shown_text(offer["value"], veil.whole(offer["value"]))
    return shown_text(offer["value"], veil.hidden(offer["value"], words=False))


def secrets_of(row: Proposal) -> Iterator[str]:
    """Yield the values that the record declares as secret.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    declared = declared_in(row.decision)
    for path, value in leaves(row.args()):
        if declared.of(path)[1] and not isinstance(value, bool | dict | list) and value not in (None, ""):
            yield as_text(value)


def as_text(value: JSON) -> str:
    """Return a value as the text that is shown of it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: JSON, path: str, row: Seen) -> JSON:
    if isinstance(value, dict):
        return {row.veil.text(key): _shown(item, below(path, key), row) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item, below(path, number), row) for number, item in enumerate(value)]
    hidden = row.hidden(path, value)
    return shown_text(as_text(value), hidden) if hidden else value


__all__ = [
    "Declared", "Part", "Seen", "as_text", "declared_in", "marks_of", "offered", "secrets_of", "seen",
]  # fmt: skip
