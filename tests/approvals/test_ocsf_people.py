"""In an export of the log whoever gave or took rights is a user, and standing rules are rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.approvals.standing_draft import Widening
from tests.approvals.standing_world import standing_world

ACCESS, ASSIGN, REVOKE = 3005, 1, 2


@pytest.mark.claim("C5")
def test_a_standing_rule_is_given_and_taken_by_people(tmp_path: Path) -> None:
    with standing_world(tmp_path) as world:
        people, rules = world.gateway.queue.reviewers, world.gateway.queue.standing_rules
        first, second, *_ = (people.authenticate(token) for token in world.tokens.values())
        made = rules.make(world.succeeded().id, Widening(), first)
        rules.confirm(made.id, second)
        rules.revoke(made.id, first)
        people.disable(second.name, by=first)
        with world.gateway.store.read() as connection:
            told: dict[str, Any] = {event.kind: to_ocsf(event) for event in read_events(connection)}
    given = [told[f"standing.{word}"] for word in ("made", "confirmed", "revoked")]
    assert {item["class_uid"] for item in given} == {ACCESS}
    assert [item["activity_id"] for item in given[1:]] == [ASSIGN, REVOKE]
    users = [item["actor"]["user"] for item in given]
    assert users == [{"name": name, "type_id": 1} for name in (first.name, second.name, first.name)]
    assert {item["privileges"][0] for item in given} == {"standing rule"}
    assert told["reviewer.disabled"]["actor"] == {"user": {"name": first.name, "type_id": 1}}
    assert told["proposal.succeeded"]["actor"].keys() == {"app_name"}
