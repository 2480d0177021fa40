"""What a new message of the user does: where it is kept, and what becomes of the calls that wait.

1. ``hold``: it is kept in the thread; the calls that wait are decided first. 2. ``supersede``: as well, and open
questions and unused permits are taken back. 3. ``allow-parallel``: while something waits, it begins a task of its own,
in a thread of its own. Nothing of what was said, read, accepted or given before is in that, so words of one task are
nobody's consent in the other, and neither is a reviewer's yes. What was asked stays as it was asked, and whoever waits
for it goes on in its thread.

Guarantees: a message that was kept before stays where it is, and said again under its id it does nothing: it takes no
question back that it raised itself. Beyond a number of tasks nothing is kept, and an error says so.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal
from uuid import uuid4

from checkvalve.approvals.conversations import contexts_of, root_of
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.records import State
from checkvalve.approvals.retries import end_tries
from checkvalve.approvals.task_contexts import for_message
from checkvalve.graphs.contents import Contents
from checkvalve.graphs.desk import Desk, OnNewMessage
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.ingest import add_message
from checkvalve.graphs.readings import clean


class Saying:
    """Keeps the messages of one pipeline."""

    def __init__(self, desk: Desk, on_new_message: OnNewMessage) -> None:
        """Keep them in the store of ``desk``."""
        self._desk = desk
        self._mode = on_new_message

    def context_for(self, thread: str, message_id: str) -> str:
        """Return the thread that a new message goes to.

        Raises:
            PipelineError: too many tasks of this conversation wait for people.
        """
        if self._mode != "allow-parallel":
            return thread
        root = root_of(thread)
        if message_id and (known := self._that_has(root, _key(message_id))):
            return known
        if (found := for_message(self._desk.services.queue, root)) is None:
            raise PipelineError(
                "too many tasks of this conversation wait for people", "let somebody decide, or take questions back"
            )
        return found

    def keep(self, text: str, context: str, message_id: str) -> None:
        """Keep a message in the thread that it goes to; one of a known id is no new message.

        What waits is taken back first: where the process dies in between, the sender's retry does the rest.

        Raises:
            PipelineError: other words were said under this id; nothing was kept.
        """
        key = _key(message_id)
        said = [words for known, words in self._messages(context) if known == key]
        if said:
            if clean(text) not in said:
                raise PipelineError(
                    "other words were said under this message_id", "give a new message an id of its own"
                )
            return
        if self._mode == "supersede":
            self.take_back(context, State.SUPERSEDED, "user", "new_message")
        add_message(self._desk, context, key, text)

    def cancel(self, thread: str, by: str) -> list[str]:
        """Take back what waits in a thread, and in every task that was begun beside it."""
        beside = contexts_of(self._desk.services.queue.store, thread) if self._mode == "allow-parallel" else [thread]
        return [name for one in beside for name in self.take_back(one, State.CANCELLED, by, "cancelled")]

    def take_back(self, thread: str, end: Literal[State.CANCELLED, State.SUPERSEDED], by: str, code: str) -> list[str]:
        """Take back what was not used yet: open questions, permits, whoever gave them, and further tries of lost calls.

        Returns the calls that are taken back; of a lost one nobody knows whether it happened, so it is none of them.
        """
        queue = self._desk.services.queue
        closed = []
        for row in queue.list([State.PENDING], thread=thread):
            with suppress(ConflictError):  # decided in between: then it is among the permits below, or over
                queue.close(row.id, end, by=by, code=code)
                closed.append(row.id)
        for row in queue.list([State.APPROVED], thread=thread):
            with suppress(ConflictError):  # used in between: an effect that has begun cannot be taken back
                queue.invalidate(row.id, code)
                closed.append(row.id)
        for row in queue.list([State.EXECUTING, State.UNKNOWN], thread=thread):
            end_tries(queue, row.id, by=by, code=code)  # it may have happened; it is not sent once more
        return closed

    def _that_has(self, root: str, key: str) -> str:
        for name in contexts_of(self._desk.services.queue.store, root):
            if any(known == key for known, _ in self._messages(name)):
                return name
        return ""

    def _messages(self, thread: str) -> list[tuple[str, str]]:
        services = self._desk.services
        return Contents(services.content, services.manifest, thread).messages()


def _key(message_id: str) -> str:
    return f"message/{message_id or uuid4()}"


__all__ = ["Saying"]
