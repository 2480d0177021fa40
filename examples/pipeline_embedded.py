"""The two-agent pipeline as one node of your own graph. ``python examples/pipeline_embedded.py`` needs no key.

The bigger graph takes an order from a form, lets the pipeline work on it, and delivers the answer; its checkpointer
keeps the pauses of both. The models follow scripts; put ``"openai:gpt-5"`` or a chat model of yours in their place.
What the documentation shows is between the marks ``[docs]``.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.tool_modules import load_tools
from checkvalve.graphs import build_pipeline
from checkvalve.graphs.checkpoint import StrictSerializer

HERE = Path(__file__).resolve().parent
ORDER = "Mail Ann whether anything in my inbox is urgent, and reply to that sender"


class Work(TypedDict, total=False):
    """The state of the bigger graph. ``task``, ``status`` and ``answer_id`` are the pipeline's as well."""

    order: str
    task: str
    status: str
    answer_id: str
    delivered: str


def collect(state: Work) -> Work:
    """Give the pipeline its task, and so declare it to be the user's own words."""
    return {"task": state["order"]}


def graph_over(gateway: Gateway) -> Any:
    def deliver(state: Work) -> Work:
        recorded = gateway.executor.look(state["answer_id"]).result  # the text is in the record, not in the state
        return {"delivered": str(recorded["text"])} if isinstance(recorded, dict) else {}

    tools = load_tools(str(HERE / "run_tools.py"))
    reader, actor = f"scripted:{HERE / 'run_reader.jsonl'}", f"scripted:{HERE / 'run_actor.jsonl'}"
    # [docs]
    pipeline = build_pipeline(gateway.services, tools=tools, reader=reader, actor=actor, requester="me@corp.example")
    graph = StateGraph(Work)
    graph.add_node("collect", collect)  # gives {"task": ...}, which declares it to be the user's own words
    graph.add_node("agents", pipeline.graph)
    graph.add_node("deliver", deliver)  # reads the text: gateway.executor.look(state["answer_id"]).result
    graph.add_edge(START, "collect")
    graph.add_edge("collect", "agents")
    graph.add_conditional_edges("agents", lambda state: "deliver" if state.get("answer_id") else END)
    graph.add_edge("deliver", END)
    # [/docs]
    return graph.compile(checkpointer=InMemorySaver(serde=StrictSerializer()))


def approve(gateway: Gateway, identity: str) -> None:
    """Be the second person; in real life ``checkvalve approvals approve``."""
    boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
    gateway.queue.approve(identity, boss, gateway.queue.get(identity).digest.removeprefix("sha256:")[:12])


def main(folder: str) -> dict[str, Any]:
    settings = Settings(manifest=HERE / "run_tools.yaml", database_url=f"sqlite:///{folder}/checkvalve.db")
    with build(settings) as gateway:
        graph, config = graph_over(gateway), {"configurable": {"thread_id": "order-1"}}
        state: dict[str, Any] = graph.invoke({"order": ORDER}, config, durability="sync")
        (pause,) = state["__interrupt__"]
        print(f"the bigger graph waits for {pause.value}")
        for proposal in gateway.queue.list():
            print(f"  {proposal.tool}: {proposal.verdict_name} ({proposal.rule}), now {proposal.state}")
        approve(gateway, pause.value["approval_id"])
        state = graph.invoke(Command(resume=True), config, durability="sync")  # the value decides nothing
        assert not gateway.queue.list([State.PENDING])
        print(f"delivered: {state['delivered']}")
    return state


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(0 if main(temporary)["delivered"] else 1)
