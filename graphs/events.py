"""What a run tells those who watch it: typed events with ids, names from the manifest, counts and codes.

Guarantees: an event never holds content, an argument, a result, or text that a model or a tool wrote.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from langgraph.config import get_stream_writer


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. ``agent`` is empty for the first agent, else the path of a sub-agent."""

    kind: ClassVar[str] = "event"
    thread: str
    agent: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the published form; ``kind`` names the class."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    """A message of the user was taken in; ``message`` counts them."""

    kind: ClassVar[str] = "task_started"
    message: int = 1


@dataclass(frozen=True, slots=True)
class ItemIngested(Event):
    """A result was labelled and stored; ``references`` were shown for it."""

    kind: ClassVar[str] = "item_ingested"
    tool: str = ""
    call: str = ""
    references: int = 0


@dataclass(frozen=True, slots=True)
class ReaderAsked(Event):
    """The reader, or code over stored lists, is asked."""

    kind: ClassVar[str] = "reader_asked"
    call: str = ""
    what: str = "read"


@dataclass(frozen=True, slots=True)
class Extracted(Event):
    """The answer came, or did not (``code``). ``bits`` were charged to ``source``, which has used ``spent``."""

    kind: ClassVar[str] = "extracted"
    call: str = ""
    source: str = ""
    code: str = ""
    tries: int = 0
    bits: float = 0.0
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposed(Event):
    """The actor asks for a call; ``references`` of its arguments are references."""

    kind: ClassVar[str] = "proposed"
    tool: str = ""
    call: str = ""
    references: int = 0


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """A call has its verdict. ``approval`` names the record, empty where the call could not be recorded as one."""

    kind: ClassVar[str] = "decided"
    tool: str = ""
    call: str = ""
    verdict: str = ""
    rule: str = ""
    approval: str = ""


@dataclass(frozen=True, slots=True)
class Waiting(Event):
    """A person has to decide ``approval``."""

    kind: ClassVar[str] = "waiting"
    approval: str = ""


@dataclass(frozen=True, slots=True)
class Executed(Event):
    """The executor is done with a call; ``state`` is that of its record."""

    kind: ClassVar[str] = "executed"
    tool: str = ""
    call: str = ""
    approval: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The answer went through its checks; its text is in the record ``approval``, not here."""

    kind: ClassVar[str] = "answered"
    approval: str = ""


@dataclass(frozen=True, slots=True)
class Cleaned(Event):
    """Something was taken out of an answer before it was decided; ``codes`` say why, with commas between them."""

    kind: ClassVar[str] = "cleaned"
    codes: str = ""


@dataclass(frozen=True, slots=True)
class Stopped(Event):
    """The run ended without an answer."""

    kind: ClassVar[str] = "stopped"
    code: str = ""


_KINDS = {
    item.kind: item
    for item in (
        TaskStarted,
        ItemIngested,
        ReaderAsked,
        Extracted,
        Proposed,
        Decided,
        Waiting,
        Executed,
        Answered,
        Cleaned,
        Stopped,
    )
}


def from_json(data: dict[str, Any]) -> Event:
    """Return the event that :meth:`Event.to_json` wrote.

    Raises:
        KeyError, TypeError: it is none.
    """
    values = dict(data)
    return _KINDS[values.pop("kind")](**values)


def emit(event: Event) -> None:
    """Hand ``event`` to whoever watches the running graph."""
    get_stream_writer()(event.to_json())
