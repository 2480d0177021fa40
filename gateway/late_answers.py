"""What became of calls that were never answered, since the user's next message came while they waited.

1. A call of the model without a tool message behind it is looked up by its name, in the task that proposed it. 2. The
model is shown how that call stands now, by the id of its question: it waits, it was approved and may be proposed again,
what it gave, or why it did not run. The conversation itself stays as it is.

Guarantees: nothing runs because somebody looks; what a call gave is untrusted content in the task that is shown it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from checkvalve.approvals.edits import current
from checkvalve.approvals.errors import ApprovalError
from checkvalve.gateway import replies
from checkvalve.gateway.conversation import call_name
from checkvalve.gateway.late_result import late_result
from checkvalve.gateway.task_places import TaskPlaces

if TYPE_CHECKING:
    from checkvalve.gateway.app import Gateway

_LEFT: Final = "Not executed: the user said something else before this call was decided [left]."


@dataclass(frozen=True)
class LateAnswers:
    """Looks calls up for one agent."""

    gateway: Gateway
    places: TaskPlaces

    def answered(self, thread: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages with an answer behind every call that has none."""
        if self.gateway.settings.on_new_message == "hold" or self.gateway.observing:
            return list(messages)
        known = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        tasks = self.places.of(thread, messages)
        found: list[BaseMessage] = []
        for message, task in zip(messages, tasks, strict=False):
            found.append(message)
            open_ = message.tool_calls if isinstance(message, AIMessage) else []
            left = [(call["name"], call["id"] or "") for call in open_ if call["id"] not in known]
            found += [self._one(task, message, *call) for call in left]
        return found

    def _one(self, task: str, turn: BaseMessage, tool: str, identity: str) -> ToolMessage:
        queue = self.gateway.queue
        name = call_name(turn if isinstance(turn, AIMessage) else None, identity)
        try:
            rows = [row for row in queue.list(thread=task) if row.call_id == name]
            if rows:
                outcome = self.gateway.executor.look(current(queue, rows[-1].id).id)
                told = late_result(outcome, self.gateway.inbound, rows[-1])
                return told.model_copy(update={"tool_call_id": identity, "name": tool})
        except ApprovalError:
            pass  # what cannot be read is not told
        return replies.reply((tool, identity), _LEFT, "left")


__all__ = ["LateAnswers"]
