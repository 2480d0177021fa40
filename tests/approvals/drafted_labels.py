"""Tools with labels of ours, and how well a draft meets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_draft import draft
from checkvalve.approvals.kit_schemas import read_tools
from checkvalve.approvals.kit_words import RANK
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.toolspec import Manifest

FILE = Path(__file__).resolve().parents[1] / "data" / "tool_schemas.yaml"
NEED = {
    Role.CONTENT: 0, Role.CONTROL: 1, Role.SELECTOR: 2, Role.AMOUNT: 2, Role.TARGET: 3, Role.COMMAND: 3,
    Role.CREDENTIAL: 3,
}  # fmt: skip
"""How much a role asks for: content asks for nobody's word."""


def labelled(part: str = "") -> list[dict[str, Any]]:
    """Return the labelled tools of one part, ``seen`` or ``held``; of both without one."""
    tools = yaml.safe_load(FILE.read_text(encoding="utf-8"))["tools"]
    return [tool for tool in tools if part in ("", tool.get("part", "seen"))]


def mcp(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a labelled tool as a server would list it."""
    properties = {name: _schema(kind.removesuffix("?")) for name, kind in tool["args"].items()}
    required = [name for name, kind in tool["args"].items() if not kind.endswith("?")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": tool["tool"], "description": tool["says"], "inputSchema": schema}


def _schema(kind: str) -> dict[str, Any]:
    if kind.startswith("enum:"):
        return {"type": "string", "enum": kind.removeprefix("enum:").split("|")}
    if kind == "list":
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "string", "format": kind} if kind in {"email", "uri"} else {"type": kind}


def drafted(tools: list[dict[str, Any]]) -> Manifest:
    """Return the draft of labelled tools, loaded."""
    return parse_manifest(draft(read_tools({"tools": [mcp(tool) for tool in tools]}, "labelled"), "x"), "draft")


def measure(part: str = "") -> dict[str, Any]:
    """Return how many effects and roles are right, and name those that are too weak or stricter than they need be."""
    tools = labelled(part)
    effects, roles = list(_effects(tools)), list(_roles(tools))
    found: dict[str, Any] = {"tools": len(tools)}
    for name, judged in (("effects", effects), ("roles", roles)):
        found |= {name: len(judged), f"{name} right": sum(not kind for kind, _ in judged)}
        for kind in ("weak", "strict"):
            found[f"{name} too {kind}"] = [text for found_kind, text in judged if found_kind == kind]
    return found


def _effects(tools: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    manifest = drafted(tools)
    for tool in tools:
        got, wanted = manifest.tools[tool["tool"]], [Effect(word) for word in tool["effect"].split("|")]
        outside = got.leaves_domain or got.effect is not Effect.READ
        text = f"{tool['tool']}: {got.effect}{' outside' if got.leaves_domain else ''}, expected {tool['effect']}"
        if tool.get("leaves") and not outside:
            yield "weak", text
        elif got.effect in wanted:
            yield ("strict" if got.leaves_domain and not tool.get("leaves") else ""), text
        else:
            yield ("weak" if RANK[got.effect] < min(RANK[one] for one in wanted) else "strict"), text


def _roles(tools: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    manifest = drafted(tools)
    for tool in tools:
        for name, label in tool["roles"].items():
            got, wanted = manifest.tools[tool["tool"]].args[name].role, [Role(word) for word in label.split("|")]
            text = f"{tool['tool']}.{name}: {got}, expected {label}"
            weak = NEED[got] < min(NEED[one] for one in wanted)
            yield ("" if got in wanted else "weak" if weak else "strict"), text
