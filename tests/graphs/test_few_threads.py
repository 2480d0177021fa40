"""A few threads for calls that may never come back: what is stuck keeps its place, and starves nobody."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool

from checkvalve.graphs.few_threads import BusyError, FewThreads, is_awaited
from checkvalve.graphs.in_time import TooLateError
from tests.waiting import LONG, until

NAME = "checkvalve-few-threads-test"
SOON = 0.05  # seconds: it is over at once where nothing comes


class Stuck:
    """Something that does not come back until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.inside = threading.Semaphore(0)

    def __call__(self) -> str:
        self.inside.release()
        self.go.wait(LONG)
        return "late"


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    found = Stuck()
    yield found
    found.go.set()
    for thread in alive():
        thread.join(LONG)
    assert alive() == []


def alive() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == NAME]


def test_what_comes_in_time_is_returned_with_its_context_and_its_errors() -> None:
    few, told = FewThreads(1, NAME), contextvars.ContextVar("told", default="")
    told.set("in the context of who asks")
    assert few.within(LONG, told.get) == "in the context of who asks"
    assert asyncio.run(few.awithin(LONG, told.get)) == "in the context of who asks"
    with pytest.raises(ZeroDivisionError):
        few.within(LONG, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(few.awithin(LONG, lambda: 1 // 0))
    with pytest.raises(RuntimeError, match="SystemExit"):
        few.within(LONG, lambda: exec("raise SystemExit"))
    with pytest.raises(TimeoutError, match="its own"):
        few.within(LONG, _its_own)
    until(lambda: not alive())


def _its_own() -> None:
    raise TimeoutError("its own")


def test_what_is_stuck_keeps_its_place_and_there_are_never_more_threads(stuck: Stuck) -> None:
    few = FewThreads(2, NAME)
    for _ in range(2):
        with pytest.raises(TooLateError, match="took too long"):
            few.within(SOON, stuck)
    for _ in range(3):
        with pytest.raises(BusyError):
            few.within(SOON, stuck)
        with pytest.raises(BusyError):
            asyncio.run(few.awithin(SOON, stuck))
    assert len(alive()) == 2
    assert all(one.daemon for one in alive())
    stuck.go.set()
    assert few.within(LONG, lambda: "free again") == "free again"


def test_the_threads_of_the_loop_stay_free_whatever_is_stuck(stuck: Stuck) -> None:
    """The loop's executor has a few threads as well; a stuck preview must take none of them."""
    few = FewThreads(4, NAME)

    async def main() -> list[object]:
        late: list[object] = await asyncio.gather(*(few.awithin(SOON, stuck) for _ in range(4)), return_exceptions=True)
        names = {await asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(8)}
        assert NAME not in names
        return late

    found = asyncio.run(main())  # it joins the threads of the loop's executor: a stuck one would hold it up
    assert [type(one) for one in found] == [TooLateError] * 4
    assert len(alive()) == 4


def test_who_waits_for_a_place_gets_the_one_that_becomes_free(stuck: Stuck) -> None:
    few = FewThreads(1, NAME)

    async def main() -> str:
        first = asyncio.ensure_future(few.awithin(LONG, stuck))
        await asyncio.to_thread(stuck.inside.acquire, timeout=LONG)
        second = asyncio.ensure_future(few.awithin(LONG, lambda: "second"))
        await asyncio.sleep(0)
        stuck.go.set()
        assert await first == "late"
        return await second

    assert asyncio.run(main()) == "second"


class _Own(BaseTool):
    name: str = "own"
    description: str = "of its own"

    def _run(self, **_: Any) -> str:
        return "sync"


class _OwnAwaited(_Own):
    async def _arun(self, **_: Any) -> str:
        return "awaited"


def test_a_tool_is_awaited_only_where_it_has_a_coroutine() -> None:
    def plain(text: str) -> str:
        """Say it."""
        return text

    async def awaited(text: str) -> str:
        """Say it."""
        return text

    both = StructuredTool.from_function(func=plain, coroutine=awaited, name="both", description="x")
    found = [is_awaited(one) for one in (tool(plain), tool(awaited), both, _Own(), _OwnAwaited())]
    assert found == [False, True, True, False, True]
