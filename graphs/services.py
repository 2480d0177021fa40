"""What deciding and running needs, in one frozen value: built once by the composition root, shared by every surface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.decision import MAX_QUESTIONS
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.policy import Policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.snapshot import Snapshot, snapshot
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.graphs.inbound import Inbound


@dataclass(frozen=True)
class Services:
    """The one manifest, policy, queue, executor and content store of a process.

    ``protected`` are the gateway's own paths and hosts, which no tool may touch. In mode ``observe`` everything is
    decided and recorded, and nothing is stopped. ``sandbox`` says that one is configured for tools that run code.
    ``max_questions`` is how many questions one task may put to people before it is paused; ``outbound`` is what may
    not leave in answers and in the content of calls, and ``inbound`` looks at what enters. ``standing`` reads how a
    thread stands in the queue.
    """

    manifest: Manifest
    policy: Policy
    queue: Queue
    executor: Executor
    content: SqlContentStore
    mode: Literal["enforce", "observe"] = "enforce"
    profile: str = "strict"
    protected: tuple[str, ...] = ()
    sandbox: bool = False
    max_questions: int = MAX_QUESTIONS
    outbound: OutboundRules = field(default_factory=OutboundRules)
    inbound: Inbound = field(default_factory=Inbound)
    standing: Callable[[Queue, str], Snapshot] = snapshot
