"""A call as people see it: the same record, with everything a rule redacts left out of its values.

1. An argument that the manifest declares as a credential, or marks with ``redact``, is shown as a mark and nothing of
it, and so are the names of members where everything beneath is secret. 2. Of content only what was found to be a secret
is. 3. Of what a person judges the call by, a destination, a record, a command, an amount, a switch, only a value of the
deployer and a key of a known form: what another call declares as secret hides nothing there. 4. Where nothing is
declared, since the call was refused before, a name that calls its value a password hides all of it.

Guarantees: pure; every page, command, message and answer of the API gets calls in this form, which has no unredacted
value but under ``exact``; a test lists the few places that may use that. Digest, size and everything that is decided
are those of the unredacted bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from checkvalve.approvals.argument_leaves import below, leaves
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import OPEN_ROLES, Veil, apart, last_name
from checkvalve.approvals.veiled import MARK, Hidden, joined
from checkvalve.filters.secrets.context import names_a_secret
from checkvalve.filters.strictjson import JSON

if TYPE_CHECKING:
    from checkvalve.approvals.counting import Standing

_AIMS: Final = frozenset({Role.TARGET.value, Role.SELECTOR.value, Role.COMMAND.value})
"""Roles that say where a call goes, or what it does there."""
_FIELD: Final = re.compile(r"[A-Za-z_]+")
"""A name that is one of a field; what else stands as a name in a secret object is as secret as a value."""
_WHOLE: Final = re.compile(r"-?[1-9][0-9]*\.0")


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

    def hides_names(self, path: str, members: Mapping[str, JSON]) -> bool:
        """Say whether everything in an object is secret, and so what its members are called."""
        found = [self.of(at)[1] for at, _ in leaves(dict(members), path)] if path else []
        return bool(found) and all(found)

    def is_aim(self, path: str) -> bool:
        """Say whether a value says where the call goes or what it does there, or may do so for all the record says."""
        role, secret = self.of(path)
        return not secret and (role in _AIMS or not role)

    def is_judged(self, path: str, value: JSON) -> bool:
        """Say whether a person judges the call by anything that stands here."""
        found = (self.of(at) for at, _ in leaves(value, path))
        return any(role not in OPEN_ROLES and not secret for role, secret in found)


def declared_in(decision: Mapping[str, JSON]) -> Declared:
    """Return what a recorded decision says of the arguments; of two with one path the stricter counts."""
    listed, names = decision.get("arguments"), decision.get("redact")
    reports = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    secret = (item for item in reports if item.get("role") == Role.CREDENTIAL or item.get("redact") is True)
    roles: dict[str, str] = {}
    for item in reports:
        path, role = str(item.get("path")), str(item.get("role"))
        if path not in roles or role not in OPEN_ROLES:
            roles[path] = role
    return Declared(
        roles,
        frozenset(str(item.get("path")) for item in secret),
        tuple(str(name) for name in names) if isinstance(names, list) else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
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
        yield from _parts(self.exact.args(), "", "", self)

    def redacted(self) -> list[Part]:
        """Return the arguments of which something is not shown."""
        return [item for item in self.parts() if item.hidden or (item.path != item.at and MARK.search(item.path))]

    def shown(self, path: str, value: JSON) -> JSON:
        """Return one value as it is shown."""
        hidden = self.hidden(path, value)
        return self.veil.shown(as_text(value), hidden) if hidden or isinstance(value, str) else value

    def hidden(self, path: str, value: JSON) -> list[Hidden]:
        """Return what of one argument is not shown, in characters of its text; of a number all or nothing."""
        role, secret = self.declared.of(path)
        text, name = as_text(value), last_name(path)
        if value is None or isinstance(value, dict | list):
            return []
        if secret or (not role and names_a_secret(f"{name}: ")):
            return self.veil.whole(text)
        if role not in OPEN_ROLES:
            return self.veil.hidden(value, judged=True) if isinstance(value, str) else []
        found = [] if isinstance(value, bool) else self.veil.hidden(text, before=name)
        return found if isinstance(value, str) or not found else self.veil.whole(text)

    def hidden_names(self, path: str, members: Mapping[str, JSON]) -> dict[str, list[Hidden]]:
        """Return what of the names in an object is not shown."""
        veil = self.veil
        if self.declared.hides_names(path, members):
            return {name: veil.whole(name) for name in members}
        judged = {name: not path or self.declared.is_judged(below(path, name), item) for name, item in members.items()}
        return {name: veil.hidden(name, judged=judged[name]) for name in members}

    def names(self, path: str, members: Mapping[str, JSON]) -> dict[str, str]:
        """Return how the names in an object are shown, each other than the rest."""
        hidden = self.hidden_names(path, members)
        return apart(members, lambda name: self.veil.shown(name, hidden[name]))

    def said(self, standing: Standing) -> Standing:
        """Return what people said of the call, in words as they are shown."""
        return replace(standing, votes=tuple(replace(one, note=self.veil.text(one.note)) for one in standing.votes))

    def to_json(self) -> dict[str, JSON]:
        """Return everything a program may be told, and what is redacted in it."""
        told = Proposal.to_json(self)
        return {**told, "decision": _decision(self), "redacted": [*marks_of(self)]}


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
    value, role = offer["value"], offer["role"]
    if offer.get("kind") == "number" and _WHOLE.fullmatch(value):
        value = value[:-2]  # as the call has it: its canonical form knows no 60.0
    if role == Role.CREDENTIAL:
        return veil.shown(value, veil.whole(value))
    return veil.shown(value, veil.hidden(value, judged=role not in OPEN_ROLES))


def secrets_of(row: Proposal) -> Iterator[str]:
    """Yield the values that the record declares as secret.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    declared = declared_in(row.decision)
    for path, value in leaves(row.args()):
        if declared.of(path)[1] and not isinstance(value, bool | dict | list) and value not in (None, ""):
            yield as_text(value)
    yield from _secret_names(row.args(), "", declared)


