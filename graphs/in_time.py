"""Calling something within a time: what takes longer is left to itself, and what it says then is dropped."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

_T = TypeVar("_T")
NAME: Final = "checkvalve-in-time"
"""The name of the threads in which such calls are made."""


class TooLateError(TimeoutError):
    """It took longer than the manifest allows."""


def within(seconds: float, run: Callable[[], _T]) -> _T:
    """Return what ``run`` returns, in time.

    Raises:
        TooLateError: it took longer.
    """
    ended: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            ended.put((True, context.run(run)))
        except BaseException as error:  # noqa: BLE001  # it is raised again where somebody waits for it
            ended.put((False, error))

    threading.Thread(target=work, name=NAME, daemon=True).start()
    try:
        done, found = ended.get(timeout=seconds)
    except Empty:
        raise TooLateError("it took too long") from None
    if done:
        result: _T = found
        return result
    raise found if isinstance(found, Exception) else RuntimeError(type(found).__name__)


async def awithin(seconds: float, run: Callable[[], Awaitable[_T]]) -> _T:
    """Do what :func:`within` does; what does not let itself be cancelled is not waited for either."""
    waiting = asyncio.ensure_future(run())
    try:
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if not done:
            raise TooLateError("it took too long")
        return waiting.result()
    finally:
        waiting.cancel()  # of one that has ended it changes nothing


__all__ = ["NAME", "TooLateError", "awithin", "within"]
