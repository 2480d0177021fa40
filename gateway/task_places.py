"""Which task of a conversation a message, and a call behind it, belongs to: what a new message does while a call waits.

1. ``hold``: there is one task, the conversation. 2. ``supersede``: as well, and a new message takes back open questions
and unused permits. 3. ``allow-parallel``: a new message while something waits begins a task of its own, whose words,
results and data are stored under a name of its own; it is noted once, under the conversation, which message began
which. What comes behind a message belongs to its task, up to the next message of the user.

Guarantees: a message is placed once, whatever process looks; where the messages that say it are gone, the newest task
counts, which no earlier word speaks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from langchain_core.messages import BaseMessage

from checkvalve.approvals.conversations import contexts_of
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.task_contexts import for_message
from checkvalve.filters.labels import CLEAN
from checkvalve.gateway.errors import GatewayError
from checkvalve.gateway.messages import mark_of

if TYPE_CHECKING:
    from checkvalve.gateway.app import Gateway

PLACED: Final = "context"
"""The kind of a history item that says which message began which task; it holds no content."""

_MAX_KNOWN: Final = 256  # conversations kept in memory


@dataclass
class _Read:
    """How far a history was read, which messages it places, and which were taken in."""

    seen: int = 0
    placed: dict[str, str] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)


class TaskPlaces:
    """Places the messages of one agent's conversations."""

    def __init__(self, gateway: Gateway) -> None:
        """Place them in the store of ``gateway``, as its settings say."""
        self.gateway = gateway
        self._lock = Lock()
        self._known: dict[str, _Read] = {}

    @property
    def parallel(self) -> bool:
        """Say whether a conversation may have several tasks."""
        return self.gateway.settings.on_new_message == "allow-parallel" and not self.gateway.observing

    def place(self, root: str, messages: Sequence[BaseMessage], is_user: Callable[[BaseMessage], bool]) -> str:
        """Return the task that comes behind these messages, and place the user's last one where it is new.

        Raises:
            GatewayError: too many tasks of this conversation wait for people.
        """
        if self.gateway.settings.on_new_message == "hold" or self.gateway.observing:
            return root
        last = next((message for message in reversed(messages) if is_user(message)), None)
        if last is not None and key_of(last) not in self._placed(root):
            self._take_in(root, last)
        return self.of(root, messages)[-1] if self.parallel else root

    def of(self, root: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Return the task of each message, and of what comes behind the last one."""
        if not self.parallel:
            return [root] * (len(messages) + 1)
        placed = self._placed(root)
        here = root if any(key_of(message) in placed for message in messages) else next(reversed(placed.values()), root)
        found = []
        for message in messages:
            here = placed.get(key_of(message), here)
            found.append(here)
        return [*found, here]

    def waits_elsewhere(self, root: str, context: str, digest: str) -> Proposal | None:
        """Return the open or approved question about exactly this call in another task of the conversation.

        Proposing the call again is how an agent that did not wait comes to the result, by the question it was told of.
        """
        queue = self.gateway.queue
        for name in contexts_of(queue.store, root) if self.parallel else ():
            rows = queue.list([State.PENDING, State.APPROVED], thread=name) if name != context else []
            for row in rows:
                if (row.digest, row.verdict_name, row.mode) == (digest, "review", "enforce"):
                    return row
        return None

    def _take_in(self, root: str, message: BaseMessage) -> None:
        """Say once where a new message belongs; one that was read before there were several tasks is the first's."""
        if self._heard(root, key_of(message)):
            return
        context: str | None = root
        if self.parallel:
            context = for_message(self.gateway.queue, root)
        else:
            self._take_back(root)
        if context is None:
            raise GatewayError("too many tasks of this conversation wait for people", "let somebody decide")
        value = {"message": key_of(message), "context": context}
        self.gateway.content.append_item(root, f"{PLACED}:{key_of(message)}", PLACED, {**value}, CLEAN)

    def _take_back(self, root: str) -> None:
        queue = self.gateway.queue
        for row in queue.list([State.PENDING, State.APPROVED], thread=root):
            with suppress(ConflictError):  # decided or used in between
                if row.state is State.PENDING:
                    queue.close(row.id, State.SUPERSEDED, by="user", code="new_message")
                elif row.verdict_name == "review":
                    queue.invalidate(row.id, "new_message")

    def _placed(self, root: str) -> dict[str, str]:
        """Return the task of each message that was placed, oldest first; of two that were faster the first one says."""
        with self._lock:
            read = self._known.pop(root, None) or _Read()
            for item in self.gateway.content.items(root, after=read.seen):
                read.seen = item.seq
                if item.kind == PLACED and isinstance(item.value, dict):
                    read.placed.setdefault(str(item.value["message"]), str(item.value["context"]))
                elif item.kind == "words":
                    read.heard.add(item.key.rpartition("/")[0])
            self._known[root] = read
            while len(self._known) > _MAX_KNOWN:
                del self._known[next(iter(self._known))]
            return dict(read.placed)

    def _heard(self, root: str, key: str) -> bool:
        """Say whether a message was taken in before, by whomever."""
        self._placed(root)
        with self._lock:
            return root in self._known and key in self._known[root].heard


def key_of(message: BaseMessage) -> str:
    """Return what a message is known by."""
    return f"message:{message.id or ''}:{mark_of(message)[:32]}"


__all__ = ["PLACED", "TaskPlaces", "key_of"]
