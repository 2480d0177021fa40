"""A source as a mandate names it: a tool, a call with exactly these arguments, or one record of its results.

Guarantees: pure; :meth:`NamedSource.parse` and ``str`` are each other's inverse; what cannot be read is an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkvalve.approvals.errors import MandateError

_NAME: Final = r"[A-Za-z0-9_.:/@-]{1,200}"
_CALL: Final = re.compile(rf"(?P<name>{_NAME})(?:\((?P<args>.*)\))?(?:\[(?P<fields>.*)\])?", re.DOTALL)
_PAIR: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9_.-]{1,100})=(?:(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<plain>[^,\"()\[\]]+?))\s*(?:,|$)"
)

Pairs: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A source as a mandate names it.

    ``args`` are all arguments of the call that read it, None when any call will do; ``fields`` are fields that the
    record around the value must have.
    """

    name: str
    args: Pairs | None = None
    fields: Pairs = ()

    @classmethod
    def parse(cls, text: str) -> NamedSource:
        """Return the source in ``read_file``, ``read_file(path=bill.txt)`` or ``list_mail[id=m7]``.

        A value with a comma, a quotation mark or a bracket is written as a JSON string. A text that is no such form is
        taken as the whole name of one source.

        Raises:
            MandateError: it begins like a call and cannot be read as one.
        """
        found = _CALL.fullmatch(text)
        if found is None:
            if text[-1:] in {")", "]"} or _OPENED.fullmatch(text):
                raise wrong("source", "this is no call", 'write read_file(path=bill.txt), or path="a, b"')
            return cls(text)
        args = None if found["args"] is None else _pairs(found["args"])
        return cls(found["name"], args, _pairs(found["fields"] or ""))

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        args = "" if self.args is None else f"({_written(self.args)})"
        return f"{self.name}{args}" + (f"[{_written(self.fields)}]" if self.fields else "")


_OPENED: Final = re.compile(r"[\w./-]+[(\[][^)\]]*")
"""A call whose bracket was left open: as the whole name of a source it would look like a limit and be none."""


def wrong(field: str, message: str, remedy: str) -> MandateError:
    """Return the error for one field of a mandate."""
    return MandateError(f"{field}: {message}", remedy=remedy)


def _pairs(text: str) -> Pairs:
    """Return ``name=value`` pairs in order of their names."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None or pair["name"] in found:
            raise wrong("source", "its arguments cannot be read", 'write name=value, ..., or name="a, b"')
        found[pair["name"]] = pair["plain"] if pair["quoted"] is None else _unquoted(pair["quoted"])
        at = pair.end()
    return tuple(sorted(found.items()))


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise wrong("source", "a quoted value is no JSON string", 'write name="a, b"') from None


def _written(pairs: Pairs) -> str:
    plain = re.compile(r"[^,\"()\[\]\s](?:[^,\"()\[\]]*[^,\"()\[\]\s])?")
    return ", ".join(
        f"{name}={value if plain.fullmatch(value) else json.dumps(value, ensure_ascii=False)}" for name, value in pairs
    )


__all__ = ["NamedSource", "Pairs", "wrong"]
