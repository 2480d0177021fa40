"""A few threads for calls that may never come back: they take none that an event loop or anybody else waits for.

1. A call gets a thread of its own, if fewer than the allowed number are at work; else it waits for one as long as it
may take itself. 2. Whoever asked waits for the result, in time. 3. What takes longer is left to itself, keeps its place
until it ends, and what it says then is dropped.

Guarantees: never more than so many threads; they are daemons, so a stuck one does not hold up the end of a process; a
tool that has no coroutine of its own is never run on the loop's executor, where stuck ones would starve everybody.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from typing import Any, Final, TypeVar

from langchain_core.tools import BaseTool, StructuredTool, Tool

from checkvalve.graphs.in_time import TooLateError, awithin

_T = TypeVar("_T")
_LOOK: Final = 0.02
"""Seconds between looks for a free thread, for somebody who must not block."""


class BusyError(TooLateError):
    """As many calls as may run at once are still at work."""


class FewThreads:
    """At most ``limit`` threads, called ``name``."""

    def __init__(self, limit: int, name: str) -> None:
        """Start none yet."""
        self._places = threading.BoundedSemaphore(limit)
        self._name = name

    def within(self, seconds: float, run: Callable[[], _T]) -> _T:
        """Return what ``run`` returns, in time.

        Raises:
            TooLateError: it took longer.
            BusyError: no thread became free meanwhile.
        """
        end = time.monotonic() + seconds
        if not self._places.acquire(timeout=seconds):
            raise BusyError("too many such calls are still at work")
        found = self._begun(run)
        try:
            return found.result(timeout=max(0.0, end - time.monotonic()))
        except NotYetError:
            if found.done():
                raise  # it is the call's own error
            raise TooLateError("it took too long") from None

    async def awithin(self, seconds: float, run: Callable[[], _T]) -> _T:
        """Do what :meth:`within` does without blocking the loop."""
        end = time.monotonic() + seconds
        while not self._places.acquire(blocking=False):
            if time.monotonic() >= end:
                raise BusyError("too many such calls are still at work")
            await asyncio.sleep(_LOOK)
        found = asyncio.wrap_future(self._begun(run))
        try:
            done, _ = await asyncio.wait({found}, timeout=max(0.0, end - time.monotonic()))
            if not done:
                raise TooLateError("it took too long")
            return found.result()
        finally:
            found.cancel()  # of one that has ended it changes nothing

    async def ainvoke(self, seconds: float, tool: BaseTool, call: dict[str, Any]) -> Any:
        """Return what a tool gives for a call, in time: awaited where it is awaited, else in one of these threads.

        Raises:
            TooLateError, BusyError: as :meth:`within`.
        """
        if is_awaited(tool):
            return await awithin(seconds, lambda: tool.ainvoke(call))
        return await self.awithin(seconds, lambda: tool.invoke(call))

    def _begun(self, run: Callable[[], _T]) -> Future[_T]:
        """Start a thread for ``run``, whose place was taken."""
        found: Future[_T] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            result: Any = None
            failed: BaseException | None = None
            try:
                result = context.run(run)
            except Exception as error:  # noqa: BLE001  # it is raised again where somebody waits for it
                failed = error
            except BaseException as error:  # noqa: BLE001  # it must not end the one who waits
                failed = RuntimeError(type(error).__name__)
            finally:
                self._places.release()
            with suppress(InvalidStateError):  # nobody waits any more
                found.set_result(result) if failed is None else found.set_exception(failed)

        try:
            threading.Thread(target=work, name=self._name, daemon=True).start()
        except BaseException:
            self._places.release()
            raise
        return found


def is_awaited(tool: BaseTool) -> bool:
    """Say whether a tool has a coroutine of its own; LangChain runs others on the loop's executor."""
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is not None
    kind = type(tool)
    return kind._arun is not BaseTool._arun or kind.ainvoke is not BaseTool.ainvoke  # noqa: SLF001  # as LangChain asks


__all__ = ["BusyError", "FewThreads", "is_awaited"]
