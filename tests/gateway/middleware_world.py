"""Short ways to run a guarded agent, and to look at what it was told and what was recorded."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway
from tests.gateway.world import ASK, World, thread

GRAPH: Any = thread("t")
TOKENS: dict[int, str] = {}


def run(place: World, gateway: Gateway, *script: AIMessage, ask: HumanMessage = ASK, **options: Any) -> dict[str, Any]:
    agent = place.agent(gateway, list(script), checkpointer=InMemorySaver(), **options)
    state: dict[str, Any] = agent.invoke({"messages": [ask]}, GRAPH, durability="sync")
    return state


def replies(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def code_of(message: ToolMessage) -> str:
    return str(message.artifact["checkvalve"]["code"])


def argument(decision: Any, path: str) -> Any:
    return next(item for item in decision["arguments"] if item["path"] == path)


def results(gateway: Gateway) -> list[Any]:
    return [item.value for item in gateway.content.items("t") if item.kind == "result"]


def approve(gateway: Gateway, index: int = -1) -> None:
    proposal = gateway.queue.list([State.PENDING])[index]
    token = None
    if not gateway.queue.reviewers.list():
        token = gateway.queue.reviewers.add("ann")
        TOKENS[id(gateway)] = token
    reviewer = gateway.queue.reviewers.authenticate(TOKENS[id(gateway)])
    gateway.queue.approve(proposal.id, reviewer, proposal.digest)
