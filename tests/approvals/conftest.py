from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from checkvalve.approvals import terminal
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock, people

Run = Callable[..., Any]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/data/checkvalve.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return Desk.at(store, clock)


@pytest.fixture
def run(desk: Desk, url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv(terminal.TOKEN_VARIABLE, raising=False)

    def open_queue() -> Queue:
        queue = Queue(Store.open(url, create=False), desk.clock)
        people(queue)
        return queue

    app = typer.Typer()
    app.add_typer(approvals_app(open_queue), name="approvals")
    app.add_typer(audit_app(lambda: Store.open(url, create=False)), name="audit")
    return lambda *args, **rest: CliRunner().invoke(app, list(args), **rest)


@pytest.fixture
def token(desk: Desk) -> dict[str, str]:
    return {terminal.TOKEN_VARIABLE: desk.token}


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Make it a terminal at which somebody types these answers; an exception is raised instead of an answer."""

    def types(*answers: str | type[BaseException]) -> list[str]:
        asked: list[str] = []
        left = iter(answers)

        def prompt(question: str, **_: object) -> str:
            asked.append(question)
            answer = next(left)
            if isinstance(answer, str):
                return answer
            raise answer

        monkeypatch.setattr(typer, "prompt", prompt)
        monkeypatch.setattr(terminal, "at_terminal", lambda: True)
        return asked

    return types
