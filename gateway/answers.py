"""What a guarded agent's model says on its way to people: texts are cleaned before anything sees them.

1. The model runs unstreamed, and without the callbacks that show its events to whoever runs the agent: a token that is
out cannot be taken back. The whole text appears at once, when it is clean. 2. All text parts of a message are looked at
together, and each by itself, since clients show them as one text or as several; what a model says beside them is looked
at part by part (``answer_parts``). 3. A text with findings is replaced by its cleaned form, one that is withheld by a
coded note. In observe mode nothing is changed, and the log says what would have been.

Guarantees: a scan that crashes withholds the text; calls beside a text are not touched, their gate decides on them; the
shape of a message stays as it was, unless something is taken out of several parts: then they become one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables.config import ensure_config, set_config_context
from langchain_core.tracers._streaming import _StreamingCallbackHandler, _V2StreamingCallbackHandler
from langgraph.constants import TAG_NOSTREAM

from checkvalve.filters.outbound.scan import note, scan_outbound
from checkvalve.filters.outcomes import ContentOutcome, ScanResult, Status
from checkvalve.gateway.answer_parts import Clean, beside_text, cleaned_value, handed_over, without_logged
from checkvalve.gateway.logs import get_logger
from checkvalve.graphs.outgoing import scan_leaving
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession

_Answer = TypeVar("_Answer")
_FAILED: Final = "scan-failed"


def unstreamed(call: Callable[[], _Answer]) -> _Answer:
    """Run a model's call so that no token of it is streamed by the graph."""
    with set_config_context(_quiet()) as context:
        return context.run(call)


async def aunstreamed(call: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Do what :func:`unstreamed` does, for a call that is awaited."""

    async def awaited() -> _Answer:
        return await call()

    with set_config_context(_quiet()) as context:
        return await asyncio.create_task(awaited(), context=context)


def _quiet() -> Any:
    config = ensure_config()
    tags = [*(config.get("tags") or []), TAG_NOSTREAM]
    return {**config, "tags": tags, "callbacks": _without_streams(config.get("callbacks"))}


def _without_streams(callbacks: Any) -> Any:
    """Return the callbacks of a run without those that show a model's tokens to whoever streams its events."""
    if isinstance(callbacks, BaseCallbackManager):
        own = callbacks.copy()
        own.handlers = _silent(own.handlers)
        own.inheritable_handlers = _silent(own.inheritable_handlers)
        return own
    return _silent(callbacks) if isinstance(callbacks, list) else callbacks


def _silent(handlers: Sequence[Any]) -> list[Any]:
    return [one for one in handlers if not isinstance(one, (_StreamingCallbackHandler, _V2StreamingCallbackHandler))]


class Answers:
    """Cleans the messages of a model. One for each agent."""

    def __init__(self, services: Services) -> None:
        """Clean by the rules of ``services``."""
        self._services = services

    def cleaned(self, messages: Sequence[BaseMessage], session: GuardSession | None) -> list[BaseMessage]:
        """Return ``messages`` with what may not leave taken out of the model's words.

        A result that comes together with its call is structured output, repeated as text.
        """
        returned = handed_over(list(messages))
        return [self._message(item, session, returned) for item in messages]

    def value(self, value: Any, session: GuardSession | None) -> Any:
        """Return the value of a structured answer with what may not leave taken out of its strings."""
        return cleaned_value(value, self._clean(session))

    def _message(self, message: BaseMessage, session: GuardSession | None, returned: frozenset[str]) -> BaseMessage:
        if not isinstance(message, (AIMessage, ToolMessage)):
            return message
        found = self._text_of(message, session)
        if isinstance(found, AIMessage):
            found = beside_text(found, self._clean(session), returned=returned)
            return found if found is message else without_logged(found)
        return found

    def _text_of(self, message: AIMessage | ToolMessage, session: GuardSession | None) -> AIMessage | ToolMessage:
        parts, clean = _texts(message.content), self._clean(session)
        text = "".join(parts)
        shown = clean(text)
        if shown == text and len(parts) > 1:  # the end of one part may hide from the filter how the next one begins
            shown = clean("".join(map(clean, parts)))
        return message if shown == text else message.model_copy(update={"content": _with(message.content, shown)})

    def _clean(self, session: GuardSession | None) -> Clean:
        return lambda text: self._shown(text, session)

    def _shown(self, text: str, session: GuardSession | None) -> str:
        if not text:
            return text
        scanned = self._scanned(text, session)
        if scanned.outcome is ContentOutcome.PASS:
            return text
        observing = self._services.mode == "observe"
        said = "OBSERVE MODE: a text leaves that would have been cleaned" if observing else "answer.cleaned"
        get_logger().warning(said, outcome=scanned.outcome.value, codes=", ".join(scanned.codes), reason=scanned.reason)
        return text if observing else scanned.text

    def _scanned(self, text: str, session: GuardSession | None) -> ScanResult:
        try:
            if session is None:
                return scan_outbound(text, self._services.outbound)
            return scan_leaving(text, session, self._services)
        except Exception as error:  # noqa: BLE001  # what could not be looked at does not leave
            get_logger().error("gate.failed", error=type(error).__name__, remedy=getattr(error, "remedy", ""))
            return ScanResult(Status.UNSCANNED, ContentOutcome.WITHHOLD, note(_FAILED), reason=_FAILED)


def _texts(content: str | list[Any]) -> list[str]:
    """Return the text of every part of a message that is text."""
    if isinstance(content, str):
        return [content]
    return [part if isinstance(part, str) else part["text"] for part in content if _is_text(part)]


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def _with(content: str | list[Any], text: str) -> str | list[Any]:
    """Return ``content`` with ``text`` in the place of all its text parts."""
    if isinstance(content, str):
        return text
    first = next(place for place, part in enumerate(content) if _is_text(part))
    kept = [text if isinstance(content[first], str) else {"type": "text", "text": text}]
    return [
        item
        for place, part in enumerate(content)
        for item in (kept if place == first else [] if _is_text(part) else [part])
    ]


__all__ = ["Answers", "aunstreamed", "unstreamed"]
