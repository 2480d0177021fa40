"""What a draft may say of results: nearly nothing. Untrusted and private is right for whatever is not known.

Four things can be read from schemas:

1. A server's own handle. A field called ``id`` at the head of a record is trusted, as an id of its type and nothing
   else, when a tool of the same file takes ids of that type, the field has no form that people choose (an address, a
   link, a name), and the tool stays inside the trust domain. Arguments that are addresses never accept it.
2. What is measured. The size of a record in such a list, a whole number, is nobody's choice; it decides what "the
   largest file" is.
3. Names. A title or file name of such a record is declared as what people call it by, and stays untrusted.
4. Personal data. A read of profiles, credentials or balances is for the owner alone, so that it leaves only where the
   user has named it.

Guarantees: pure; a server can claim whatever it likes here and gains one thing: its ids count where ids of its own type
are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.kit_roles import MAX_TYPE, guess_role
from checkvalve.approvals.kit_schemas import ToolSchema, inlined
from checkvalve.approvals.kit_words import leaves_domain, parts

_IDS: Final = frozenset({"id", "uid", "uuid"})
_CHOSEN: Final = frozenset({"email", "idn-email", "uri", "uri-reference", "hostname"})
_CHOSEN_WORDS: Final = frozenset({"slug", "handle", "username", "nickname", "login", "chosen", "custom", "name"})
_WRAPPERS: Final = frozenset({"result", "results", "data", "items", "value", "values", "records"})
_SIZES: Final = frozenset({"size", "bytes", "size_bytes", "file_size", "size_in_bytes"})
_NAMES: Final = frozenset({"title", "name", "subject", "filename", "file_name", "summary", "display_name"})
_DATA: Final = frozenset({"info", "information", "details", "data", "record"})
_SOMEBODY: Final = frozenset({"user", "account", "personal", "my", "owner", "customer", "patient", "employee"})
_OWN_WORDS: Final = (
    "profile passport credential credentials secret secrets password passwords balance iban ssn salary medical health "
    "prescription whoami wallet token tokens payslip diagnosis"
)
_PERSONAL: Final = frozenset(_OWN_WORDS.split())
_PERSONAL_SAID: Final = re.compile(
    r"\b(?:passport|credit card|bank account|social security|date of birth|birthday|id number|driving licen[cs]e|"
    r"password|private key|medical|salary|health record)"
)


def types_taken(tools: Iterable[ToolSchema]) -> frozenset[str]:
    """Return the types of ids that the tools of one server take as arguments."""
    found: set[str] = set()
    for tool in tools:
        for name in tool.arguments:
            kind = guess_role(name, Effect.READ, tool=tool.name)[1]
            if kind.startswith("id:"):
                found.add(kind.removeprefix("id:"))
    return frozenset(found)


class Known(NamedTuple):
    """A field that a draft declares: a handle of ``kind``, a size, or what people call the record by."""

    path: str
    kind: str
    is_name: bool = False


def handles(tool: ToolSchema, taken: Collection[str]) -> Iterator[Known]:
    """Yield each field that the server itself gives to a record, its handle and its size, and then its names.

    A name is as untrusted as before: it says which record the user's words are about, where only one is called so.
    """
    if tool.hints.get("openWorldHint") is True or leaves_domain(tool.name, list(tool.arguments), tool.description):
        return
    for path, record in _records(inlined(tool.output, tool.output)):
        members = record.get("properties")
        listed = {str(key): item for key, item in members.items()} if isinstance(members, Mapping) else {}
        named = {name: "_".join(parts(name)) for name, schema in listed.items() if isinstance(schema, Mapping)}
        ids = [name for name, word in named.items() if word in _IDS and not _is_chosen(listed[name])]
        found = [(name, kind) for name in ids if (kind := _type_of(listed[name], record, tool, taken))]
        if not found:
            continue
        head = ".".join((*path, ""))
        yield from (Known(f"{head}{name}", f"id:{kind}") for name, kind in found)
        sizes = (name for name, word in named.items() if word in _SIZES and _is_whole(listed[name]))
        yield from (Known(f"{head}{name}", "number") for name in sizes)
        yield from (Known(f"{head}{name}", "text", is_name=True) for name, word in named.items() if word in _NAMES)


def is_personal(tool: ToolSchema) -> bool:
    """Say whether a read returns what is nobody else's business."""
    words = set(parts(tool.name))
    return bool(
        words & _PERSONAL or (words & _SOMEBODY and words & _DATA) or _PERSONAL_SAID.search(tool.description.lower())
    )


def _records(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield the objects at the head of a result: through lists, and through members that only wrap one."""
    for _ in range(4):
        if isinstance(schema, Mapping) and schema.get("type") == "array":
            schema = schema.get("items")
    if not isinstance(schema, Mapping):
        return
    yield path, schema
    members = schema.get("properties")
    for name, inner in members.items() if isinstance(members, Mapping) and not path else ():
        if str(name).lower() in _WRAPPERS:
            yield from _records(inner, (str(name),))


def _is_whole(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "integer"


def _is_chosen(schema: Mapping[str, Any]) -> bool:
    """Say whether a field called id may be something that people choose."""
    if schema.get("format") in _CHOSEN or schema.get("type") not in {"string", "integer"}:
        return True
    return bool(_CHOSEN_WORDS & set(parts(f"{schema.get('description', '')} {schema.get('title', '')}".lower())))


def _type_of(schema: Mapping[str, Any], record: Mapping[str, Any], tool: ToolSchema, taken: Collection[str]) -> str:
    """Return the type of an id: what its description, its record or its tool is about, where some tool takes that."""
    told = f"{schema.get('description', '')} {schema.get('title', '')}".lower()
    for words in (parts(told), parts(str(record.get("title", "")))[::-1], parts(tool.name)):
        for word in words:
            for form in (word, word.removesuffix("s"), re.sub(r"ies$", "y", word)):
                if form in taken:
                    return form[:MAX_TYPE]
    return ""
