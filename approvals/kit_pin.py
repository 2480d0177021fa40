"""Pin the schemas of a manifest's tools: write ``schema_digest`` into the text, and say what changed in meaning.

Two schemas with one digest take the same arguments, so a difference is either *semantic* (a pin breaks, somebody has to
look) or *wording* (titles, descriptions, order: the pin holds, but a description is content that a model reads).

Guarantees: pure; comments and layout stay; the result is loaded again, and nothing but pins may have changed in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.manifest import parse_manifest, schema_digest
from checkvalve.approvals.strictyaml import Document, read_yaml
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.errors import HostileInputError

_WORDING: Final = frozenset({"title", "description", "examples", "example", "$comment"})
MAX_DIFFERENCES: Final = 20
"""Lines of one tool's differences; what changed in more places than that is another tool."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What pinning means for one tool."""

    tool: str
    state: str  # pinned, unchanged, changed, missing, unusable
    digest: str = ""
    before: str = ""
    semantic: tuple[str, ...] = ()
    wording: tuple[str, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return {
            "tool": self.tool,
            "state": self.state,
            "digest": self.digest,
            "before": self.before,
            "semantic": list(self.semantic),
            "wording": list(self.wording),
            "problem": self.problem,
        }


def pins(text: str, name: str, tools: Sequence[ToolSchema], before: Sequence[ToolSchema] = ()) -> tuple[list[Pin], str]:
    """Return what pinning ``tools`` means for each tool of the manifest in ``text``, and the text with the pins in.

    ``before`` are the schemas as they were, for the differences; a schema shipped in the manifest counts as one.

    Raises:
        ManifestError: the manifest cannot be used, or a tool is written in a form into which no line can be put.
    """
    manifest = parse_manifest(text, name)
    document = read_yaml(text, name)
    found, earlier = {tool.name: tool for tool in tools}, {tool.name: tool for tool in before}
    result: list[Pin] = []
    edits: list[tuple[str, str]] = []
    for key, spec in manifest.tools.items():
        pin = _pin(spec, found.get(spec.name), earlier.get(spec.name))
        result.append(pin)
        if pin.state in {"pinned", "changed"}:
            edits.append((key, pin.digest))
    new = _edited(text, name, document, edits)
    _same_but_pins(text, new, name)
    return result, new


def _pin(spec: ToolSpec, tool: ToolSchema | None, earlier: ToolSchema | None) -> Pin:
    if tool is None:
        return Pin(spec.name, "missing", before=spec.schema_digest or "", problem="not among the schemas given")
    try:
        digest = schema_digest(tool.schema)
    except HostileInputError as error:
        return Pin(spec.name, "unusable", before=spec.schema_digest or "", problem=str(error))
    old = earlier.schema if earlier is not None else spec.input_schema
    semantic, wording = differences(old, tool.schema) if old is not None else ((), ())
    if earlier is not None and earlier.description != tool.description:
        wording = (*wording, "the tool's description")
    before = spec.schema_digest or ""
    if spec.input_schema is not None and schema_digest(spec.input_schema) != digest:
        problem = "the schema shipped in the manifest is another one; replace `input_schema` by hand, then pin"
        return Pin(spec.name, "unusable", digest, before, semantic, wording, problem)
    state = "unchanged" if before == digest else "changed" if before else "pinned"
    return Pin(spec.name, state, digest, before, semantic, wording)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what differs in meaning and what differs in wording. Equal digests mean no difference in meaning."""
    found = list(_differences(old, new, ""))
    wording = tuple(line for is_wording, line in found if is_wording)
    semantic = tuple(line for is_wording, line in found if not is_wording)
    try:
        if schema_digest(old) == schema_digest(new):
            return (), (wording + semantic)[:MAX_DIFFERENCES]
    except HostileInputError:
        pass  # the old one could not be pinned: every difference may matter
    return semantic[:MAX_DIFFERENCES], wording[:MAX_DIFFERENCES]


def _differences(old: Any, new: Any, path: str, depth: int = 0) -> Iterator[tuple[bool, str]]:
    if old == new and type(old) is type(new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and depth < 40:  # noqa: PLR2004 - deeper ones are shown whole
        named = path.rsplit(".", 1)[-1] in {"properties", "$defs", "definitions", "patternProperties"}
        for key in sorted({*map(str, old), *map(str, new)}):
            where = f"{path}.{key}" if path else key
            if key not in named_keys(old):
                yield key in _WORDING and not named, f"{where}: new, {_shown(new[key])}"
            elif key not in named_keys(new):
                yield key in _WORDING and not named, f"{where}: gone, was {_shown(old[key])}"
            elif key in _WORDING and not named:
                if old[key] != new[key]:
                    yield True, f"{where}: reworded"
            else:
                yield from _differences(old[key], new[key], where, depth + 1)
        return
    yield False, f"{path or 'the schema'}: {_shown(old)} is now {_shown(new)}"


def named_keys(value: Mapping[Any, Any]) -> frozenset[str]:
    """Return the keys of a mapping as text."""
    return frozenset(map(str, value))


def _shown(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 80 else text[:80] + "..."  # noqa: PLR2004 - one line of a terminal


def _edited(text: str, name: str, document: Document, edits: Sequence[tuple[str, str]]) -> str:
    """Put the pins into the text, from the last line to the first, so that the earlier numbers stay right."""
    lines = text.split("\n")
    places = sorted(((document.line(("tools", key)) or 0, key, digest) for key, digest in edits), reverse=True)
    for line, key, digest in places:
        there = document.lines.get(("tools", key, "schema_digest"))
        if there is not None and re.match(r"\s*schema_digest:", lines[there - 1]):
            lines[there - 1] = re.sub(r"sha256:[0-9a-f]{64}", digest, lines[there - 1])
            continue
        head = lines[line - 1].rstrip("\r")
        if there is not None or not re.search(r":\s*(#.*)?$", head):
            raise ManifestError(
                "a tool in flow style, into which no line can be put",
                file=name,
                line=line,
                field=f"tools.{key}",
                remedy=f"write its fields on lines of their own, or add schema_digest: {digest}",
            )
        children = [item for path, item in document.lines.items() if path[:2] == ("tools", key) and len(path) == 3]  # noqa: PLR2004
        own = len(head) - len(head.lstrip())
        first = lines[min(children) - 1] if children else ""
        indent = len(first) - len(first.lstrip()) if children else own + 2
        lines.insert(line, f"{' ' * indent}schema_digest: {digest}")
    return "\n".join(lines)


def _same_but_pins(text: str, new: str, name: str) -> None:
    def without(source: str) -> dict[str, Any]:
        content = parse_manifest(source, name).model_dump(mode="json")
        for spec in content["tools"].values():
            spec.pop("schema_digest")
        return content

    if without(text) != without(new):
        raise ManifestError("the pins cannot be put in without changing more", file=name, remedy="add them by hand")
