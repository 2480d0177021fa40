"""Descriptions and schemas of tools, looked at before a model reads them: a poisoned one works before any call is made.

Guarantees: each tool is looked at once as long as it stays the same; a tool whose description is flagged is told of in
the log, and left out where the settings say that content of this weight is withheld.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool

from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.outcomes import ContentOutcome, ScanResult, Status
from checkvalve.gateway.logs import get_logger
from checkvalve.graphs.inbound import Inbound
from checkvalve.graphs.toolbox import schema_of


class ToolDescriptions:
    """Looks at the tools of one agent."""

    def __init__(self, inbound: Inbound) -> None:
        """Look as ``inbound`` does."""
        self._inbound = inbound
        self._seen: dict[str, ScanResult] = {}

    def fit(self, tools: Sequence[Any]) -> list[Any]:
        """Return the tools that a model may be shown."""
        if self._inbound.mode == "off":
            return list(tools)
        return [tool for tool in tools if self._look(tool).outcome is not ContentOutcome.WITHHOLD]

    def _look(self, tool: Any) -> ScanResult:
        text = described(tool)
        mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if mark not in self._seen:
            found = scan_inbound(text, options=self._inbound.options, clock=self._inbound.clock, tools=True)
            self._seen[mark] = found
            if found.status in {Status.FLAGGED, Status.UNSCANNED}:
                get_logger().warning(
                    "a tool's description or schema looks like an instruction to the model",
                    tool=str(getattr(tool, "name", "unnamed"))[:80],
                    found=", ".join(found.codes) or found.reason,
                    remedy="read it; pin its schema in the manifest, or set inbound_withhold",
                )
        shown = self._seen[mark]
        return shown if self._inbound.mode == "on" else ScanResult(shown.status, ContentOutcome.PASS, "")


def described(tool: Any) -> str:
    """Return all of a tool that a model reads, as JSON."""
    if isinstance(tool, BaseTool):
        found: object = {"name": tool.name, "description": tool.description, "schema": schema_of(tool)}
    elif isinstance(tool, Mapping):
        found = dict(tool)
    else:
        found = {"name": getattr(tool, "__name__", ""), "description": getattr(tool, "__doc__", "") or ""}
    return json.dumps(found, ensure_ascii=False, default=str)
