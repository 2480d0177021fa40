"""The tools of this process by server and name: two servers may offer tools of one name, and only one was approved.

1. What a host said of a tool's server counts. 2. Else a tool is that of no server, where the manifest declares one of
its name so. 3. Else it is that of the one server of which the manifest declares a tool of its name. 4. Where that could
be several, or two tools here have one name, it is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checkvalve.approvals.toolspec import Manifest

Bound = Mapping[tuple[str, str], Any]
"""Tools by server and name; a tool of no server stands under the empty one."""


def bound(tools: Iterable[Any], manifest: Manifest, servers: Mapping[str, str] | None = None) -> Bound:
    """Return the tools that it is clear about whose they are."""
    found: dict[tuple[str, str], Any] = {}
    twice = set[tuple[str, str]]()
    for tool in tools:
        server = _server_of(tool.name, manifest, servers or {})
        if server is None:
            continue
        key = (server, tool.name)
        twice |= {key} & found.keys()
        found[key] = tool
    return {key: tool for key, tool in found.items() if key not in twice}


def _server_of(name: str, manifest: Manifest, servers: Mapping[str, str]) -> str | None:
    if name in servers:
        return servers[name]
    if manifest.find(name) is not None:
        return ""
    declared = {spec.server for spec in manifest.tools.values() if spec.name == name}
    return declared.pop() if len(declared) == 1 else None


__all__ = ["Bound", "bound"]
