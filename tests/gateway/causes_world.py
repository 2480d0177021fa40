"""One API, people of every kind, and a call in any state: what the walk through the causes is made of."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checkvalve.approvals import moves
from checkvalve.approvals.passwords import Passwords, set_password
from checkvalve.approvals.records import MOVES, Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.verdicts import Verdict
from tests.approvals.made import DENY, REVIEW, decided
from tests.gateway.runs_world import FAST, Api, serving

SECRET = "four plain words together 7"  # a person's, made up
RULES = """
everywhere: {approve: [{approver: 1}], break_glass: true}
rules:
  - {name: two, when: {tool: two}, approve: [{approver: 2}]}
  - {name: pages, when: {tool: pages}, channels: [web]}
  - {name: words, when: {tool: words}, note_required: true}
  - {name: proof, when: {tool: proof}, step_up: true}
  - {name: both, when: {tool: both}, approve: [{approver: 2}], step_up: true}
  - {name: never, when: {tool: never}, break_glass: false}
"""
WAY = deque[tuple[State, tuple[State, ...]]]


@dataclass
class World:
    """The API, and who may do what: ``headers`` by name."""

    api: Api
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.queue = self.api.gateway.queue
        self.people = self.queue.reviewers = Reviewers(self.queue.store, self.queue.clock, FAST)
        boss = self.people.add("boss")
        chief = self.people.authenticate(boss)
        self.tokens = {
            "boss": boss,
            "ben": self.people.add("ben", by=chief),
            "viewer": self.people.add("viewer", by=chief, roles=[Role.VIEWER]),
            "far": self.people.add("far", by=chief, roles=[Role.APPROVER], scope=Scope(tools=("other",))),
            "program": self.people.add("program", by=chief, owner="boss"),
            "eve": self.people.add("eve", by=chief, roles=[Role.BREAKER, Role.APPROVER]),
            "gone": self.people.add("gone", by=chief),
        }
        self.headers = {name: {"Authorization": f"Bearer {token}"} for name, token in self.tokens.items()}
        self.people.disable("gone", by=chief)
        self.headers |= {"ann": self.api.ann, "bob": self.api.bob, "reading": self.api.reading, "nobody": {}}
        for name in ("boss", "eve"):
            hashed = Passwords(self.queue.store, self.queue.clock, FAST).hash_for(name, SECRET)
            with self.queue.store.write() as connection:
                set_password(connection, name, hashed, at=self.queue.clock(), by="token")

    def ask(
        self, tool: str = "send", *, requester: str = "bob", verdict: Verdict = REVIEW, pins: tuple[str, ...] = ()
    ) -> Proposal:
        """Propose a call of a tool."""
        number = f"c{next(self.numbers)}"
        request = ActionRequest.build(tool, {"n": number}, thread=number, call_id=number, requester=requester)
        return self.queue.propose(request, replace(decided(verdict), pins=pins))

    def being(self, state: State) -> Proposal:
        """Return a call in some state, moved there on the shortest way that the table of moves has."""
        if state is State.DENIED:
            return self.ask(verdict=DENY)
        row = self.ask()
        for step in _way(state):
            until = 1 << 60 if step is State.APPROVED else None
            with self.queue.store.write() as connection:
                now = self.queue.clock()
                row = moves.move(connection, row, step, at=now, by="reviewer:ben", code="test", execute_by=until)
        return row

    def send(self, path: str, who: str = "boss", row: Proposal | None = None, *, how: str = "POST", **body: Any) -> Any:
        """Send a request about a call, or about none."""
        match = {} if row is None else {"If-Match": f'"{row.digest}"'}
        sent = body if how == "POST" else None
        where = path if row is None else path.format(id=row.id)
        return self.api.client.request(how, where, json=sent, headers={**self.headers[who], **match})

    def say(self, row: Proposal, what: str = "approve", who: str = "boss", **more: Any) -> Any:
        """Answer a call."""
        return self.send("/approvals/{id}/decision", who, row, type=what, **more)


def _way(end: State) -> tuple[State, ...]:
    waiting: WAY = deque([(State.PENDING, ())])
    while waiting:
        at, way = waiting.popleft()
        if at is end:
            return way
        waiting.extend((further, (*way, further)) for further in sorted(MOVES.get(at, ())))
    raise AssertionError(f"no way leads to {end}")


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Open it over a database of its own."""
    (folder / "rules.yaml").write_text(RULES)
    with serving(folder, review_rules=folder / "rules.yaml", break_glass=True) as api:
        yield World(api)
