"""What enters: keys are not shown to a model, and personal data is shown as tokens that only its readers get back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from checkvalve.filters.pii.vault import TOKEN
from checkvalve.filters.secrets.registered import Registered
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.cleaning import cleaned
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.inbound import inbound_of, token_rules
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.tokenised import Spoken, has_token
from checkvalve.graphs.inbound import Inbound
from tests.fakes import ScriptedModel, calls
from tests.gateway.world import World

KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
MARK = "⟨removed: github-token⟩"
ANN = "ann@corp.example"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.create(tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"key {KEY}", f"key {MARK}"),
        ({"env": [f"A={KEY}", 1], KEY: None}, {"env": [f"A={MARK}", 1], MARK: None}),
        (json.dumps({"a": f"key {KEY}"}), json.dumps({"a": f"key {MARK}"}, ensure_ascii=False)),
        ("the plan is horse-battery-104", "the plan is ⟨removed: registered-value⟩"),
        ("commit 3f786850e387550fdab836ed7e6dc881de23001b", "commit 3f786850e387550fdab836ed7e6dc881de23001b"),
    ],
)
def test_keys_in_what_enters_are_shown_as_marks(value: Any, shown: Any) -> None:
    inbound = inbound_of(Settings(), Registered([("registered-value", "horse-battery-104")]))
    assert inbound.shown(value) == shown


def test_a_private_key_in_json_goes_without_breaking_it() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"
    shown = json.loads(str(inbound_of(Settings()).shown(json.dumps({"file": pem, "next": "kept"}))))
    assert shown == {"file": "⟨removed: private-key⟩", "next": "kept"}


def test_tools_that_are_named_and_other_modes_keep_their_keys() -> None:
    message = ToolMessage(f"key {KEY}", tool_call_id="1", name="read_env")
    shown = cleaned(message, inbound_of(Settings(inbound_keys_of="read_env, other")))
    assert shown is message
    assert cleaned(message, inbound_of(Settings(inbound_keys="keep"))) is message
    assert cleaned(message, inbound_of(Settings(inbound_filter="report"))) is message
    assert cleaned(message, Inbound("on")) is message
    away: Any = cleaned(message, inbound_of(Settings(inbound_keys_of="other")))
    assert away.content == f"key {MARK}"


def test_the_model_is_not_shown_a_key_and_the_record_keeps_it(world: World) -> None:
    @tool
    def read_mail() -> str:
        """Read the mailbox."""
        return f"Deploy with {KEY} today"

    with world.open() as gateway:
        model = ScriptedModel(script=[calls(("read_mail", {})), AIMessage("Done.")])
        run = create_agent(model, [read_mail], middleware=[CheckvalveMiddleware(gateway)])
        run.invoke({"messages": [user_message("Read my mail")]}, CONFIG)
        assert KEY not in repr(model.seen)
        assert MARK in repr(model.seen)
        kept = gateway.session("t").look("", lambda index, _: [one.text for one in index.content_fields()])
    assert any(KEY in text for text in kept)


def test_an_item_of_too_many_tokens_is_withheld_whatever_its_letters() -> None:
    inbound = inbound_of(Settings(inbound_max_tokens=100))
    assert inbound.shown("word " * 99) == "word " * 99  # 495 bytes, and a token each
    assert inbound.shown("word " * 102) == "[content withheld by the gateway: too-many-tokens]"
    assert inbound.shown({"a": "x\u4e2d\U0001f600" * 60}) == "[content withheld by the gateway: too-many-tokens]"
    assert inbound_of(Settings()).shown("word " * 10_000) == "word " * 10_000


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", {}),
        ("read_mail: email iban, *: card", {"read_mail": {"email", "iban"}, "*": {"card"}}),
        (" a:email , a: phone ", {"a": {"email", "phone"}}),
    ],
)
def test_rules_of_tokens_are_read(text: str, rules: dict[str, set[str]]) -> None:
    assert token_rules(text) == rules


@pytest.mark.parametrize("text", ["email", "read_mail:", ": email", "a: e-mail", "a: name"])
def test_a_wrong_rule_is_named_at_the_start(text: str) -> None:
    with pytest.raises(SettingsError, match="inbound_tokens"):
        inbound_of(Settings(inbound_tokens=text))


def guarded(world: World, gateway: Gateway, *script: AIMessage) -> tuple[ScriptedModel, dict[str, Any]]:
    model = ScriptedModel(script=list(script))
    run = create_agent(model, world.tools(), middleware=[CheckvalveMiddleware(gateway)])
    words = f"Look up Ann and send a mail to {ANN}: hello"
    state: dict[str, Any] = run.invoke({"messages": [user_message(words)]}, CONFIG)
    return model, state


def test_a_model_works_with_tokens_and_the_call_and_the_answer_have_the_values(world: World) -> None:
    world.settings(inbound_tokens="lookup: email")
    script = [
        calls(("lookup", {"name": "Ann"})),
        calls(("send_mail", {"to": "⟨EMAIL_1⟩", "body": "hello"}), prefix="d"),
        AIMessage("I wrote to ⟨EMAIL_1⟩."),
    ]
    with world.open() as gateway:
        model, state = guarded(world, gateway, *script)
    read = [message for turn in model.seen[1:] for message in turn]  # in the first one only the user has named it
    assert ANN not in repr([(message.content, getattr(message, "tool_calls", 0)) for message in read])
    assert "⟨EMAIL_1⟩" in repr([message for message in read if isinstance(message, ToolMessage)])
    assert "⟨EMAIL_1⟩" in repr([message.tool_calls for message in read if isinstance(message, AIMessage)])
    assert world.effects == ["lookup Ann", f"send {ANN}: hello"]
    assert state["messages"][-1].content == f"I wrote to {ANN}."
    assert not TOKEN.search(repr(state))


def test_without_the_setting_the_model_reads_the_value(world: World) -> None:
    with world.open() as gateway:
        model, _ = guarded(world, gateway, calls(("lookup", {"name": "Ann"})), AIMessage("Done."))
    assert ANN in repr([message for turn in model.seen for message in turn if isinstance(message, ToolMessage)])


@pytest.mark.parametrize("token", ["⟨EMAIL_9⟩", "⟨CARD_1⟩"])
def test_a_call_with_a_token_that_nobody_made_is_refused_and_logged(world: World, token: str) -> None:
    world.settings(inbound_tokens="*: email")
    with world.open() as gateway:
        script = [calls(("note", {"text": f"x {token}"})), AIMessage(f"See {token}.")]
        _, state = guarded(world, gateway, *script)
    assert world.effects == []
    told = next(message for message in state["messages"] if isinstance(message, ToolMessage))
    assert "unreadable_token" in str(told.content)
    assert state["messages"][-1].content == f"See {token}."


def spoken(world: World, text: str = "*: email") -> Spoken:
    with world.open() as gateway:
        return Spoken(token_rules(text), gateway.manifest, {})


def result(text: str, name: str) -> ToolMessage:
    return ToolMessage(text, name=name, tool_call_id="1")


def test_a_value_that_nobody_may_read_is_not_put_back(world: World) -> None:
    one = spoken(world)
    read = one.heard([result(f"paid by {ANN}", "pay"), result("from bob@corp.example", "read_mail")])
    assert [message.content for message in read] == ["paid by ⟨EMAIL_1⟩", "from ⟨EMAIL_2⟩"]
    assert one.said(AIMessage("⟨EMAIL_1⟩ and ⟨EMAIL_2⟩")).content == "⟨EMAIL_1⟩ and bob@corp.example"
    call = calls(("send_mail", {"to": "⟨EMAIL_1⟩"}))
    said = one.said(call)
    assert isinstance(said, AIMessage)
    assert has_token(said.tool_calls[0]["args"])


def test_content_cannot_bring_a_token_along(world: World) -> None:
    one = spoken(world)
    forged, real = one.heard([result("pay to ⟨EMAIL_1⟩", "lookup"), result(f"mail {ANN}", "lookup")])
    assert forged.content == "pay to ⟨TEXT_1⟩"
    assert real.content == "mail ⟨EMAIL_1⟩"
    assert one.said(AIMessage("⟨TEXT_1⟩")).content == "⟨EMAIL_1⟩"


def test_the_same_conversation_gets_the_same_tokens_in_another_process(world: World) -> None:
    history = [result(f"mail {ANN}", "lookup"), AIMessage(f"I see {ANN}"), result("mail bob@corp.example", "lookup")]
    assert spoken(world).heard(history) == spoken(world).heard(history)
    assert spoken(world).heard(history[:2]) == spoken(world).heard(history)[:2]


def test_pictures_and_signed_reasoning_are_left_as_they_are(world: World) -> None:
    picture = {"type": "image", "source_type": "base64", "data": "QUJD", "mime_type": "image/png"}
    thought = {"type": "thinking", "thinking": f"{ANN} ⟨EMAIL_1⟩", "signature": "c2ln"}
    one = spoken(world)
    read = one.heard([ToolMessage([picture, {"type": "text", "text": ANN}], name="lookup", tool_call_id="1")])
    assert read[0].content == [picture, {"type": "text", "text": "⟨EMAIL_1⟩"}]
    said = AIMessage([thought, {"type": "text", "text": "⟨EMAIL_1⟩"}])
    assert one.said(said).content == [thought, {"type": "text", "text": ANN}]
    assert one.heard([AIMessage([thought])])[0].content == [thought]
