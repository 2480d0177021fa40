"""Attacks through Microsoft Teams: what a card draws, who says something there, and what it may change.

The numbers are those of the list of attacks in docs/proofs.md.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.decision import ArgumentReport
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.notices import KINDS, Notice
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import is_deceptive
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.verdicts import Review
from checkvalve.gateway.teams_card import teams_body
from checkvalve.gateway.teams_codes import code_for
from tests.approvals.made import decided
from tests.attacks.test_channels import ACTIVE, MARKUP
from tests.gateway.teams_world import KEY, ORIGIN, TENANT, USERS, Room, card_of, room, texts
from tests.gateway.test_teams import conforms

pytestmark = pytest.mark.claim("C4", "C9")

TWO = "everywhere: {approve: [{approver: 2}], deny: 2}"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Room]:
    with room(tmp_path) as found:
        yield found


def waits(here: Room, row: Proposal) -> bool:
    """Say whether nothing was decided and nothing may run."""
    return here.queue.get(row.id) == row and here.queue.grant(row.id) is None and not here.queue.standing(row.id).votes


@pytest.mark.parametrize("text", MARKUP, ids=range(len(MARKUP)))
def test_2_4_5_10_a_card_draws_nothing_of_what_it_tells(text: str, here: Room) -> None:
    """Names and values stand in runs that no Markdown is read in, and are inert text all the same."""
    name = text[:150]
    request = ActionRequest.build(name, {"n": text}, server=name, thread=name, call_id="c", requester=name)
    row = here.queue.propose(request, replace(decided(Review(name, name, "say it")), action="read"))
    card = card_of(here.told(row))
    conforms(card)
    assert texts(card)[0].endswith("risk: a call waits for a person")  # the headline is ours, whatever a call says
    assert [action["url"] for action in card["actions"]] == [f"{ORIGIN}/review/items/{row.id}"]
    for line in texts(card)[1:]:
        value = re.sub(r"^[a-z ]{1,40}: ", "", line)
        if re.match(r"(?:approve|reject|escalate)-|In a terminal|\d{4}-\d\d-\d\dT", value) or line.startswith(
            "Mention"
        ):
            continue  # words of ours
        value = re.sub(r"\u27e8(?:U\+[0-9A-F]{4,6}|[0-9,]+ [a-z ]+)\u27e9", " ", value)
        assert not ACTIVE.search(value), line
        assert not any(is_deceptive(character) for character in value if character not in "\u27e8\u27e9"), line


def test_3_what_is_cut_is_counted_and_cannot_be_approved_here(here: Room) -> None:
    row = here.ask("low", note="a" * 5_000 + " and pay eve")
    said = texts(card_of(here.told(row)))
    (note,) = (line for line in said if line.startswith("note: "))
    assert "bytes not shown" in note
    assert note.endswith("and pay eve")
    assert here.say(here.made(row)).startswith("Not done")
    assert waits(here, row)


def test_1_a_budget_that_is_used_up_holds_in_a_chat_too(tmp_path: Path) -> None:
    with room(tmp_path, budget=2) as here:
        for number in range(2):
            assert here.say(here.code(here.ask(to=f"a{number}@corp.example"))).startswith("The call is approved")
        row = here.ask()
        assert here.say(here.code(row)).startswith("Not done: ann has said yes 2 times within the hour")
        assert waits(here, row)
        assert here.say(here.code(row), who="ben").startswith("The call is approved")


def test_6_20_a_code_of_a_call_that_was_edited_is_dead(here: Room) -> None:
    """An edit is another call: what was on the card of the first one says nothing about it."""
    row = here.ask("low", to="a@corp.example")
    code = here.code(row)
    made = edit(
        here.queue, row.id, here.ben, row.digest, {"to": "b@corp.example"}, lambda *_: replace(
            decided(Review("target-not-known", "target-not-known", "say it")), action="read"
        )
    )  # fmt: skip
    assert here.say(code).startswith("Not done: the call is superseded")
    assert here.queue.get(made.id).state is State.PENDING
    mixed = code_for(KEY, "team", made, "approve").rsplit("-", 1)[0] + "-" + code.rsplit("-", 1)[1]
    assert here.say(mixed).startswith("Not done: this is the code of no call here")
    assert here.queue.grant(made.id) is None


def test_7_a_message_that_is_sent_again_is_refused_also_with_another_text(here: Room) -> None:
    row = here.ask("low")
    body = here.message(here.code(row, "escalate"))
    assert here.send(body).startswith("Others were told")
    assert here.refused(body) == "came_before"
    assert here.refused({**body, "text": here.code(row)}) == "came_before"  # signed anew, under its old id
    assert waits(here, row)
    here.clock.advance(minutes=6)
    fresh = {**body, "id": "1900000000000"}
    assert here.refused(fresh) == "too_old"


def test_7_16_a_message_from_another_time_is_refused(here: Room) -> None:
    row = here.ask("low")
    body = here.message(here.code(row))
    for at in ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "", "now", None, 5, "2027-01-15T08:00:00"):
        assert here.refused({**body, "timestamp": at}) == "too_old"
    for name in ("", None, "a b", "x" * 300, "\u0661"):
        assert here.refused({**body, "id": name}) == "too_old"
    assert waits(here, row)


def test_8_13_what_teams_did_not_sign_is_refused_and_nothing_of_it_is_read(here: Room) -> None:
    row = here.ask("low")
    body = here.message(here.code(row))
    raw = json.dumps(body).encode()
    assert here.refused(raw, key=bytes(32)) == "not_signed"
    for signature in ("", "HMAC ", "HMAC AAAA", "hmac x", "Bearer x", "HMAC \udcff", "HMAC " + "A" * 44):
        assert here.refused(raw, signature=signature) == "not_signed"
    assert here.refused(b"not json", key=bytes(32)) == "not_signed"
    assert waits(here, row)
    assert here.send(raw).startswith("The call is approved")  # the control: the same bytes, signed


@pytest.mark.parametrize(
    "raw", [b"[]", b'"x"', b"{", b'{"type":"message","type":"message"}', b"\xff", b"[" * 5_000, b'{"a":1e999}']
)
def test_8_what_is_no_message_is_refused_although_it_is_signed(raw: bytes, here: Room) -> None:
    assert here.refused(raw) == "no_message"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"channelData": {"tenant": {"id": "ffffffff-0000-4000-8000-00000000000a"}}}, "other_tenant"),
        ({"conversation": {"tenantId": "ffffffff-0000-4000-8000-00000000000a"}}, "other_tenant"),
        ({"channelData": {}, "conversation": {}}, "other_tenant"),
        ({"channelData": {"tenant": TENANT}, "conversation": {}}, "other_tenant"),
        ({"from": {"id": "29:1", "name": "ann"}}, "nobody"),
        ({"from": {"aadObjectId": "ann@corp.example"}}, "nobody"),
        ({"from": {"aadObjectId": [USERS["ann"]]}}, "nobody"),
        ({"from": USERS["ann"]}, "nobody"),
        ({"type": "messageUpdate"}, "no_message"),
        ({"type": "invoke"}, "no_message"),
        ({"type": None}, "no_message"),
    ],
)
def test_13_another_tenant_nobody_and_an_edited_message_are_refused(
    changes: dict[str, Any], code: str, here: Room
) -> None:
    row = here.ask("low")
    assert here.refused(here.message(here.code(row), **changes)) == code
    assert waits(here, row)


def test_13_a_name_and_a_mail_address_say_nothing_about_who_it_is(here: Room) -> None:
    row = here.ask("low")
    body = here.message(here.code(row), who="eve")
    body["from"] |= {"name": "ann", "userPrincipalName": "ann@corp.example", "email": "ann@corp.example", "id": "ann"}
    assert here.send(body).startswith("Not done: this account of Teams belongs to no reviewer")
    assert waits(here, row)


@pytest.mark.parametrize("tier", ["high", "critical"])
def test_13_whoever_has_the_chat_account_cannot_approve_what_is_grave(tier: str, here: Room) -> None:
    """Also with a code that only the security token makes, and with that of another answer."""
    row = here.ask(tier)
    assert here.say(here.made(row)).startswith(f"Not done: a call of {tier} risk is not approved in this chat")
    turned = here.code(row, "reject").replace("reject-", "approve-")
    assert here.say(turned).startswith("Not done: this is the code of no call here")
    assert waits(here, row)


def test_13_an_edited_code_is_none(here: Room) -> None:
    row, other = here.ask("low"), here.ask("low", to="b@corp.example")
    code, theirs = here.code(row), here.code(other)
    elsewhere = code_for(KEY, "other-team", row, "approve")
    of_thief = code_for(bytes(32), "team", row, "approve")
    parts, further = code.split("-"), theirs.split("-")
    mixed = ["-".join([*parts[:at], further[at], *parts[at + 1 :]]) for at in (1, 2, 3)]
    changed = [code[:at] + ("2" if code[at] != "2" else "3") + code[at + 1 :] for at in range(8, len(code))]
    for word in (*mixed, *changed, elsewhere, of_thief, code.upper(), code + "a", code[:-1]):
        said = here.say(word)
        assert said.startswith(("Not done: this is the code of no call here", "Nothing was done")), word
    assert waits(here, row)
    assert waits(here, other)


def test_9_an_address_of_a_card_is_looked_at_and_changes_nothing(here: Room) -> None:
    """A scanner that follows what it finds comes to our review page, which asks who it is; the door takes no GET."""
    row = here.ask("low")
    raw = here.told(row).decode()
    assert set(re.findall(r"https?://[^\s\"\\]*", raw)) == {f"{ORIGIN}/review/items/{row.id}"}
    assert "approve" not in f"{ORIGIN}/review/items/{row.id}"


def test_11_whoever_asked_does_not_approve_under_any_account(here: Room) -> None:
    bob = here.queue.reviewers.authenticate(here.queue.reviewers.add("bob", by=here.ann))
    here.clock.advance(seconds=2)
    here.link(bob, "bob")
    row = here.ask("low", requester="bob")
    assert here.say(here.code(row), who="bob").startswith("Not done: you asked for this call yourself")
    assert waits(here, row)


def test_12_a_call_that_takes_a_second_factor_is_not_approved_here(tmp_path: Path) -> None:
    with room(tmp_path, rules="everywhere: {step_up: true}") as here:
        row = here.ask("low")
        assert here.say(here.code(row)).startswith("Not done")
        assert waits(here, row)


def test_13_the_review_rules_can_keep_a_yes_out_of_chats(tmp_path: Path) -> None:
    with room(tmp_path, rules="everywhere: {channels: [web, cli]}") as here:
        row = here.ask("low")
        assert here.say(here.code(row)).startswith("Not done: a yes to this call is not taken by chat")
        assert waits(here, row)
        assert here.say(here.code(row, "reject")).startswith("The call is rejected")


def test_15_a_yes_and_a_no_at_once_have_one_winner_and_the_other_is_told(here: Room) -> None:
    for number in range(6):
        row = here.ask("low", to=f"a{number}@corp.example")
        bodies = [here.message(here.code(row)), here.message(here.code(row, "reject"), who="ben")]
        ends: list[str] = []
        barrier = threading.Barrier(2)

        def send(body: dict[str, Any], ends: list[str] = ends, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(60)
            ends.append(here.send(body))

        threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
        for one in threads:
            one.start()
        for one in threads:
            one.join(120)
        state = here.queue.get(row.id).state
        assert sorted(end.startswith(f"The call is {state.value}") for end in ends) == [False, True]
        assert any(end.startswith("Not done") and f" is {state.value} " in end for end in ends)
        assert (here.queue.grant(row.id) is not None) == (state is State.APPROVED)


def test_7_every_code_of_a_call_dies_with_the_first_decision_wherever_it_was_made(here: Room) -> None:
    row = here.ask("low")
    codes = [here.code(row, verb) for verb in ("approve", "reject", "escalate")]
    here.queue.reject(row.id, here.ben, channel="web")
    for code in codes:
        assert here.say(code).startswith("Not done: the call is rejected")
    other = here.ask("low", to="b@corp.example")
    code = here.code(other)
    assert here.say(code, who="ben").startswith("The call is approved")
    assert here.say(code).startswith("Not done: the call is approved")
    with pytest.raises(ConflictError):
        here.queue.approve(other.id, here.ann, other.digest)


def test_16_nothing_is_decided_after_the_time_to_decide(here: Room) -> None:
    row = here.ask("low")
    code = here.code(row)
    here.clock.advance(hours=25)
    assert here.say(code).startswith("Not done: the call is expired")
    assert here.queue.grant(row.id) is None


def test_17_a_question_that_waits_is_told_again_with_its_codes(here: Room) -> None:
    row = here.ask("low")
    first = here.notices(row)[0]
    reminder = replace(first, kind="reminder", body={"who": ["ann", "ben"]})
    said = texts(card_of(teams_body(reminder, here.channel, ORIGIN, KEY)))
    assert "who should look: ann, ben" in said
    assert any(line.startswith("to approve: ") for line in said)


def test_18_one_message_answers_one_call(here: Room) -> None:
    row, other = here.ask("low"), here.ask("low", to="b@corp.example")
    both = f"{here.code(row)} {here.code(other)}"
    assert here.say(both).startswith("Nothing was done")
    assert waits(here, row)
    assert waits(here, other)


@pytest.mark.parametrize("kind", KINDS)
def test_19_a_value_is_on_no_card_unless_the_tier_says_so(kind: str, here: Room) -> None:
    canary = "CANARY-7f3a"
    row = here.ask("high", to=canary, body={"x": canary})
    first = here.notices(row)[0]
    body: dict[str, Any] = {"by": "reviewer:ann", "state": "approved", "note": canary, "result": canary}
    notice = Notice(first.seq, first.id, first.at, kind, row.id, body, row)
    assert canary not in teams_body(notice, here.channel, ORIGIN, KEY).decode()
    open_ = here.channel.model_copy(update={"values": [*here.channel.values, "high"]})
    assert canary in teams_body(notice, open_, ORIGIN, KEY).decode()


def test_19_what_has_the_form_of_a_key_is_on_no_card_at_all(here: Room) -> None:
    row = here.ask("low", password="correct-horse-battery", key="AKIA" + "Q7XN" * 4)  # a canary
    raw = here.told(row).decode()
    assert "AKIAQ7XN" not in raw
    assert "to approve: " not in raw
    assert here.say(here.made(row)).startswith("Not done")
    declared = ArgumentReport("to", "credential", "text", sufficient=False, origins=())
    row = here.ask("low", to="short", reports=[declared])
    raw = here.told(row).decode()
    assert "short" not in raw.replace("shortened", "")
    assert here.say(here.made(row)).startswith("Not done: the card of this call does not tell every value whole")
    assert here.queue.get(row.id).state is State.PENDING


def test_15_a_voice_of_the_chat_counts_as_one_of_several(tmp_path: Path) -> None:
    with room(tmp_path, rules=TWO) as here:
        row = here.ask("low")
        assert here.say(here.code(row)) == "Your yes is stored, and more voices are needed."
        assert here.say(here.code(row)).startswith("Not done")  # the same person, once
        assert here.queue.get(row.id).state is State.PENDING
        assert here.say(here.code(row), who="ben").startswith("The call is approved")
