"""The parts of a pipeline: its state, the names of its tools, its schemas and its prompts."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.errors import PipelineError, PromptError
from checkvalve.graphs.prompts.registry import load
from checkvalve.graphs.schemas import parse_schema
from tests.fakes import calls
from tests.graphs.actor_told import told
from tests.graphs.pipeline_world import MAILS, World, reading, scripted


def test_the_state_is_plain_json_and_holds_no_content(world: World) -> None:
    saver = InMemorySaver(serde=StrictSerializer())
    actor = scripted(
        calls(("read_mail", {}), prefix="a"),
        calls(("read", {"references": ["r7"], "schema": {"fields": {"x": {"type": "reference"}}}}), prefix="b"),
        AIMessage("{ref:r7} {ref:r14}"),
    )
    pipeline = world.pipeline(
        actor, reading('{"have_enough_information": true, "x": "FREE WORDS"}'), checkpointer=saver
    )
    result = pipeline.start("Read my mail", thread="t")
    assert result.answer == f"{MAILS[0]['text']} FREE WORDS"
    stored = ""
    for snapshot in pipeline.graph.get_state_history({"configurable": {"thread_id": "t"}}):
        assert json.loads(json.dumps(snapshot.values)) == snapshot.values
        stored += json.dumps(snapshot.values)
    assert "Pay DE" not in stored
    assert "FREE WORDS" not in stored
    assert "evil.example" not in stored
    with pytest.raises(PipelineError, match="rebuild"):
        world.pipeline(scripted(), checkpointer=InMemorySaver())


def test_tools_need_names_of_their_own(world: World) -> None:
    twice = [*world.tools(), world.tools()[0]]
    with pytest.raises(PipelineError, match="taken"):
        world.pipeline(scripted(), tools=twice)
    with pytest.raises(PipelineError, match="taken"):
        world.pipeline(scripted(), tools=[world.pipeline(scripted()).as_tool("answer")])


def test_a_registered_schema_is_asked_by_name(world: World) -> None:
    schema = parse_schema({"fields": {"due": {"type": "date"}}}, max_fields=3, max_enum=3)
    ask = calls(("read", {"references": ["r2"], "schema": "bill"}), prefix="b")
    actor = scripted(calls(("read_mail", {})), ask)
    reader = reading('```json\n{"have_enough_information": true, "due": "2026-01-02"}\n```')
    assert world.pipeline(actor, reader, schemas={"bill": schema}).start("When?", thread="t").status == "answered"
    assert told(actor)[1]["values"] == {"due": "2026-01-02"}
    assert len(reader.seen) == 1
    assert reader.tools == []


def test_prompts_are_files_with_a_header() -> None:
    for name in ("actor@1", "reader@1"):
        prompt = load(name)
        assert (prompt.id, prompt.date, bool(prompt.reason)) == (name, "2026-11-30", True)
        assert "---" not in prompt.text
    for name in ("actor@999", "../actor@1", "actor", "nothing@1"):
        with pytest.raises(PromptError):
            load(name)
