"""What a pipeline's actor is asked, and what it was told of its calls."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import ToolMessage

TASK = "Please send a mail to whoever wrote to me"


def told(actor: Any) -> list[dict[str, Any]]:
    """Return what the actor was told of its calls, in the latest input."""
    return [json.loads(str(m.content)) for m in actor.seen[-1] if isinstance(m, ToolMessage)]


def codes(actor: Any) -> list[str]:
    return [str(entry.get("code", entry["status"])) for entry in told(actor)]
