"""A gateway whose agent asks for the same thing again and again, and people who make a standing rule of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkvalve.approvals.manifest import schema_digest
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.standing_draft import Widening
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.stepup import Checks, Item, with_secret
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.session import Call, GuardSession
from tests.approvals.made import people

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}
PIN = schema_digest(SCHEMA)
PAY_PIN = schema_digest({"type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "number"}}})
PARTNER = "desk@partner.example"
IBAN = "DE89370400440532013000"
MANIFEST = f"""
version: 1
name: standing world
principal: {{owner: [me@corp.example], domain: [corp.example]}}
tools:
  read_mail:
    effect: read
    idempotency: read
    result:
      - {{path: "**", readers: public}}
  read_secrets:
    effect: read
    idempotency: read
    result: [{{path: "**", readers: owner}}]
  send_mail:
    effect: send
    asks: [send, mail, write, reply]
    schema_digest: {PIN}
    args:
      to: {{role: target, kind: email}}
      body: {{role: content}}
  pay:
    effect: pay
    asks: [pay]
    schema_digest: {PAY_PIN}
    args:
      to: {{role: target, kind: account}}
      amount: {{role: amount, kind: number}}
  fetch:
    effect: read
    leaves_domain: true
    schema_digest: {PIN}
    args:
      url: {{role: target, kind: url}}
  forward_all:
    effect: configure
    asks: [forward, set up]
    schema_digest: {PIN}
    args: {{address: {{role: target, kind: email}}}}
  unpinned:
    effect: send
    asks: [send, mail]
    args: {{to: {{role: target, kind: email}}, body: {{role: content}}}}
"""
PINS = {"send_mail": PIN, "pay": PAY_PIN, "fetch": PIN, "forward_all": PIN}


@dataclass
class World:
    """The gateway, three people who decide, and one whose agent asks."""

    gateway: Gateway
    ann: Reviewer
    ben: Reviewer
    cleo: Reviewer
    tokens: dict[str, str]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def session(self, thread: str = "", requester: str = "me") -> GuardSession:
        """Return a session of a new task, in which a mail asks for something."""
        thread = thread or f"task{next(self.numbers)}"
        known = self.gateway.session(thread, requester)
        known.user_words("Read my mail and send the reply that it asks for, or pay what it says", key="u")
        text = f"Please answer to {PARTNER} or desk@other.example; pay 60 to {IBAN}"
        known.result(Call("read_mail", {}, "r1@a", turn="a"), [{"id": "m1", "text": text}], key="call:r1")
        return known

    def call(self, tool: str = "send_mail", **args: Any) -> Call:
        given = {"to": PARTNER, "body": "The report"} if tool == "send_mail" and not args else args
        number = next(self.numbers)
        return Call(tool, given, f"c{number}@t{number}", turn=f"t{number}", schema_digest=PINS.get(tool))

    def ask(self, tool: str = "send_mail", *, requester: str = "me", **args: Any) -> Proposal:
        """Propose a call in a task of its own."""
        return self.session(requester=requester).propose(self.call(tool, **args))

    def approve(self, proposal: Proposal, by: Reviewer | None = None) -> Proposal:
        who, queue = by or self.ann, self.gateway.queue
        proof = None
        if tier_of(str(proposal.decision["action"]), proposal.rule) is Tier.CRITICAL:
            proof = with_secret(Checks.of(queue.reviewers), who, Item.of(proposal), self.tokens[who.name])
        return queue.approve(proposal.id, who, proposal.digest, endorse=False, note="seen", step_up=proof)

    def run(self, proposal: Proposal, outcome: Any = "done") -> State:
        return self.gateway.executor.run(proposal.id, lambda args, key: outcome).state

    def succeeded(self, tool: str = "send_mail", *, requester: str = "me", **args: Any) -> Proposal:
        """Return a call that a person approved and that succeeded."""
        asked = self.ask(tool, requester=requester, **args)
        assert asked.state is State.PENDING, (asked.verdict, asked.decision.get("facts"))
        self.approve(asked)
        assert self.run(asked) is State.SUCCEEDED
        return self.gateway.queue.get(asked.id)

    def rule(self, proposal: Proposal | None = None, **wider: Any) -> StandingEntry:
        """Make a rule of a call and let another person confirm it."""
        made = self.gateway.queue.standing_rules.make((proposal or self.succeeded()).id, Widening(**wider), self.ann)
        return self.gateway.queue.standing_rules.confirm(made.id, self.ben)


@contextmanager
def standing_world(
    folder: Path, *, manifest: str = MANIFEST, tokens: dict[str, str] | None = None, **options: Any
) -> Iterator[World]:
    """Open a gateway with three reviewers; with their ``tokens``, one that was open before."""
    (folder / "manifest.yaml").write_text(manifest)
    database = options.pop("database_url", f"sqlite:///{folder / 'gate.db'}")
    values = {"log_format": "json", "log_level": "warning", "database_url": database, **options}
    with build(Settings(manifest=folder / "manifest.yaml", **values)) as gateway:
        people(gateway.queue)
        known = gateway.queue.reviewers
        tokens = tokens or {"ann": known.add("ann")}
        ann = known.authenticate(tokens["ann"])
        for name in ("ben", "cleo"):
            if name not in tokens:
                tokens[name] = known.add(name, by=ann)
        ben, cleo = (known.authenticate(tokens[name]) for name in ("ben", "cleo"))
        yield World(gateway, ann, ben, cleo, tokens)
