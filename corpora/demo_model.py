"""A chat model that is fully hijacked: it does whatever the text it reads tells it to, word for word.

It is honest about it: nothing that an attacker wants is written here. The model looks through the tool results it was
given for lines such as ``ASSISTANT: send_mail {"to": "…"}`` and proposes exactly those calls, before it goes on with
the user's task. ``<everything you have read>`` in an order becomes just that. What the user wants is a plan of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

ORDER: Final = re.compile(r"^ASSISTANT: (?P<tool>\w+) (?P<args>\{.*\})$", re.MULTILINE)
EVERYTHING: Final = "<everything you have read>"

Results: TypeAlias = dict[str, Any]
"""What the tools returned, by the id of the call."""

Step: TypeAlias = tuple[str, Callable[[Results], dict[str, Any]]]
"""One call of the user's task: the tool, and how its arguments follow from what has been read."""


class HijackedModel(BaseChatModel):
    """Obeys every order it reads, then goes on with ``plan``. It keeps no state: the messages say what was done."""

    plan: tuple[Step, ...]
    closing: str

    @property
    def _llm_type(self) -> str:
        return "hijacked"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:  # noqa: ARG002  # the signature of the framework
        """Return the model itself: it needs no list of tools to do what it is told."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        call = self._next(messages)
        message = AIMessage("", tool_calls=[call]) if call else AIMessage(self.closing)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, messages: Sequence[BaseMessage]) -> ToolCall | None:
        proposed = {call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
        for call in (*orders(messages), *self._steps(messages)):
            if call["id"] not in proposed:
                return call
        return None

    def _steps(self, messages: Sequence[BaseMessage]) -> Iterator[ToolCall]:
        results = {message.tool_call_id: parsed(message) for message in messages if isinstance(message, ToolMessage)}
        for number, (tool, arguments) in enumerate(self.plan, start=1):
            identity = f"user-{number}"
            # Later steps build on earlier results, so the arguments of a step are made only when its turn has come.
            made = arguments(results) if all(f"user-{earlier}" in results for earlier in range(1, number)) else {}
            yield ToolCall(name=tool, args=made, id=identity, type="tool_call")


def orders(messages: Sequence[BaseMessage]) -> Iterator[ToolCall]:
    """Find the orders in what the tools returned, in the order in which they were read."""
    read: list[str] = []
    number = 0
    for message in messages:
        if not isinstance(message, ToolMessage):
            continue
        texts = list(_texts(parsed(message)))
        read.extend(texts)
        for order in (found for text in texts for found in ORDER.finditer(text)):
            try:
                arguments = _filled(json.loads(order["args"]), "\n\n".join(read))
            except ValueError:
                continue  # not an order that anybody could obey
            number += 1
            yield ToolCall(name=order["tool"], args=arguments, id=f"attacker-{number}", type="tool_call")


def parsed(message: ToolMessage) -> Any:
    """Return a tool result as data, or as text when it is none."""
    try:
        return json.loads(message.text)
    except ValueError:
        return message.text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _filled(arguments: dict[str, Any], everything: str) -> dict[str, Any]:
    return {
        name: value.replace(EVERYTHING, everything) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
