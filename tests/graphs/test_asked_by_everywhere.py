"""The owner of an agent has asked for whatever it asks for: in edits, with standing rules, and not where people ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.asked_by import AGENT, TOKEN, Behind
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import NotAllowedError
from checkvalve.approvals.records import State
from checkvalve.approvals.standing_draft import TIGHT
from checkvalve.approvals.verify import verify
from checkvalve.graphs.edited import deciding
from checkvalve.graphs.session import GuardSession
from tests.approvals.standing_world import World, standing_world

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with standing_world(tmp_path, agent_owner="Ann, zoe@corp.example") as found:
        yield found


def test_what_the_agent_asks_for_its_owner_asked_for(world: World) -> None:
    row = world.ask()
    assert row.asked_by == ("me", "ann", "zoe@corp.example")
    with pytest.raises(NotAllowedError, match="you own the agent that asked for this call"):
        world.approve(row, world.ann)
    assert world.approve(row, world.ben).state is State.APPROVED


def test_an_edit_keeps_everybody_who_asked(world: World) -> None:
    queue = world.gateway.queue
    queue.reviewers.add("dan", by=world.ann)  # somebody is left who may say yes
    queue.owners.of_task = lambda _thread: [Behind(TOKEN, "cleo")]
    old = world.ask()
    queue.owners.of_task = lambda _thread: ()  # the token was taken back meanwhile
    args = {"to": "desk@other.example", "body": "The report"}
    new = edit(queue, old.id, world.ben, old.digest, args, deciding(world.gateway.services))
    assert new.behind == (Behind(TOKEN, "cleo"), Behind(AGENT, "ann"), Behind(AGENT, "zoe@corp.example"))
    with pytest.raises(NotAllowedError, match="you own the API token that asked for this call"):
        world.approve(new, world.cleo)
    assert verify(queue.store).ok


def test_no_standing_rule_of_theirs_is_for_themselves(world: World) -> None:
    """Ann owns the agent: she makes no rule of its calls, and one that she made before answers none of them."""
    queue = world.gateway.queue
    done = world.ask()
    world.approve(done, world.ben)
    assert world.run(done) is State.SUCCEEDED
    with pytest.raises(NotAllowedError, match="you own the agent"):
        queue.standing_rules.make(done.id, TIGHT, world.ann)
    rules = queue.standing_rules
    made = rules.confirm(rules.make(done.id, TIGHT, world.ben).id, world.cleo)
    assert made.holds
    assert world.ask().verdict_name == "allow", "nobody who asked has agreed to it"
    queue.owners.agents = ("cleo",)
    assert world.ask().state is State.PENDING


def test_what_a_person_asks_for_by_hand_has_no_agent(world: World) -> None:
    session = GuardSession(world.gateway.services, "undo/x/1", "ben", by_hand=True)
    assert session.request(world.call()).behind == ()
