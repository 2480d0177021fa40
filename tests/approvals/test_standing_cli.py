"""``checkvalve approvals standing``: what people see before they agree, and what they are told when they may not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from tests.approvals.made import people
from tests.approvals.standing_world import IBAN, PARTNER, World, standing_world


@dataclass
class Terminal:
    """A terminal over a world: every command opens the database anew."""

    world: World
    app: Any
    folder: Path

    def __call__(self, *words: str, who: str = "") -> tuple[int, str]:
        token = ["--token-file", str(self.folder / who)] if who else []
        result = CliRunner(env={"COLUMNS": "160"}).invoke(self.app, [*words, *token])
        return result.exit_code, result.output

    def json(self, *words: str, who: str = "") -> Any:
        code, out = self("standing", *words, "--json", who=who)
        assert code == 0, out
        return json.loads(out)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with standing_world(tmp_path) as world:
        for name, token in world.tokens.items():
            (tmp_path / name).write_text(token)

        def reopened() -> Queue:
            queue = Queue(Store.open(world.gateway.settings.database_url, create=False))
            people(queue)
            return queue

        opened: Callable[[], Queue] = reopened
        yield Terminal(world, approvals_app(opened), tmp_path)


@pytest.mark.claim("C4")
def test_a_rule_is_drafted_tried_made_confirmed_shown_and_revoked(terminal: Terminal) -> None:
    world, asked = terminal.world, terminal.world.succeeded()
    code, out = terminal("standing", "draft", asked.id)
    assert code == 0
    assert 'is "The report"' in out
    assert "nothing was saved" in out
    code, out = terminal("standing", "dry-run", asked.id, "--any", "body")
    assert (code, "1 of them let through" in out, "questions that it would have saved: 1" in out) == (0, True, True)
    code, out = terminal("standing", "make", asked.id, "--any", "body", who="ann")
    assert (code, "waiting" in out, "standing confirm" in out) == (0, True, True)
    assert "standing rules that wait for a second person: 1" in terminal("list")[1]
    (row,) = terminal.json("list")
    code, out = terminal("standing", "confirm", row["id"][:8], who="ann")
    assert (code, "another person has to confirm it" in out) == (1, True)
    assert terminal("standing", "confirm", row["id"][:8], who="ben")[0] == 0
    assert world.ask(to=PARTNER, body="x").state is State.APPROVED
    code, out = terminal("standing", "show", row["id"][:8])
    assert (code, "standing.used" in out, "used: 1 of 10 calls" in out) == (0, True, True)
    assert terminal("standing", "revoke", row["id"][:8], who="cleo")[0] == 0
    assert terminal.json("list") == []
    assert [item["state"] for item in terminal.json("list", "--all")] == ["revoked"]


@pytest.mark.claim("C4")
def test_what_people_refused_comes_first_and_nothing_is_saved(terminal: Terminal) -> None:
    world, asked = terminal.world, terminal.world.succeeded()
    bad = world.ask(to="desk@other.example", body="z")
    world.gateway.queue.reject(bad.id, world.ann)
    wider = ("--any", "body", "--or", "to=desk@other.example")
    code, out = terminal("standing", "dry-run", asked.id, *wider)
    assert code == 0
    table = out[out.index("how it ended") :]
    assert table.index("REFUSED by a person") < table.index("approved")
    assert "this rule cannot be saved" in out
    code, out = terminal("standing", "make", asked.id, *wider, who="ann")
    assert (code, "people refused 1 of the calls" in out) == (1, True)
    assert terminal.json("list", "--all") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--any", "to"), "has to be named"),
        (("--any", "nothing"), "its values: "),
        (("--or", "to"), "write --or argument=value"),
        (("--or", 'to=["x"'), "this looks like JSON and is none"),
        (("--since", "soon"), "write 60d, or a day"),
        (("--days", "91"), "1 to 90 days"),
        (("--up-to", "to=5"), "only an amount has a cap"),
    ],
)
def test_what_cannot_be_said_is_told_in_one_line(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    code, out = terminal("standing", "draft", terminal.world.succeeded().id, *words)
    assert (code, said in out, out.count("\n")) == (2, True, 1)


def test_an_amount_and_an_address_are_bounded_as_they_are_said(terminal: Terminal) -> None:
    paid = terminal.world.succeeded("pay", to=IBAN, amount=60)
    found = terminal.json("draft", paid.id, "--up-to", "amount=100", "--same", "to", "--max-total", "250", "--anybody")
    rule = found["rule"]
    assert [item.get("up_to") or item.get("same") for item in rule["arguments"]] == ["100", [IBAN]]
    assert (rule["max_amount"], rule["max_total"], rule["requester"]) == ("100", "250", "")
    fetched = terminal.world.succeeded("fetch", url="https://docs.partner.example/a?b=1")
    (item,) = terminal.json("draft", fetched.id, "--at", "url")["rule"]["arguments"]
    assert item["at"] == ["//docs.partner.example"]


def test_text_of_a_call_is_shown_as_text(terminal: Terminal) -> None:
    asked = terminal.world.succeeded("send_mail", to=PARTNER, body="[bold]x[/bold] and a long word")
    assert "[bold]x[/bold]" in terminal("standing", "draft", asked.id)[1]


def test_the_week_leads_to_a_rule(terminal: Terminal) -> None:
    world = terminal.world
    for number in range(5):
        world.run(world.approve(world.ask(to=PARTNER, body=f"report {number}")))
    code, out = terminal("report")
    assert (code, "always approved: make a rule" in out) == (0, True)
    assert "as a standing rule, to the byte: 1 of 5 calls in 30 days" in out
    assert "checkvalve approvals standing dry-run" in out


def test_a_card_names_the_rule_that_answered_and_what_was_asked(terminal: Terminal) -> None:
    made = terminal.world.rule(anything=("body",))
    answered = terminal.world.ask(to=PARTNER, body="x")
    code, out = terminal("show", answered.id)
    assert code == 0
    assert f"{made.id[:8]} answered; a person would have been asked because of untrusted-target" in out
