"""Running content-side code apart from the graph: what tools and the reader get and give is not traced with the run.

LangGraph hands the run's callbacks to everything that is called inside a node, and a tracer among them would record
tool results and the reader's input. A host that wants those traces gives its callbacks to the model or the tool itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from langchain_core.runnables.config import var_child_runnable_config

_KEY: ContextVar[str] = ContextVar("checkvalve_idempotency_key", default="")
_TASK: ContextVar[str] = ContextVar("checkvalve_task", default="")


def idempotency_key() -> str:
    """Return the key of the call that is running: a tool hands it to a remote side that recognises repeated calls."""
    return _KEY.get()


def task_name() -> str:
    """Return the thread of the call that is running: what a tool keeps the files of one task apart by."""
    return _TASK.get()


@contextmanager
def keyed(key: str, task: str = "") -> Iterator[None]:
    """Let :func:`idempotency_key` return ``key`` inside the block, and :func:`task_name` return ``task``."""
    tokens = _KEY.set(key), _TASK.set(task)
    try:
        yield
    finally:
        _KEY.reset(tokens[0])
        _TASK.reset(tokens[1])


@contextmanager
def detached() -> Iterator[None]:
    """Hide the running graph's configuration from what is called inside the block."""
    token = var_child_runnable_config.set(None)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
