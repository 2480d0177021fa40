"""The graph of the two-agent pipeline, in one place.

```
ingest ─▶ actor ─┬▶ reader ─▶ actor           looks at content, has no tools
   ▲             ├▶ gate ─▶ executor ─▶ ingest  decides, records, pauses; runs what has a grant
   │             └▶ answer ─▶ END             the last text, decided like an action
   └──── gate                                 where there is nothing to run
```

Guarantees: the only predecessor of ``executor`` is ``gate``; ``reader`` has no tools and ``actor`` no content; the
state is plain JSON without content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from checkvalve.graphs.actor import ActorNode
from checkvalve.graphs.answering import AnswerNode, next_after_answer
from checkvalve.graphs.asking import ReaderNode
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.desk import Desk, OnNewMessage
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.executor_node import ExecutorNode
from checkvalve.graphs.gate import GateNode, next_after_gate
from checkvalve.graphs.ingest import IngestNode, next_after_ingest
from checkvalve.graphs.limits import PipelineLimits
from checkvalve.graphs.models import ModelSpec, load_chat_model
from checkvalve.graphs.reader import ReaderModel
from checkvalve.graphs.runs import Pipeline, PipelineGraph
from checkvalve.graphs.schemas import ReadSchema
from checkvalve.graphs.services import Services
from checkvalve.graphs.state import PipelineOutput, PipelineState
from checkvalve.graphs.structured import StructuredReader
from checkvalve.graphs.toolbox import Toolbox


def build_pipeline(  # noqa: PLR0913  # one place to say everything; all of it by name
    services: Services,
    *,
    tools: Sequence[Any],
    reader: ModelSpec | ReaderModel,
    actor: ModelSpec,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    limits: PipelineLimits | None = None,
    schemas: Mapping[str, ReadSchema] | None = None,
    id_patterns: Mapping[str, str] | None = None,
    servers: Mapping[str, str] | None = None,
    instructions: str = "",
    requester: str = "",
    on_new_message: OnNewMessage = "hold",
    callbacks: Sequence[BaseCallbackHandler] = (),
) -> Pipeline:
    """Build a pipeline.

    Args:
        services: what decides, records and runs; ``Gateway.services``.
        tools: LangChain tools, and sub-agents made by :meth:`Pipeline.as_tool`; the manifest declares each of them.
        reader: the model that sees content, or its name (``provider:model``). It gets no tools.
        actor: the model that has tools and sees references, or its name.
        checkpointer: where the graph is kept, with :class:`StrictSerializer`; none in a node of a bigger graph, which
            brings its own.
        limits: what one task may use up.
        schemas: schemas of the deployer that the actor may name in ``read``.
        id_patterns: for an id type, the regular expression that an id has to match whole; else a short plain word.
        servers: the server of each tool that the manifest declares under one.
        instructions: the deployer's own words, added to the actor's prompt.
        requester: on whose behalf runs act that name nobody else; this person may not approve.
        on_new_message: what a new message does while a call waits for a person: ``hold`` keeps it until the call is
            decided, ``supersede`` takes the question back, ``allow-parallel`` begins a task of its own, see
            :mod:`task_contexts`.
        callbacks: watch the graph and the actor, as tracers do. Tools and the reader are not among what they see; one
            that is to see content is given to that model or tool itself.

    Raises:
        PipelineError: two tools have one name, the checkpointer would rebuild more than plain data, or a model that was
            named cannot be made.
    """
    if checkpointer is not None and not isinstance(checkpointer.serde, StrictSerializer):
        raise PipelineError(
            "this checkpointer would rebuild whatever a checkpoint names", "give it serde=StrictSerializer()"
        )
    desk = Desk(
        services=services,
        toolbox=Toolbox.build(tools, services.manifest, servers or {}),
        limits=limits or PipelineLimits(),
        schemas=dict(schemas or {}),
        id_patterns={name.removeprefix("id:"): re.compile(pattern) for name, pattern in (id_patterns or {}).items()},
        requester=requester,
        servers=dict(servers or {}),
    )
    model = StructuredReader(load_chat_model(reader)) if isinstance(reader, BaseChatModel | str) else reader
    graph = _graph(desk, model, load_chat_model(actor), instructions, checkpointer)
    return Pipeline(graph, desk, on_new_message, callbacks)


def _graph(
    desk: Desk,
    reader: ReaderModel,
    actor: BaseChatModel,
    instructions: str,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> PipelineGraph:
    acting, asking, executing = ActorNode(desk, actor, instructions), ReaderNode(desk, reader), ExecutorNode(desk)
    gating = GateNode(desk)
    graph = StateGraph(PipelineState, output_schema=PipelineOutput)
    graph.add_node("ingest", IngestNode(desk).run)
    graph.add_node("actor", RunnableLambda(acting.run, afunc=acting.arun))
    graph.add_node("reader", RunnableLambda(asking.run, afunc=asking.arun))
    graph.add_node("gate", RunnableLambda(gating.run, afunc=gating.arun))
    graph.add_node("executor", RunnableLambda(executing.run, afunc=executing.arun))
    graph.add_node("answer", AnswerNode(desk).run)
    graph.add_edge(START, "ingest")
    graph.add_conditional_edges("ingest", next_after_ingest, ["actor", "gate"])
    graph.add_conditional_edges("actor", next_after_actor, ["reader", "gate", "answer", "actor", END])
    graph.add_conditional_edges("reader", next_after_reader, ["gate", "actor"])
    graph.add_conditional_edges("gate", next_after_gate, ["executor", "gate", "ingest"])
    graph.add_edge("executor", "ingest")
    graph.add_conditional_edges("answer", next_after_answer, ["answer", "actor", END])
    return graph.compile(checkpointer=checkpointer, name="checkvalve")


def next_after_actor(state: PipelineState) -> Literal["reader", "gate", "answer", "actor", "__end__"]:
    """Return where the graph goes from the actor: looks first, then calls, the answer alone."""
    if state.get("status") == "stopped":
        return "__end__"
    if state.get("asks"):
        return "reader"
    if state.get("requests"):
        return "gate"
    return "answer" if state.get("answer") else "actor"


def next_after_reader(state: PipelineState) -> Literal["gate", "actor"]:
    """Return where the graph goes from the reader: to the calls of the same turn, or back to the actor."""
    return "gate" if state.get("requests") else "actor"


__all__ = ["Pipeline", "PipelineLimits", "build_pipeline"]
