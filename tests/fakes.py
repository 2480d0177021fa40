"""Stand-ins that tests share: a chat model that follows a script, so that no test needs a key or a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from pydantic import Field


class ScriptedModel(BaseChatModel):
    """Says the answers of ``script`` in order, by how many it has already said in this conversation.

    It keeps no state of its own: the same script in another process goes on where the conversation stands.
    """

    script: list[AIMessage]
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        self.seen.append(list(messages))
        said = sum(isinstance(message, AIMessage) for message in messages)
        answer = self.script[said] if said < len(self.script) else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer.model_copy(deep=True))])

    @property
    def _llm_type(self) -> str:
        return "scripted"


def calls(*wanted: tuple[str, dict[str, Any]], prefix: str = "c", text: str = "") -> AIMessage:
    """Return a model's turn that calls tools: ``calls(("pay", {"to": "a"}))``."""
    return AIMessage(
        text,
        tool_calls=[
            {"name": name, "args": args, "id": f"{prefix}{number}", "type": "tool_call"}
            for number, (name, args) in enumerate(wanted, 1)
        ],
    )
