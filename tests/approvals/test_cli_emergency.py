"""``checkvalve approvals delegate``, ``break-glass``, ``afterlook`` and ``tick``: what people see and type."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
import typer
from typer.testing import CliRunner, Result

from checkvalve.approvals import step_terminal, terminal
from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.spans import moment_of, span_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from tests.approvals.emergency import FINDING, REASON, TOKENS, add, busy
from tests.approvals.made import HandClock, people


class Terminal:
    """The commands over one store, with tokens in files."""

    def __init__(self, store: Store, url: str, clock: HandClock, folder: Path) -> None:
        self.desk = busy(store, clock)
        self._url, self._clock, self._folder = url, clock, folder
        self.file("ann", self.desk.token)

    def file(self, name: str, token: str) -> str:
        path = self._folder / f"{name}.token"
        path.write_text(token)
        return str(path)

    def person(self, name: str, *roles: Role) -> None:
        add(self.desk, name, *roles)
        self.file(name, TOKENS[id(self.desk.queue.store), name])

    def run(self, *args: str, by: str = "") -> Result:
        def open_queue() -> Queue:
            queue = Queue(Store.open(self._url, create=False), self._clock, glass=Glass(enabled=True))
            people(queue)
            return queue

        given = ["--token-file", str(self._folder / f"{by}.token")] if by else []
        return CliRunner().invoke(approvals_app(open_queue), [*args, *given], env={"COLUMNS": "200"})


@pytest.fixture
def at(store: Store, url: str, clock: HandClock, tmp_path: Path) -> Terminal:
    return Terminal(store, url, clock, tmp_path)


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Answer the questions that are asked at the terminal, and note them."""
    asked, left = list[str](), list(answers)

    def ask(question: str, **_: object) -> str:
        asked.append(question)
        if not left:
            raise typer.Exit(2)
        return left.pop(0)

    monkeypatch.setattr(step_terminal, "ask", ask)
    monkeypatch.setattr("checkvalve.approvals.glass_command.ask", ask)
    monkeypatch.setattr(terminal, "ask", ask)
    return asked


def test_handing_over_listing_and_ending(at: Terminal) -> None:
    at.person("ben", Role.RESPONDER)
    assert "nobody stands in" in at.run("delegate", "list").output
    given = at.run("delegate", "give", "ben", "--lasts", "7d", "--note", "on holiday", by="ann")
    assert given.exit_code == 0, given.output
    assert "in force  ben for ann" in given.output
    listed = json.loads(at.run("delegate", "list", "--json").output)
    assert [(item["giver"], item["taker"], item["state"]) for item in listed] == [("ann", "ben", "in force")]
    ended = at.run("delegate", "end", listed[0]["id"][:8], by="ben")
    assert "ended" in ended.output
    assert "by reviewer:ben" in ended.output
    assert "nobody stands in" in at.run("delegate", "list").output
    assert "on holiday" in at.run("delegate", "list", "--all").output


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("ben", "--note", "on holiday"), "either --until or --lasts"),
        (("ben", "--note", "on holiday", "--lasts", "7d", "--until", "2999-01-01"), "either --until or --lasts"),
        (("ben", "--note", "on holiday", "--lasts", "31d"), "at most 30 days"),
        (("ben", "--note", "on holiday", "--until", "tomorrow"), "no moment"),
        (("ben", "--note", "x", "--lasts", "1d"), "reason in words"),
        (("nobody", "--note", "on holiday", "--lasts", "1d"), "no enabled reviewer"),
    ],
)
def test_what_cannot_be_handed_over_says_why(at: Terminal, args: tuple[str, ...], why: str) -> None:
    at.person("ben", Role.RESPONDER)
    refused = at.run("delegate", "give", *args, by="ann")
    assert (refused.exit_code, why in refused.output) == (1, True), refused.output
    assert at.run("delegate", "give", "ben", "--lasts", "1d").exit_code == 2  # no reason at all


def test_times_as_people_type_them() -> None:
    assert span_of("90m") == span_of(" 90m ") == timedelta(minutes=90) // timedelta(microseconds=1)
    assert moment_of("2026-12-24") == moment_of("2026-12-24T01:00:00+01:00") == moment_of("2026-12-24T00:00:00Z")
    for text in ("", "7", "7w", "0d", "-1d", "1e3d", "soon"):
        with pytest.raises(QueueError):
            span_of(text)
    with pytest.raises(QueueError):
        moment_of("0000-00-00")


