"""What a call would do is tried once, right before somebody is asked, and kept beside exactly that question."""

from __future__ import annotations

import asyncio
import importlib.resources
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.policy import parse_policy
from checkvalve.approvals.previews import FAILED, HEAD, MADE, TAIL, preview_of, thread_for
from checkvalve.approvals.records import State
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from checkvalve.gateway.policykit_replay import decided_again
from tests.gateway.preview_world import CLOSE, CONFIG, MANIFEST, TO, TRANSFER, Bank, seen

pytestmark = pytest.mark.claim("C2")


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    found = Bank(tmp_path)
    yield found
    found.end()


def test_a_reading_tool_shows_what_a_call_would_do(bank: Bank) -> None:
    state = bank.ask(bank.agent(TRANSFER))
    assert state["__interrupt__"]
    assert bank.effects == ["quoted 50 EUR"]
    found, question = seen(bank.preview()), bank.waiting()
    assert (found.text, found.why, found.dry_run, found.tool) == (bank.says(), "", False, "quote")
    assert "fees" not in str(state["messages"]), "no model is shown it"
    made = bank.queue.get(found.call)
    assert (made.state, made.verdict_name, made.thread) == (State.SUCCEEDED, "allow", thread_for(question.id))
    assert (bank.kinds(question.id)[0], bank.kinds(question.id)[-1]) == ("proposal.recorded", MADE)
    assert verify(bank.gateway.store).ok


def test_a_dry_run_shows_it_and_the_real_call_runs_without_the_argument(bank: Bank) -> None:
    agent = bank.agent(CLOSE)
    bank.ask(agent)
    assert bank.effects == [f"tried to close {TO}"]
    found = seen(bank.preview())
    made = bank.queue.get(found.call)
    assert found.dry_run
    assert (made.rule, made.args()) == ("preview", {"account": TO, "dry_run": True})
    question = bank.approve()
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == [f"tried to close {TO}", f"CLOSED {TO}"]
    assert bank.queue.get(question.id).state is State.SUCCEEDED


def test_tools_that_are_awaited_are_tried_too(bank: Bank) -> None:
    asyncio.run(bank.agent(CLOSE).ainvoke({"messages": [("user", "x")]}, CONFIG))
    assert bank.effects == [f"tried to close {TO}"]
    assert seen(bank.preview()).text == bank.says()


def test_it_is_tried_once_however_often_the_run_goes_on(bank: Bank) -> None:
    agent = bank.agent(TRANSFER)
    bank.ask(agent)
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == ["quoted 50 EUR"]


@pytest.mark.parametrize("call", [TRANSFER, CLOSE])
def test_nothing_is_tried_where_nobody_is_asked(bank: Bank, call: tuple[str, dict[str, object]]) -> None:
    words = f"Transfer 50 to {TO}" if call == TRANSFER else f"Close the account {TO}"
    bank.ask(bank.agent(call), words)
    assert bank.effects == [f"sent 50 to {TO}" if call == TRANSFER else f"CLOSED {TO}"]


@pytest.mark.parametrize("asking", ["invoke", "ainvoke"])
def test_what_takes_too_long_is_no_preview_and_the_question_stays(tmp_path: Path, asking: str) -> None:
    bank = Bank(tmp_path, MANIFEST.replace("seconds: 60", "seconds: 1"))
    bank.says = bank.wait
    agent = bank.agent(TRANSFER)
    if asking == "invoke":
        bank.ask(agent)
    else:
        bank.ask_awaited(agent)
    found = seen(bank.preview())
    assert (found.why, found.reason) == ("too_late", "no preview: it took longer than the manifest allows")
    assert bank.kinds(bank.waiting().id)[-1] == FAILED
    assert bank.queue.list([State.UNKNOWN]) == [], "nobody has to settle a read"
    bank.end()


def test_a_tool_that_fails_is_no_preview_and_its_words_are_not_told(bank: Bank) -> None:
    bank.says = bank.fail
    bank.ask(bank.agent(CLOSE))
    found = seen(bank.preview())
    assert (found.why, found.text) == ("failed", "")
    assert bank.waiting().state is State.PENDING


def test_a_tool_that_is_not_at_hand_is_said_so(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER, tools=bank.tools(without="quote")))
    assert seen(bank.preview()).why == "tool_missing"
    assert bank.effects == []


