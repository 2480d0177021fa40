"""Read a YAML file that decides over safety: nothing in it may mean two things, and every value knows its line.

Guarantees: only :class:`ManifestError` is raised, with file and line; duplicate keys, tags, several documents and
scalars that YAML versions read differently (``yes``, ``010``, ``12:30``) are refused; work is bounded on the way.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass, field
from typing import Final

import yaml

from checkvalve.approvals.errors import ManifestError
from checkvalve.filters.strictjson import JSON

MAX_YAML_BYTES: Final = 2_097_152
"""A manifest of a thousand tools with their schemas; parsing that takes seconds, more is a mistake or an attack."""
MAX_YAML_DEPTH: Final = 48
"""Nested containers: an inlined input schema stays far below."""
MAX_YAML_VALUES: Final = 200_000
"""Values after aliases are expanded, so that nine lines of aliases cannot become a billion values."""

_Path = tuple[str | int, ...]
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_FLOAT: Final = re.compile(r"-?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?")
_REMEDY: Final[dict[str, str]] = {
    "bool": "write true or false, or put it in quotes if it is text",
    "int": "write a plain decimal number, or put it in quotes if it is text",
    "float": "write a finite number, or put it in quotes if it is text",
}
_Loader: Final[type[yaml.SafeLoader | yaml.CSafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Document:
    """The value of a YAML file, and the line (from 1) on which the value at each path starts."""

    value: JSON = None
    lines: dict[_Path, int] = field(default_factory=dict)

    def line(self, path: _Path) -> int | None:
        """Return the line of ``path``, or of the nearest container that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_yaml(text: str | bytes, name: str) -> Document:
    """Return the document in ``text``; ``name`` stands for the file in errors.

    Raises:
        ManifestError: the text is too large, not UTF-8, not YAML, or not of one meaning only.
    """
    decoded = _decode(text, name)
    builder: _Builder | None = None
    try:
        builder = _Builder(decoded, name)  # may raise as well: the reader looks at the first characters
        return builder.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        remedy = (
            "indent with spaces, not tabs"
            if line and _tabbed(decoded, line)
            else "mend this line, or the one before it"
        )
        raise ManifestError(
            f"not valid YAML: {error.problem or error.context}", file=name, line=line, remedy=remedy
        ) from None
    except yaml.reader.ReaderError:
        raise ManifestError(
            "holds a character that YAML does not allow", file=name, remedy="remove control characters"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ManifestError("not valid YAML", file=name) from None
    finally:
        if builder is not None:
            builder.close()


def _decode(text: str | bytes, name: str) -> str:
    if len(text) > MAX_YAML_BYTES:
        raise ManifestError(f"larger than {MAX_YAML_BYTES} bytes", file=name, remedy="split it, one manifest per agent")
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise ManifestError("not UTF-8", file=name, line=line, remedy="save the file as UTF-8") from None


class _Builder:
    """Builds values straight from parser events, which come one by one: depth and size are checked on the way."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._loader = _Loader(text)
        self._anchors: dict[str, tuple[JSON, int]] = {}
        self._values = 0
        self._document = Document()

    def close(self) -> None:
        self._loader.dispose()

    def document(self) -> Document:
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise ManifestError("the file is empty", file=self._name)
        self._document.value = self._value(self._next(), (), 0)
        self._next()  # the end of the document
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._error(after, "a second document", remedy="keep one document per file, without `---` in between")
        return self._document

    def _next(self) -> yaml.Event:
        event = self._loader.get_event()
        if not isinstance(event, yaml.Event):
            raise yaml.YAMLError("the events end early")
        return event

    def _value(self, event: yaml.Event, path: _Path, depth: int) -> JSON:
        self._document.lines.setdefault(path, _line(event))
        before = self._values
        self._count(event, 1)
        if depth > MAX_YAML_DEPTH:
            raise self._error(event, f"more than {MAX_YAML_DEPTH} nested levels", path)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        value: JSON
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, path, depth + 1)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, path, depth + 1)
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, path)
        else:
            raise self._error(event, "not a value", path)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _mapping(self, start: yaml.MappingStartEvent, path: _Path, depth: int) -> JSON:
        self._no_tag(start, path)
        result: dict[str, JSON] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise self._error(event, "a key that is not text", path, remedy="put the key in quotes")
            if key in result:
                first = self._document.lines.get((*path, key))
                raise self._error(
                    event, f"the key {key!r} stands here a second time, first on line {first}", (*path, key)
                )
            self._document.lines[(*path, key)] = _line(event)
            result[key] = self._value(self._next(), (*path, key), depth)
        return result

    def _sequence(self, start: yaml.SequenceStartEvent, path: _Path, depth: int) -> JSON:
        self._no_tag(start, path)
        result: list[JSON] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            result.append(self._value(event, (*path, len(result)), depth))
        return result

    def _scalar(self, event: yaml.ScalarEvent, path: _Path) -> JSON:
        self._no_tag(event, path)
        text: str = event.value
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise self._error(event, "text with a lone surrogate", path)
        tag = str(self._loader.resolve(yaml.ScalarNode, text, event.implicit)).rsplit(":", 1)[-1]  # type: ignore[no-untyped-call]
        if tag == "merge":
            raise self._error(event, "merge keys are not supported", path, remedy="write the members out")
        if tag in ("str", "value"):
            return text
        if tag == "null":
            return None
        if tag == "bool" and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if tag == "int" and _INTEGER.fullmatch(text):
            return int(text)
        if tag == "float" and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        problem = f"{text[:40]!r} is read differently by different YAML versions"
        raise self._error(event, problem, path, remedy=_REMEDY.get(tag, "put it in quotes"))

    def _alias(self, event: yaml.AliasEvent, path: _Path) -> JSON:
        if event.anchor not in self._anchors:
            raise self._error(event, "an alias to something that is not complete before it", path)
        value, size = self._anchors[event.anchor]
        self._count(event, size)
        return value

    def _no_tag(self, event: yaml.NodeEvent, path: _Path) -> None:
        if getattr(event, "tag", None) not in (None, "!"):
            raise self._error(event, "tags are not allowed", path, remedy="remove the word that starts with `!`")

    def _count(self, event: yaml.Event, number: int) -> None:
        self._values += number
        if self._values > MAX_YAML_VALUES:
            raise self._error(event, f"more than {MAX_YAML_VALUES} values once aliases are expanded")

    def _error(self, event: yaml.Event, problem: str, path: _Path = (), *, remedy: str = "") -> ManifestError:
        return ManifestError(problem, file=self._name, line=_line(event), field=dotted(path), remedy=remedy)


def _tabbed(text: str, line: int) -> bool:
    lines = text.split("\n")
    return line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def dotted(path: _Path) -> str:
    """Return a path as people write it, such as ``tools.send_mail.args.to``."""
    return ".".join(str(step) for step in path)


def nearest(word: str, known: list[str]) -> str:
    """Return a remedy that names the known word closest to ``word``, or lists all of them."""
    close = difflib.get_close_matches(word[:100], known, n=1, cutoff=0.5)
    return f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
