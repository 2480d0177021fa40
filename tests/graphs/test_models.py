"""Chat models by name, a reader that uses what its provider can do, recordings and scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool

from checkvalve.graphs.errors import ModelError
from checkvalve.graphs.models import load_chat_model
from checkvalve.graphs.reader import ReaderModel
from checkvalve.graphs.recorded import RecordedModel, input_digest
from checkvalve.graphs.scripted import ScriptedModel
from checkvalve.graphs.structured import StructuredReader, can_be_held
from tests.fakes import calls

SCHEMA = {"type": "object", "properties": {"due": {"type": "boolean"}}, "required": ["due"]}


class Plain(BaseChatModel):
    """A provider that gives text and nothing else."""

    words: str = '{"due": true}'

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.words))])

    @property
    def _llm_type(self) -> str:
        return "plain"


class Calling(Plain):
    """A provider that can be made to call a tool."""

    def bind_tools(self, tools: Any, **_: Any) -> Runnable[Any, AIMessage]:
        return RunnableLambda(lambda _: calls(("extraction", {"due": False})))


class Holding(Plain):
    """A provider with structured output of its own."""

    def with_structured_output(self, schema: Any, **options: Any) -> Runnable[Any, Any]:
        assert schema["title"] == "extraction"
        assert options == {"include_raw": True}
        return RunnableLambda(lambda _: {"raw": AIMessage('{"due": true}'), "parsed": {"due": "laxly parsed"}})


@tool
def pay(to: str) -> str:
    """Pay."""
    return to


def refusal(spec: str) -> tuple[str, str]:
    with pytest.raises(ModelError) as caught:
        load_chat_model(spec)
    return str(caught.value), caught.value.remedy


def test_a_model_is_itself() -> None:
    model = Plain()
    assert load_chat_model(model) is model


@pytest.mark.parametrize("spec", ["", "gpt-5", ":x", "openai:", "  "])
def test_a_name_without_a_provider_names_no_model(spec: str) -> None:
    assert "recorded:FILE" in refusal(spec)[1]


def test_a_provider_that_is_not_installed_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_mistralai", None)
    monkeypatch.setitem(sys.modules, "langchain_mistralai.chat_models", None)
    assert refusal("mistralai:large") == (
        "the models of mistralai are not installed",
        "pip install langchain-mistralai",
    )


def test_an_unknown_provider_is_refused_without_its_words() -> None:
    message, remedy = refusal("nobody:secret-model")
    assert message == "the model nobody:secret-model cannot be made (ValueError)"
    assert "the names of provider and model" in remedy


def test_without_langchain_only_provider_names_fail() -> None:
    program = (
        "import sys; sys.modules['langchain.chat_models'] = None\n"
        "from checkvalve.graphs.models import load_chat_model\n"
        "try:\n    load_chat_model('openai:x')\n"
        "except Exception as error:\n    print(type(error).__name__, '|', error, '|', error.remedy)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "ModelError | LangChain is not installed | pip install 'checkvalve[langchain]'\n"


@pytest.mark.parametrize(("model", "held"), [(Plain(), False), (Calling(), True), (Holding(), True)])
def test_what_a_provider_can_do_is_found_out(model: BaseChatModel, held: bool) -> None:
    assert can_be_held(model) is held
    assert isinstance(StructuredReader(model), ReaderModel)


def test_a_profile_that_denies_it_is_believed() -> None:
    assert not can_be_held(Holding(profile={"structured_output": False}))


async def _both(model: BaseChatModel) -> list[object]:
    reader = StructuredReader(model)
    messages = [SystemMessage("extract"), HumanMessage("content")]
    return [reader.extract(messages, SCHEMA), await reader.aextract(messages, SCHEMA)]


@pytest.mark.parametrize(
    ("model", "expected"),
    [(Plain(), '{"due": true}'), (Calling(), {"due": False}), (Holding(), '{"due": true}')],
)
def test_a_reader_hands_on_what_was_said_unparsed(model: BaseChatModel, expected: object) -> None:
    import asyncio

    assert asyncio.run(_both(model)) == [expected, expected]


def ask(model: BaseChatModel, words: str = "go", **options: Any) -> AIMessage:
    said: AIMessage = model.bind_tools([pay], **options).invoke([HumanMessage(words)])
    return said


def test_a_recording_is_replayed_and_nothing_else_is(tmp_path: Path) -> None:
    file = tmp_path / "actor.jsonl"
    assert ask(RecordedModel.recording(file, Calling())).tool_calls[0]["args"] == {"due": False}
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert "go" not in file.read_text()  # inputs are kept as digests
    replayed = load_chat_model(f"recorded:{file}")
    for _ in range(2):
        assert ask(replayed).tool_calls[0]["args"] == {"due": False}
    with pytest.raises(ModelError, match="has no answer to the input sha256:"):
        ask(replayed, "something else")
    with pytest.raises(ModelError, match="has no answer"):
        replayed.invoke([HumanMessage("go")])  # without the tools it is another input


@pytest.mark.parametrize("inner", [Plain(), Holding(), Calling()])
def test_a_recorded_reader_reads_like_the_one_it_recorded(inner: BaseChatModel, tmp_path: Path) -> None:
    messages = [HumanMessage("content")]
    reader = StructuredReader(RecordedModel.recording(tmp_path / "reader.jsonl", inner))
    said = reader.extract(messages, SCHEMA)
    again = StructuredReader(RecordedModel.replay(tmp_path / "reader.jsonl"))
    assert (again.native, again.extract(messages, SCHEMA)) == (reader.native, said)
    with pytest.raises(ModelError):
        again.extract([HumanMessage("other content")], SCHEMA)


def test_equal_questions_get_their_answers_in_order(tmp_path: Path) -> None:
    lines = [{"format": "checkvalve-recording-1", "held": False}]
    key = input_digest([HumanMessage("x")])
    lines += [{"input": key, "text": "one"}, {"input": key, "text": "two"}]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = RecordedModel.replay(tmp_path / "r.jsonl")
    assert [model.invoke([HumanMessage("x")]).text for _ in range(3)] == ["one", "two", "two"]


def test_a_recorded_failure_fails_again(tmp_path: Path) -> None:
    recording = RecordedModel.recording(tmp_path / "r.jsonl", ScriptedModel(lines=[]))
    with pytest.raises(ModelError):
        recording.invoke([HumanMessage("x")])
    with pytest.raises(ModelError, match="failed here"):
        RecordedModel.replay(tmp_path / "r.jsonl").invoke([HumanMessage("x")])


def test_a_recording_is_never_mixed(tmp_path: Path) -> None:
    RecordedModel.recording(tmp_path / "r.jsonl", Plain())
    with pytest.raises(ModelError, match="exists"):
        RecordedModel.recording(tmp_path / "r.jsonl", Plain())


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"format": "other"}', '{"a": 1, "a": 2}', "\udcff"])
def test_what_is_no_recording_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ModelError):
        RecordedModel.replay(tmp_path / "r.jsonl")
    with pytest.raises(ModelError):
        RecordedModel.replay(tmp_path / "missing.jsonl")


def test_the_digest_of_an_input_leaves_out_drawn_ids() -> None:
    one = [HumanMessage("x", id="1"), calls(("pay", {"to": "a"}), prefix="p"), ToolMessage("ok", tool_call_id="p1")]
    two = [HumanMessage("x", id="2"), calls(("pay", {"to": "a"}), prefix="p"), ToolMessage("ok", tool_call_id="p1")]
    assert input_digest(one) == input_digest(two) != input_digest(one[:2])


def test_a_script_says_its_lines_by_where_the_conversation_stands(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(
        "// a comment\n"
        '{"calls": [{"name": "pay", "args": {"to": "a"}}]}\n'
        '{"when": "due", "json": {"due": true}}\n'
        '{"say": "done"}\n'
    )
    model = load_chat_model(f"scripted:{tmp_path / 's.jsonl'}")
    assert not can_be_held(model)
    first = model.invoke([HumanMessage("go")])
    assert first.tool_calls[0]["name"] == "pay"
    assert model.invoke([HumanMessage("go"), first]).text == "done"
    assert model.invoke([HumanMessage("is it due?")]).text == '{"due": true}'
    with pytest.raises(ModelError, match="no further line"):
        model.invoke([HumanMessage("go"), first, AIMessage("done")])


def test_a_line_that_says_nothing_is_no_script(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"when": "x"}\n')
    with pytest.raises(ModelError, match="says nothing"):
        ScriptedModel.load(tmp_path / "s.jsonl")


def test_weights_that_are_not_there_are_no_model(tmp_path: Path) -> None:
    assert "GGUF" in refusal(f"gguf:{tmp_path / 'no.gguf'}")[1]


def test_a_reader_that_is_asked_something_new_stops_the_replay(tmp_path: Path) -> None:
    from checkvalve.graphs.errors import RecordingError
    from checkvalve.graphs.limits import PipelineLimits
    from checkvalve.graphs.reader import Asking, ask
    from checkvalve.graphs.schemas import parse_schema

    schema = parse_schema({"fields": {"due": {"type": "bool"}}}, max_fields=5, max_enum=5)
    words = '{"have_enough_information": true, "due": true}'
    recording = StructuredReader(RecordedModel.recording(tmp_path / "r.jsonl", Plain(words=words)))
    assert ask(recording, Asking(schema, ["one"], {}, {}, PipelineLimits())).values == {"due": True}
    replay = StructuredReader(RecordedModel.replay(tmp_path / "r.jsonl"))
    assert ask(replay, Asking(schema, ["one"], {}, {}, PipelineLimits())).values == {"due": True}
    with pytest.raises(RecordingError):  # no failed try like any other: the run is another one
        ask(replay, Asking(schema, ["two"], {}, {}, PipelineLimits()))