@pytest.mark.claim("C4")
def test_breaking_the_glass_takes_digest_token_and_the_secret_once_more(
    at: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.person("eve", Role.BREAKER)
    row = at.desk.propose()
    asked = typed(monkeypatch, row.digest[7:13], TOKENS[id(at.desk.queue.store), "eve"])
    done = at.run("break-glass", row.id[:8], "--note", REASON, by="eve")
    assert done.exit_code == 0, done.output
    assert "THE GLASS IS BROKEN by eve" in done.output
    assert "to break the glass" in asked[0]
    assert "once more" in asked[1]
    stored = at.desk.queue.get(row.id)
    assert (stored.state, stored.code) == (State.APPROVED, "break_glass")
    assert "1 ran by one person's word" in at.run("list").output
    assert "broken by eve" in at.run("afterlook", "list").output
    assert "has not ended" in at.run("afterlook", "close", row.id, "--note", FINDING, by="ann").output
    Executor(at.desk.queue, wait=timedelta()).run(row.id, lambda args, key: "sent")
    assert at.run("afterlook", "close", row.id, "--note", FINDING, by="eve").exit_code == 1
    closed = at.run("afterlook", "close", row.id, "--note", FINDING, by="ann")
    assert closed.exit_code == 0
    assert f"found: {FINDING} (ann" in closed.output
    assert "no glass waits" in at.run("afterlook", "list").output
    assert [item["state"] for item in json.loads(at.run("afterlook", "list", "--all", "--json").output)] == ["closed"]
    assert "break_glass" in at.run("show", row.id).output


@pytest.mark.claim("C4")
@pytest.mark.parametrize("answers", [(), ("",), ("DIGEST",), ("DIGEST", "")])
def test_who_leaves_a_question_breaks_no_glass(
    at: Terminal, monkeypatch: pytest.MonkeyPatch, answers: tuple[str, ...]
) -> None:
    at.person("eve", Role.BREAKER)
    row = at.desk.propose()
    typed(monkeypatch, *(row.digest[7:13] if answer == "DIGEST" else answer for answer in answers))
    assert at.run("break-glass", row.id, "--note", REASON, by="eve").exit_code == 2
    assert at.desk.queue.get(row.id).state is State.PENDING
    plain = at.run("break-glass", row.id, "--note", REASON, "--digest", row.digest, by="eve")
    assert plain.exit_code == 2  # a script has nobody who types


def test_ticking_says_what_it_did(at: Terminal, clock: HandClock) -> None:
    row = at.desk.propose()
    assert f"NOBODY CAN DECIDE {row.id[:8]}" in at.run("list").output
    said = at.run("tick").output
    assert f"{row.id[:8]}  others were told: ann" in said
    assert "told before its time, since approvers: too few enabled reviewers may say yes to it" in said
    assert "nothing was due" in at.run("tick").output
    shown = " ".join(at.run("show", row.id).output.split())
    assert "proposal.escalated who should look: ann; step: administrator, cem, channel:oncall; told before its" in shown
    at.person("ben", Role.APPROVER)
    clock.advance(hours=5)
    said = at.run("tick").output
    assert f"{row.id[:8]}  people were reminded: ann, ben" in said
    assert f"{row.id[:8]}  somebody can decide it again" in said
    assert "NOBODY CAN DECIDE" not in at.run("list").output
    clock.advance(hours=4)
    told = json.loads(at.run("tick", "--json").output)
    assert [item["what"] for item in told["done"]] == ["reminded"]  # that step was told long ago
    clock.advance(hours=1)
    assert "1 closed, since their time was over" in at.run("tick").output


def test_a_question_that_cannot_be_looked_at_is_named(
    at: Terminal, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("a date far away")

    at.person("ben", Role.APPROVER)
    row = at.desk.propose()
    clock.advance(hours=5)
    monkeypatch.setattr("checkvalve.approvals.ladder.climb", broken)
    said = at.run("tick")
    assert said.exit_code == 0
    assert f"{row.id[:8]}  could not be looked at (OverflowError); it is tried again at the next look" in said.output
    assert json.loads(at.run("tick", "--json").output)["failed"] == {row.id: "OverflowError"}
    monkeypatch.undo()
    assert f"{row.id[:8]}  people were reminded: ann, ben" in at.run("tick").output


def test_a_changed_record_is_named_and_left_alone(at: Terminal, clock: HandClock, store: Store) -> None:
    at.person("ben", Role.APPROVER)
    row = at.desk.propose()
    with store.write() as connection:
        connection.execute(sa.update(proposals).values(reason="nothing to see"))
    clock.advance(hours=5)
    said = at.run("tick")
    assert f"{row.id[:8]}  was changed beside the log" in said.output


def test_the_weekly_report_begins_with_the_broken_glasses(
    at: Terminal, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.person("eve", Role.BREAKER)
    row = at.desk.propose()
    typed(monkeypatch, TOKENS[id(at.desk.queue.store), "eve"])
    at.run("break-glass", row.id, "--note", REASON, "--digest", row.digest, by="eve")
    clock.advance(days=30)  # one that nobody has looked at is shown until somebody has
    said = at.run("report").output
    assert said.startswith("By one person's word")
    assert "by eve, NOBODY HAS LOOKED" in said
    assert REASON in said
    told = json.loads(at.run("report", "--json").output)["broken_glasses"]
    assert [(item["approval"], item["state"]) for item in told] == [(row.id, "open")]
    at.run("afterlook", "close", row.id, "--note", FINDING, by="ann")
    assert "By one person's word" not in at.run("report").output
    assert "looked at by ann" in at.run("report", "--days", "60").output


def test_systems_that_collect_events_hear_a_broken_glass_loudly(
    at: Terminal, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    at.person("eve", Role.BREAKER)
    row = at.desk.propose()
    typed(monkeypatch, TOKENS[id(at.desk.queue.store), "eve"])
    at.run("break-glass", row.id, "--note", REASON, "--digest", row.digest, by="eve")
    with store.read() as connection:
        found = {event.kind: to_ocsf(event) for event in read_events(connection, subject=row.id)}
    assert found["proposal.approved"]["severity_id"] == found["afterlook.opened"]["severity_id"] == 4
    assert found["proposal.unreachable"]["severity_id"] == 4
    assert found["proposal.recorded"]["severity_id"] == 1
    assert "eve" in json.dumps(found["proposal.approved"]["actor"])
