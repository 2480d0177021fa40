"""How the running graph was started: by the host, or by something inside a run.

Guarantees: what is not known for certain counts as started from inside, which costs a question and no more.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from langgraph.config import get_config

from checkvalve.graphs.detached import idempotency_key

# The tests of pausing without a checkpointer and of typed words fail when LangGraph renames these.
_CHECKPOINTER: Final = "__pregel_checkpointer"
_SCRATCHPAD: Final = "__pregel_scratchpad"
_FIRST: Final = 1  # super-steps between the one that takes in a graph's input and its first node
_LEVELS: Final = "|"  # LangGraph joins the names of a graph inside a graph with this

_RUNNING: Final[Counter[tuple[int, str]]] = Counter()
_LOCK: Final = threading.Lock()


def can_pause() -> bool:
    """Say whether the running graph has a checkpointer, without which nobody could resume it."""
    return bool(_configurable().get(_CHECKPOINTER))


def is_first_node() -> bool:
    """Say whether nothing but the input was written since the host invoked the graph."""
    pad: Any = _configurable().get(_SCRATCHPAD)
    try:
        return bool(pad.stop - pad.step == get_config()["recursion_limit"] - _FIRST)
    except (AttributeError, TypeError, KeyError):
        return False


def is_inner_graph(namespace: str) -> bool:
    """Say whether the graph with this checkpoint namespace runs inside a node of another."""
    return _LEVELS in namespace


def inside_a_call() -> bool:
    """Say whether a tool that a gate has let through is running around us: in this thread, or where it was copied to.

    Tasks of asyncio, ``asyncio.to_thread`` and LangChain's own thread pools copy this; a bare thread does not.
    """
    return bool(idempotency_key())


@contextmanager
def running(gate: object, requester: str) -> Iterator[None]:
    """Note that a call of this gate runs, in this process."""
    key = (id(gate), requester)
    with _LOCK:
        _RUNNING[key] += 1
    try:
        yield
    finally:
        with _LOCK:
            _RUNNING[key] -= 1
            if not _RUNNING[key]:
                del _RUNNING[key]


def another_agent_runs(gate: object, requester: str) -> bool:
    """Say whether a call of another gate runs for the same person: it may have started what asks, in a bare thread."""
    with _LOCK:
        return any(person == requester and owner != id(gate) for owner, person in _RUNNING)


def _configurable() -> dict[str, Any]:
    try:
        return get_config().get("configurable", {})
    except RuntimeError:  # not inside a graph
        return {}
