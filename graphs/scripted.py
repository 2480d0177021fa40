"""A model that follows a file: for demonstrations and tests, where what a model says must be known beforehand.

One JSON object in each line; lines that start with ``//`` are comments. ``{"calls": [{"name": ..., "args": {...}}]}``
and ``{"say": "text"}`` are said in order, by how often the model has spoken in the conversation, so another process
goes on where it stands. ``{"when": "words", ...}`` is said whenever the words stand in what the model is asked, before
any other line; ``{"json": {...}}`` says an object as text, which is how a reader answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import Field

from checkvalve.graphs.errors import ModelError
from checkvalve.graphs.recorded import lines_of

_KEYS: Final = frozenset({"when", "say", "json", "calls"})


class ScriptedModel(BaseChatModel):
    """Says the lines of a script."""

    lines: list[dict[str, Any]]
    profile: Any = Field(default={"structured_output": False})  # it speaks in text; nobody holds it to a schema

    @classmethod
    def load(cls, path: Path) -> ScriptedModel:
        """Return the model that follows ``path``.

        Raises:
            ModelError: the file cannot be read, or a line of it is unknown.
        """
        lines = lines_of(path, "script")
        for number, line in enumerate(lines, 1):
            if not set(line) <= _KEYS or not set(line) & {"say", "json", "calls"}:
                raise ModelError(f"{path}: object {number} says nothing", "use say, json or calls, and maybe when")
        return cls(lines=lines)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],  # noqa: ARG002  # the library's signature
        **_: Any,
    ) -> Runnable[Any, AIMessage]:
        """Return the model itself: a script knows what it calls."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the library's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the library's signature
        **_: Any,
    ) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=_spoken(self._line(messages, said), said))])

    def _line(self, messages: Sequence[BaseMessage], said: int) -> Mapping[str, Any]:
        asked = "\n".join(message.text for message in messages if isinstance(message, HumanMessage))
        for line in self.lines:
            if "when" in line and str(line["when"]) in asked:
                return line
        rest = [line for line in self.lines if "when" not in line]
        if said >= len(rest):
            raise ModelError("the script has no further line", "add what the model says at this point")
        return rest[said]

    @property
    def _llm_type(self) -> str:
        return "scripted"


def _spoken(line: Mapping[str, Any], turn: int) -> AIMessage:
    calls = [
        {"name": str(call["name"]), "args": dict(call.get("args", {})), "id": f"s{turn}x{number}", "type": "tool_call"}
        for number, call in enumerate(line.get("calls", []), 1)
    ]
    text = json.dumps(line["json"]) if "json" in line else str(line.get("say", ""))
    return AIMessage(text, tool_calls=calls)