def test_a_call_without_an_argument_that_the_preview_needs_is_said_so(tmp_path: Path) -> None:
    bank = Bank(
        tmp_path,
        MANIFEST.replace("amount: {argument: amount}", "amount: {argument: note}").replace(
            "      amount: {role: amount, kind: number}\n  close",
            "      amount: {role: amount, kind: number}\n      note: {role: content, optional: true}\n  close",
        ),
    )
    bank.ask(bank.agent(TRANSFER))
    assert seen(bank.preview()).why == "no_such_argument"
    bank.end()


def test_a_long_text_keeps_both_ends_and_says_what_is_missing(bank: Bank) -> None:
    bank.says = lambda: "first " + "x" * 100_000 + " last"
    bank.ask(bank.agent(CLOSE))
    found = seen(bank.preview())
    assert found.left_out == 100_011 - HEAD - TAIL
    assert found.text.startswith("first")
    assert found.end.endswith("last")
    assert f"{found.left_out:,} bytes were not kept" in found.whole()
    assert len(str(bank.gateway.executor.look(found.call).result)) < HEAD + TAIL + 200


def test_a_tool_that_says_it_would_fail_is_shown_with_that(bank: Bank) -> None:
    bank.says = bank.complain
    bank.ask(bank.agent(CLOSE))
    found = seen(bank.preview())
    assert (found.ok, found.text) == (False, "there is money left on it")
    assert "would fail" in found.heading


def test_an_edit_is_tried_anew_and_the_old_preview_is_not_shown_for_it(bank: Bank) -> None:
    agent = bank.agent(TRANSFER)
    bank.ask(agent)
    old, new = bank.waiting(), bank.edited(to=TO, amount=70)
    found = seen(preview_of(bank.queue, new))
    assert (found.why, found.text) == ("edited", ""), "nobody has tried it yet"
    agent.invoke(None, CONFIG, durability="sync")
    assert bank.effects == ["quoted 50 EUR", "quoted 70 EUR"]
    assert seen(preview_of(bank.queue, new)).why == ""
    assert seen(preview_of(bank.queue, old)).call != seen(preview_of(bank.queue, new)).call


def test_a_wait_that_finds_an_edit_tries_it(bank: Bank) -> None:
    bank.ask(bank.agent(TRANSFER, on_review="return"))
    new = bank.edited(to=TO, amount=70)
    bank.ask(bank.agent(TRANSFER, TRANSFER, TRANSFER, on_review="return"), "go on")
    assert bank.effects == ["quoted 50 EUR", "quoted 70 EUR"]
    assert seen(preview_of(bank.queue, new)).why == ""


@pytest.mark.claim("C5")
def test_erasing_the_call_erases_what_it_would_have_done(bank: Bank) -> None:
    bank.ask(bank.agent(CLOSE))
    question, made = bank.waiting(), seen(bank.preview()).call
    bank.queue.reject(question.id, bank.people()[0])
    with bank.queue.store.write() as connection:
        erase_call(connection, question.id, at=bank.queue.clock(), by="ann", reason="asked to")
        told = str(connection.execute(proposals.select()).all())
    assert bank.queue.get(made).args() == {}
    assert TO not in told.replace(bank.says(), "")
    assert bank.gateway.executor.look(made).result is None
    assert verify(bank.gateway.store).ok


def test_a_policy_that_is_tried_on_the_record_changes_nothing_of_what_was_tried(bank: Bank) -> None:
    bank.ask(bank.agent(CLOSE))
    made = bank.queue.get(seen(bank.preview()).call)
    services = bank.gateway.services
    assert not decided_again(made, [made], services, "").changed
    package = importlib.resources.files("checkvalve.approvals")
    policy, schema = (package.joinpath(name).read_text("utf-8") for name in ("default.cedar", "default.cedarschema"))
    forbid = policy + '\n@id("no") forbid (principal, action == Action::"delete", resource);\n'
    stricter = replace(services, policy=parse_policy(forbid, schema))
    assert decided_again(made, [made], stricter, "").after == "deny"


def test_nothing_is_tried_in_observe_mode(tmp_path: Path) -> None:
    bank = Bank(tmp_path, mode="observe")
    bank.ask(bank.agent(CLOSE))
    assert bank.effects == [f"CLOSED {TO}"]
    bank.end()