def aims_of(row: Proposal) -> Iterator[str]:
    """Yield the texts that say where a call goes, or what it does there.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    declared = declared_in(row.decision)
    for path, value in leaves(row.args()):
        role, secret = declared.of(path)
        if role in _AIMS and not secret and not isinstance(value, bool | dict | list):
            yield as_text(value)


def as_text(value: JSON) -> str:
    """Return a value as the text that is shown of it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: JSON, path: str, row: Seen) -> JSON:
    if isinstance(value, dict):
        names = row.names(path, value)
        return {names[key]: _shown(item, below(path, key), row) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item, below(path, number), row) for number, item in enumerate(value)]
    return row.shown(path, value)


def _parts(value: JSON, at: str, path: str, row: Seen) -> Iterator[Part]:
    if isinstance(value, dict) and value:
        names = row.names(at, value)
        for key, item in value.items():
            yield from _parts(item, below(at, key), _under(path, names[key]), row)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _parts(item, below(at, number), _under(path, str(number)), row)
    elif at:
        yield Part(at, path, row.shown(at, value), tuple(row.hidden(at, value)))


def _under(path: str, name: str) -> str:
    return joined([path, ".", name]) if path else name


def _secret_names(value: JSON, path: str, declared: Declared) -> Iterator[str]:
    if isinstance(value, dict):
        if declared.hides_names(path, value):
            yield from (key for key in value if not _FIELD.fullmatch(key))
        for key, item in value.items():
            yield from _secret_names(item, below(path, key), declared)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _secret_names(item, below(path, number), declared)


def _decision(row: Seen) -> JSON:
    """Return the decision as it is shown; its reports name the arguments as everything else does."""
    names = {item.at: item.path for item in row.parts()}
    found = {**row.decision}
    reports = found.get("arguments")
    if isinstance(reports, list):
        found["arguments"] = [_report(item, names, row) for item in reports]
    rest = {key: item if key == "arguments" else row.veil.json(item) for key, item in found.items()}
    return {row.veil.text(key): item for key, item in rest.items()}


def _report(item: JSON, names: Mapping[str, str], row: Seen) -> JSON:
    if not isinstance(item, dict):
        return row.veil.json(item)
    path = str(item.get("path"))
    rest = row.veil.json({key: one for key, one in item.items() if key != "path"})
    return {"path": names.get(path, row.veil.text(path)), **rest} if isinstance(rest, dict) else rest


__all__ = [
    "Declared", "Part", "Seen", "aims_of", "as_text", "declared_in", "marks_of", "offered", "secrets_of", "seen",
]  # fmt: skip
