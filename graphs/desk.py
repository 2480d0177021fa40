"""What the nodes of one pipeline share: services, tools, limits, and the open sessions of its threads."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal, TypeAlias

from langgraph.config import get_config

from checkvalve.graphs.contents import Contents
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.limits import PipelineLimits
from checkvalve.graphs.references import Book
from checkvalve.graphs.schemas import ReadSchema
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.state import PipelineState
from checkvalve.graphs.toolbox import Toolbox

MAX_SESSIONS: Final = 256
"""Threads kept in memory; a further one is rebuilt from the store when it comes back."""

OnNewMessage: TypeAlias = Literal["hold", "supersede", "allow-parallel"]


@dataclass(frozen=True)
class Thread:
    """One open thread: the guard that decides its calls, and what was read in it."""

    session: GuardSession
    contents: Contents


@dataclass(frozen=True)
class Desk:
    """The shared parts of the nodes. One for each pipeline; it may serve many threads at once."""

    services: Services
    toolbox: Toolbox
    limits: PipelineLimits
    schemas: Mapping[str, ReadSchema] = field(default_factory=dict)
    id_patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    requester: str = ""
    servers: Mapping[str, str] = field(default_factory=dict)
    _open: OrderedDict[tuple[str, str], Thread] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def thread(self, state: PipelineState) -> Thread:
        """Return the open thread of a state, opening it if this process has not yet."""
        name, requester = thread_of(state), state.get("requester", self.requester)
        with self._lock:
            found = self._open.pop((name, requester), None) or Thread(
                GuardSession(self.services, name, requester, isolated=True),
                Contents(self.services.content, self.services.manifest, name),
            )
            self._open[name, requester] = found
            while len(self._open) > MAX_SESSIONS:
                self._open.popitem(last=False)
            return found

    def tools_of(self, server: str) -> dict[str, Any]:
        """Return the tools of one server, by name: what another one offers under the same name is another tool."""
        return {name: tool for name, tool in self.toolbox.tools.items() if self.servers.get(name, "") == server}

    def book(self, state: PipelineState) -> Book:
        """Return the references of a state."""
        thread, turn = self.thread(state), turn_of(state)
        return Book(
            thread.contents,
            state.get("references", {}),
            self.limits.max_shown,
            lambda field: thread.session.held(field, turn),
        )


def thread_of(state: PipelineState) -> str:
    """Return the thread whose history and approvals a state belongs to: its own, or that of the graph it runs in.

    Raises:
        PipelineError: there is none, so nothing could be told from another run.
    """
    name = state.get("thread") or str(get_config()["configurable"].get("thread_id", ""))
    if not name:
        raise PipelineError("a pipeline runs in a thread", "invoke the graph with a thread_id")
    return name


def agent_of(state: PipelineState) -> str:
    """Return the path of the agent: empty for the first one, else the calls that led to it."""
    return state.get("agent", "")


def full_name(state: PipelineState, call: str) -> str:
    """Return what a call is known by in the store: the agent's path, the run of a node, and the call."""
    return "/".join(part for part in (agent_of(state), state.get("run", ""), call) if part)


def turn_of(state: PipelineState) -> str:
    """Return the name of the actor's latest turn, as results and calls carry it."""
    return full_name(state, f"t{state.get('turns', 0)}")


def nested_run() -> str:
    """Return a short name for this run of a pipeline inside a bigger graph, the same when it is resumed; else nothing.

    A node of a bigger graph begins anew each time it is entered, and its calls must not be taken for earlier ones.
    """
    namespace, found, _ = str(get_config()["configurable"].get("checkpoint_ns", "")).rpartition("|")
    return hashlib.sha256(namespace.encode()).hexdigest()[:8] if found else ""
