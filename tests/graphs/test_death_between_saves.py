"""A process that dies between any two saves of a checkpointer leaves a thread that the next process can go on with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from checkvalve.graphs.runs import Pipeline
from tests.graphs.pipeline_world import World, scripted


class Dead(BaseException):
    """Nothing is saved from now on."""


def die_after(saver: Any, saves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many saves reach the store, and none after them."""
    done = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def save(*args: Any, **options: Any) -> Any:
            nonlocal done
            if done >= saves:
                raise Dead
            done += 1
            return real(*args, **options)

        return save

    for name in ("put", "put_writes"):
        monkeypatch.setattr(saver, name, counted(getattr(saver, name)))


def noon(world: World) -> Pipeline:
    return world.pipeline(scripted(AIMessage("it is noon")))


@pytest.mark.claim("C9")
@pytest.mark.parametrize("saves", range(12))
def test_the_next_process_goes_on(world: World, saves: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        die_after(world.saver, saves, patch)
        try:
            noon(world).start("What time is it?", thread="t", message_id="m")
        except Dead:
            pass
        else:
            assert saves >= 8, "it did not die"
    result = noon(world).start("What time is it?", thread="t", message_id="m")
    assert (result.status, result.answer) == ("answered", "it is noon")
    said = noon(world).graph.get_state({"configurable": {"thread_id": "t"}}).values["log"]
    assert [entry["by"] for entry in said].count("user") == 1, "the message is taken in once"
