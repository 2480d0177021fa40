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


def idempotency_key() -> str:
    """Return the key of the call that is running: a tool hands it to a remote side that recognises repeated calls."""
    return _KEY.get()


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """Let :func:`idempotency_key` return ``key`` inside the block."""
    token = _KEY.set(key)
    try:
        yield
    finally:
        _KEY.reset(token)


@contextmanager
def detached() -> Iterator[None]:
    """Hide the running graph's configuration from what is called inside the block."""
    token = var_child_runnable_config.set(None)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
