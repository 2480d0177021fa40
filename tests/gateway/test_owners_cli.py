"""Who holds and who owns a credential, in the terminal: tokens, programs, accounts of one person, the doctor."""

from __future__ import annotations

import json
from pathlib import Path

import argon2
import pytest
import typer
from typer.testing import CliRunner, Result

from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.gateway import doctor_owners
from checkvalve.gateway.doctor import Finding, State
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.settings import LoadedSettings, Settings
from checkvalve.gateway.token_command import add_tokens
from tests.approvals.made import QUICK, Desk, HandClock, people

FAST = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Place:
    """One folder with a database of one reviewer and a file of tokens."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'gate.db'}"
        self.settings = Settings(database_url=self.url)
        with Store.open(self.url, create=True) as store:
            desk = Desk.at(store, HandClock())
        self.key = folder / "ann.token"
        self.key.write_text(desk.token)
        self.known = ApiTokens(folder / "api-tokens.json", FAST)

    def queue(self) -> Queue:
        queue = Queue(Store.open(self.url), HandClock())
        people(queue)
        return queue

    def run(self, *args: str) -> Result:
        app, tokens = typer.Typer(), typer.Typer()
        add_tokens(tokens, lambda: LoadedSettings(self.settings, None, {}))
        app.add_typer(tokens, name="token")
        app.add_typer(approvals_app(self.queue, self.queue), name="approvals")
        return CliRunner().invoke(app, list(args), env={"COLUMNS": "300"})

    def reviewer(self, *args: str) -> Result:
        return self.run("approvals", "reviewer", *args, "--token-file", str(self.key))

    def told(self, settings: Settings | None = None) -> list[Finding]:
        queue = self.queue()
        with queue.store:
            return [
                *doctor_owners.tokens(settings or self.settings),
                *doctor_owners.programs(queue, settings or self.settings),
            ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_programs_account_is_made_shown_and_limited(place: Place) -> None:
    assert place.reviewer("add", "ci-bot", "--program", "--owner", "Ann").exit_code == 0
    listed = place.run("approvals", "reviewer", "list").stdout
    assert "viewer, a program of ann" in listed
    shown = json.loads(place.run("approvals", "reviewer", "list", "--json").stdout)
    assert [(one["name"], one["kind"], one["owner"]) for one in shown] == [
        ("ann", "person", ""),
        ("ci-bot", "program", "ann"),
    ]
    refused = place.reviewer("add", "other", "--program", "--role", "approver")
    assert (refused.exit_code, "a program looks, and does nothing else" in refused.stderr) == (1, True)
    refused = place.reviewer("add", "other", "--owner", "ann")
    assert "a person owns their own account" in refused.stderr


def test_an_account_becomes_a_programs_and_two_become_one_persons(place: Place) -> None:
    for name in ("ben", "ben-phone", "robot"):
        assert place.reviewer("add", name).exit_code == 0
    assert "a program that nobody owns" in place.reviewer("program", "robot").stdout
    assert "a program of ann" in place.reviewer("program", "robot", "--owner", "ann").stdout
    assert "an account of ben" in place.reviewer("same", "ben-phone", "--person", "ben").stdout
    for args, said in (
        (("same", "ben", "--person", "ben-phone"), "accounts of ben already"),
        (("same", "robot", "--person", "ben"), "a program is nobody's account"),
        (("same", "nobody", "--person", "ben"), "no such reviewer"),
        (("program", "ben", "--owner", "\u3164"), "an owner has a printable name"),
    ):
        refused = place.reviewer(*args)
        assert (refused.exit_code, said in refused.stderr) == (1, True), (args, refused.stderr)


def test_the_list_of_tokens_says_who_holds_and_who_owns_each(place: Place) -> None:
    place.known.add("ann")
    place.known.add("invoices", program=True)
    listed = place.run("token", "list").stdout.splitlines()
    assert "owned" not in listed[0]
    assert listed[1].endswith("a program's  owned by nobody")
    selector = listed[1].split()[0]
    assert place.run("token", "owner", selector, "Ann").stdout.endswith("a program's  owned by ann\n")
    assert place.run("token", "owner", "none", "ann").exit_code == 1
    assert json.loads(place.run("token", "list", "--json").stdout)[1]["owner"] == "ann"


def test_a_token_without_an_owner_is_said_to_be_one_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argon2, "PasswordHasher", lambda: QUICK)
    made = place.run("token", "add", "invoices", "--program")
    assert "nobody owns it" in made.stderr
    assert "nobody owns it" not in place.run("token", "add", "invoices", "--program", "--owner", "ann").stderr
    assert "nobody owns it" not in place.run("token", "add", "ben").stderr


@pytest.mark.claim("C4")
def test_the_doctor_names_what_nobody_owns(place: Place) -> None:
    assert [one.state for one in place.told()] == [State.OK]
    place.known.add("invoices", program=True)
    place.reviewer("add", "ci-bot", "--program")
    found = [one for one in place.told() if one.state is State.WARNING]
    assert [one.check for one in found] == ["owners of tokens", "owners of programs"]
    assert "of invoices: nobody owns the token" in found[0].text
    assert "ci-bot" in found[1].text
    (selector,) = (one.selector for one in place.known.clients())
    place.known.give_to(selector, "ann")
    place.reviewer("program", "ci-bot", "--owner", "ann")
    owned = place.told(Settings(database_url=place.url, agent_owner="Zoe, ann"))
    assert {one.state for one in owned} == {State.OK}
    assert any("zoe, ann" in one.text for one in owned)
    place.reviewer("add", "old-bot", "--program")
    assert any("old-bot" in one.text for one in place.told())
    place.reviewer("disable", "old-bot")
    assert not any("old-bot" in one.text for one in place.told())
