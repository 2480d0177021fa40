"""Awaiting something within a time: what takes longer is left to itself, and what it says then is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_T = TypeVar("_T")


class TooLateError(Exception):
    """It took longer than the manifest allows. No timeout of a connection: only what reads or tries is called so."""


class BrokenOffError(Exception):
    """A connection broke in the middle of a read. There is no effect whose outcome could be unknown."""


async def awithin(seconds: float, run: Callable[[], Awaitable[_T]]) -> _T:
    """Return what ``run`` returns, in time; what does not let itself be cancelled is not waited for either.

    Raises:
        TooLateError: it took longer.
    """
    waiting = asyncio.ensure_future(run())
    try:
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if not done:
            raise TooLateError("it took too long")
        return waiting.result()
    finally:
        waiting.cancel()  # of one that has ended it changes nothing


__all__ = ["BrokenOffError", "TooLateError", "awithin"]
