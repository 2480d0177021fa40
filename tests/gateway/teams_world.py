"""A channel of Teams for the tests: calls of any risk, the card it was told, and people who say something to it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.decision import ArgumentReport
from checkvalve.approvals.notices import Notice, notice_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verdicts import Review
from checkvalve.gateway import teams_people
from checkvalve.gateway.channel_file import Teams
from checkvalve.gateway.errors import TeamsError
from checkvalve.gateway.teams_answers import TeamsAnswers
from checkvalve.gateway.teams_card import teams_body
from checkvalve.gateway.teams_codes import code_for
from tests.approvals.made import HandClock, decided, people

ORIGIN = "https://gate.example"
KEY = bytes(range(32))
TENANT = "0a1b2c3d-0000-4000-8000-00000000000a"
USERS = {name: f"{number:08x}-0000-4000-8000-000000000001" for number, name in enumerate(("ann", "ben", "bob", "eve"))}
ACTIONS = {"low": "read", "medium": "write", "high": "send", "critical": "execute"}
"""An effect of each risk, where the rule is about who gets something."""


def token_file(folder: Path, key: bytes = KEY) -> Path:
    """Write the security token as Teams shows it."""
    file = folder / "teams.token"
    file.write_text(base64.b64encode(key).decode())
    file.chmod(0o600)
    return file


def channel(folder: Path, **more: Any) -> Teams:
    """Return a channel that takes a yes to small risks, and a no to all."""
    told: dict[str, Any] = {"name": "team", "url_file": folder / "url", "token_file": token_file(folder)}
    told |= {"tenant": TENANT, "approve": ["low", "medium"], "values": ["low", "medium"]}
    return Teams(**{**told, **more})


def card_of(body: bytes) -> Any:
    """Return the card of a message."""
    (attachment,) = json.loads(body)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    return attachment["content"]


def texts(card: Any) -> list[str]:
    """Return the lines of a card."""
    return ["".join(run["text"] for run in block["inlines"]) for block in card["body"]]


@dataclass
class Room:
    """A queue, a channel that takes answers, and ann and ben, who may decide and have linked their accounts."""

    queue: Queue
    clock: HandClock
    channel: Teams
    ann: Reviewer
    ben: Reviewer
    answers: TeamsAnswers
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def ask(
        self,
        tier: str = "low",
        *,
        to: Any = "a@corp.example",
        requester: str = "bob",
        reports: Sequence[ArgumentReport] | None = None,
        **args: Any,
    ) -> Proposal:
        """Ask about a call of this risk; ``reports`` say where each argument came from."""
        request = ActionRequest.build(
            "send", {"to": to, **args}, thread="t", call_id=f"c{next(self.numbers)}", requester=requester
        )
        rule = "target-not-known"
        decision = replace(decided(Review(rule, rule, "say it")), action=ACTIONS[tier])
        if reports is not None:
            decision = replace(decision, arguments=tuple(reports))
        return self.queue.propose(request, decision)

    def notices(self, row: Proposal) -> list[Notice]:
        """Return what there is to tell of a call, newest last."""
        with self.queue.store.read() as connection:
            events = list(read_events(connection, subject=row.id))
        row = self.queue.veiling.seen(self.queue.get(row.id))  # as every channel is given it
        return [found for event in events if (found := notice_of(event, row)) is not None]

    def told(self, row: Proposal, **more: Any) -> bytes:
        """Return the message about the question."""
        where = self.channel.model_copy(update=more)
        return teams_body(self.notices(row)[0], where, ORIGIN, KEY)

    def code(self, row: Proposal, verb: str = "approve") -> str:
        """Return the code on the card.

        Raises:
            StopIteration: the card has none for this answer.
        """
        return next(
            line.partition(": ")[2] for line in texts(card_of(self.told(row))) if line.startswith(f"to {verb}:")
        )

    def made(self, row: Proposal, verb: str = "approve") -> str:
        """Return the code as somebody would who had the security token."""
        return code_for(KEY, self.channel.name, row, verb)

    def message(self, words: str, *, who: str = "ann", **changes: Any) -> dict[str, Any]:
        """Return what Teams sends when somebody mentions the webhook; ``changes`` replace members of it."""
        number = next(self.numbers)
        at = datetime.fromtimestamp(self.clock() / 1_000_000, UTC)
        body: dict[str, Any] = {
            "type": "message",
            "id": f"{1_800_000_000_000 + number}",
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "channelId": "msteams",
            "from": {"id": "29:1-aaa", "name": "Ann Example", "aadObjectId": USERS[who]},
            "conversation": {"isGroup": True, "id": "19:room@thread.tacv2;messageid=1", "tenantId": TENANT},
            "recipient": {"id": "28:bbb", "name": "Checkvalve"},
            "textFormat": "plain",
            "text": f"<at>Checkvalve</at>&nbsp;{words}\n",
            "channelData": {"tenant": {"id": TENANT}, "team": {"id": "19:team@thread.tacv2"}},
        }
        return {**body, **changes}

    def send(self, body: dict[str, Any] | bytes, *, key: bytes = KEY, signature: str | None = None) -> str:
        """Send a message through the door; returns what is said in reply.

        Raises:
            TeamsError: it was not taken.
        """
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = "HMAC " + base64.b64encode(hmac.digest(key, raw, hashlib.sha256)).decode()
        return self.answers.answer(self.channel.name, signed if signature is None else signature, raw)

    def say(self, words: str, *, who: str = "ann", **changes: Any) -> str:
        """Say something, as Teams would pass it on."""
        return self.send(self.message(words, who=who, **changes))

    def refused(self, body: dict[str, Any] | bytes, **how: Any) -> str:
        """Return the code of the refusal of a message that must not be taken."""
        try:
            said = self.send(body, **how)
        except TeamsError as error:
            return error.code
        raise AssertionError(f"it was taken: {said}")

    def link(self, reviewer: Reviewer, who: str) -> str:
        """Link an account of Teams to a reviewer's."""
        return self.say(teams_people.new_code(KEY, self.channel.name, reviewer, self.clock()), who=who)


@contextmanager
def room(folder: Path, url: str = "", *, rules: str = "{}", budget: int = 0, **more: Any) -> Iterator[Room]:
    """Open a room over a database, a new one in ``folder`` where none is given."""
    with Store.open(url or f"sqlite:///{folder}/gate.db") as store:
        clock = HandClock()
        queue = Queue(store, clock, rules=parse_review_rules(rules, "rules.yaml"), budget=budget)
        people(queue)
        ann = queue.reviewers.authenticate(queue.reviewers.add("ann"))
        roles = [Role.APPROVER, Role.ADMINISTRATOR]
        ben = queue.reviewers.authenticate(queue.reviewers.add("ben", by=ann, roles=roles))
        where = channel(folder, **more)
        found = Room(queue, clock, where, ann, ben, TeamsAnswers([where], queue))
        assert found.link(ann, "ann") == "This account of Teams is now that of ann."
        assert found.link(ben, "ben") == "This account of Teams is now that of ben."
        yield found
