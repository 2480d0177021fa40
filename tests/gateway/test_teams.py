"""Microsoft Teams: the card, its size, the file of channels, the door, who somebody is, and what they may answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.decision import ArgumentReport
from checkvalve.approvals.identities import Identities
from checkvalve.approvals.records import State
from checkvalve.approvals.verify import verify
from checkvalve.gateway import teams_people
from checkvalve.gateway.channel_file import load_channels
from checkvalve.gateway.errors import ChannelError
from checkvalve.gateway.teams_card import MAX_BYTES, VERSION, teams_body
from tests.gateway.teams_world import KEY, ORIGIN, TENANT, USERS, Room, card_of, room, texts, token_file

ALLOWED: dict[str, set[str]] = {
    "AdaptiveCard": {"type", "version", "body", "actions"},
    "RichTextBlock": {"type", "inlines"},
    "TextRun": {"type", "text", "weight", "size", "isSubtle"},
    "Action.OpenUrl": {"type", "title", "url"},
}
"""The part of the schema that a card may use. All of it is in version 1.2. A TextBlock and a Fact read Markdown, an
Image loads from elsewhere, a selectAction makes text a link, an Input and Action.Submit send: none is here."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Room]:
    with room(tmp_path) as found:
        yield found


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every element of a card."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item)


def conforms(card: Any) -> None:
    """Check a card against the part of the schema that it may use."""
    assert (card["type"], card["version"]) == ("AdaptiveCard", VERSION) == ("AdaptiveCard", "1.2")
    for part in parts(card):
        assert set(part) <= ALLOWED[part["type"]], part
    for block in card["body"]:
        assert block["type"] == "RichTextBlock"
        assert block["inlines"]
        for run in block["inlines"]:
            assert isinstance(run["text"], str)
            assert run.get("weight", "Bolder") == "Bolder"
            assert run.get("size", "Medium") == "Medium"
            assert run.get("isSubtle", True) is True
    assert all(action["type"] == "Action.OpenUrl" for action in card.get("actions", []))


class TestTheCard:
    def test_it_says_what_waits_with_the_digest_and_one_link_to_our_page(self, here: Room) -> None:
        row = here.ask("medium", to="ann@corp.example")
        card = card_of(here.told(row))
        conforms(card)
        said = texts(card)
        assert said[0] == "medium risk: a call waits for a person"
        assert "tool: send" in said
        assert f"digest: {row.digest.removeprefix('sha256:')[:16]}" in said
        assert "to: ann\u27e8U+0040\u27e9corp\u27e8U+002E\u27e9example" in said
        assert any(line.startswith("from: untrusted: what read_mail returned") for line in said)
        assert card["actions"] == [
            {"type": "Action.OpenUrl", "title": "Look at it", "url": f"{ORIGIN}/review/items/{row.id}"}
        ]

    def test_without_an_address_of_ours_it_has_no_link(self, here: Room) -> None:
        card = card_of(teams_body(here.notices(here.ask())[0], here.channel, "", KEY))
        conforms(card)
        assert "actions" not in card
        assert any("checkvalve approvals show" in line for line in texts(card))

    def test_a_channel_without_a_token_or_a_decided_call_has_no_codes(self, here: Room) -> None:
        row = here.ask()
        assert not any(line.startswith("to ") and "-" in line for line in texts(card_of(self.bare(here, row))))
        here.queue.reject(row.id, here.ann)
        later = here.notices(row)[-1]
        assert later.kind == "rejected"
        assert not any("approve-" in line for line in texts(card_of(teams_body(later, here.channel, ORIGIN, KEY))))

    def bare(self, here: Room, row: Any) -> bytes:
        return teams_body(here.notices(row)[0], here.channel.model_copy(update={"values": []}), ORIGIN)

    @pytest.mark.parametrize(("tier", "verbs"), [("low", 3), ("medium", 3), ("high", 2), ("critical", 2)])
    def test_only_a_small_risk_has_the_words_for_a_yes(self, here: Room, tier: str, verbs: int) -> None:
        row = here.ask(tier)
        said = texts(card_of(here.told(row)))
        assert sum(line.startswith(("to approve:", "to reject:", "to escalate:")) for line in said) == verbs
        assert any(line.startswith("to approve:") for line in said) == (verbs == 3)

    @pytest.mark.parametrize("args", [{"body": "x" * 600}, {"n": list(range(40))}, {"key": "AKIA" + "Q7XN" * 4}])
    def test_a_card_that_does_not_tell_all_of_a_call_has_no_words_for_a_yes(self, here: Room, args: Any) -> None:
        row = here.ask("low", **args)
        assert not any(line.startswith("to approve:") for line in texts(card_of(here.told(row))))
        assert here.say(here.made(row)).startswith("Not done: the card of this call does not tell every value whole")
        assert here.queue.get(row.id).state is State.PENDING
        assert here.say(here.code(row, "reject")).startswith("The call is rejected")

    def test_an_origin_that_is_cut_is_not_the_whole_call_either(self, here: Room) -> None:
        found: dict[str, object] = {"source": "tool:read/c1", "trust": "untrusted", "match": "exact"}
        few, many = (ArgumentReport("to", "target", "email", sufficient=False, origins=(found,) * n) for n in (1, 40))
        assert "to approve: " in here.told(here.ask(reports=[few])).decode()
        row = here.ask(reports=[many], to="b@corp.example")
        assert "to approve: " not in here.told(row).decode()
        assert here.say(here.made(row)).startswith("Not done: the card of this call")

    @pytest.mark.parametrize("char", ["a", "<", "\u4e2d", "\U0001f600", "\U000e0041"])
    def test_a_message_is_never_larger_than_teams_takes_and_counts_what_is_left_out(
        self, here: Room, char: str
    ) -> None:
        args = {f"a{number:02}": char * 900 for number in range(18)}
        found: dict[str, object] = {"source": f"tool:read/c1#{char * 300}", "trust": "untrusted", "match": "exact"}
        reports = [ArgumentReport(name, "content", "text", sufficient=False, origins=(found, found)) for name in args]
        row = here.ask("low", to=char * 900, requester="b" + char * 60, reports=reports, **args)
        raw = here.told(row)
        assert len(raw) <= MAX_BYTES
        card = card_of(raw)
        conforms(card)
        assert any("not shown" in line or "not told here" in line for line in texts(card))
        assert any(line == f"digest: {row.digest.removeprefix('sha256:')[:16]}" for line in texts(card))
        if char == "<":
            assert any(line.startswith("more: ") and "further lines are not told here" in line for line in texts(card))


class TestTheFile:
    def write(self, folder: Path, *lines: str) -> Path:
        (folder / "url").write_text("https://corp.webhook.example/workflows/x/triggers/manual/paths/invoke?sig=abc")
        (folder / "url").chmod(0o600)
        token_file(folder)
        file = folder / "channels.toml"
        file.write_text("\n".join(["[[teams]]", 'name = "team"', 'url_file = "url"', *lines]))
        return file

    def test_it_takes_no_answers_unless_it_says_so(self, tmp_path: Path) -> None:
        (found,) = load_channels(self.write(tmp_path)).teams
        assert (found.token_file, found.approve, found.tenant) == (None, [], "")

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            (['approve = ["high"]', 'values = ["high"]'], "Input should be"),
            (['approve = ["critical"]'], "Input should be"),
            (['approve = ["low"]', 'values = ["low"]'], "approve takes token_file and tenant"),
            (['token_file = "teams.token"'], "token_file and tenant go together"),
            ([f'tenant = "{TENANT}"'], "token_file and tenant go together"),
            (['token_file = "teams.token"', 'tenant = "corp.example"'], "String should match"),
            (
                ['token_file = "teams.token"', f'tenant = "{TENANT}"', 'approve = ["low"]'],
                "put 'low' into values, too",
            ),
            (['token_file = "other"', f'tenant = "{TENANT}"'], "other cannot be read"),
            (['token_file = "url"', f'tenant = "{TENANT}"'], "holds no security token"),
            (['team = "x"'], "Extra inputs"),
        ],
    )
    def test_what_would_open_more_than_it_says_is_an_error(self, tmp_path: Path, lines: list[str], said: str) -> None:
        with pytest.raises(ChannelError) as caught:
            load_channels(self.write(tmp_path, *lines))
        assert said in str(caught.value)


class TestAnswers:
    def test_a_yes_to_a_small_risk_permits_exactly_this_call_and_accepts_no_data(self, here: Room) -> None:
        row = here.ask("low")
        assert here.say(f"{here.code(row)} it is ours") == "The call is approved, by reviewer:ann."
        found = here.queue.get(row.id)
        assert (found.state, found.note, found.decided_by) == (State.APPROVED, "it is ours", "reviewer:ann")
        assert here.queue.grant(row.id) is not None
        assert here.queue.endorsements("t") == []
        (vote,) = here.queue.standing(row.id).votes
        assert (vote.reviewer, vote.endorse) == ("ann", False)
        assert verify(here.queue.store).ok

    def test_a_no_is_taken_for_every_risk(self, here: Room) -> None:
        for tier in ("low", "medium", "high", "critical"):
            row = here.ask(tier, note=tier)
            assert here.say(here.code(row, "reject")) == "The call is rejected, by reviewer:ann."

    def test_others_are_called_once_and_the_call_waits(self, here: Room) -> None:
        row = here.ask("critical")
        assert here.say(here.code(row, "escalate")) == "Others were told: ben."
        later = here.notices(row)[-1]
        assert (later.kind, later.who) == ("escalated", ("ben",))
        conforms(card_of(teams_body(later, here.channel, ORIGIN, KEY)))
        assert here.say(here.code(row, "escalate"), who="ben").startswith("Not done: others were called")
        assert here.queue.get(row.id).state is State.PENDING
        assert verify(here.queue.store).ok

    @pytest.mark.parametrize("words", ["", "approve", "yes", "approve-12345678", "please look at this {code}"])
    def test_what_is_no_code_does_nothing_and_says_how(self, here: Room, words: str) -> None:
        row = here.ask()
        said = here.say(words.replace("{code}", here.code(row)))
        assert said.startswith("Nothing was done.")
        assert here.queue.get(row.id).state is State.PENDING

    def test_html_of_the_client_is_read_as_its_words(self, here: Room) -> None:
        row = here.ask()
        text = f"<p><at id='0'>Checkvalve</at> <b>{here.code(row)}</b>&nbsp;fine &amp; good</p>"
        assert here.say("", text=text).startswith("The call is approved")
        assert here.queue.get(row.id).note == "fine & good"

    def test_a_link_is_on_the_persons_account_and_goes_with_it(self, here: Room) -> None:
        (mine,) = Identities(here.queue.reviewers).of("ann")
        assert (mine.issuer, mine.subject) == (f"teams:{TENANT}", USERS["ann"])
        row = here.ask()
        here.queue.reviewers.disable("ben", by=here.ann)
        assert here.say(here.code(row), who="ben").startswith("Not done: this account is disabled")
        assert here.say(here.code(row), who="eve").startswith("Not done: this account of Teams belongs to no reviewer")
        assert here.queue.get(row.id).state is State.PENDING

    def test_a_code_that_links_is_good_once_and_for_five_minutes(self, here: Room) -> None:
        here.clock.advance(minutes=1)
        old = teams_people.new_code(KEY, "team", here.ben, here.clock())
        here.clock.advance(minutes=6)
        assert here.say(old, who="eve").startswith("Not done: this takes a fresh proof")
        code = teams_people.new_code(KEY, "team", here.ben, here.clock())
        assert here.say(f"{code[:-1]}{'a' if code[-1] != 'a' else 'b'}", who="eve").startswith("Not done: this code")
        assert here.say(code, who="ann").startswith("Not done: this identity opens an account already")
        assert here.say(code, who="eve").startswith("Not done: this code is not good, or was used")
        other = code.replace(here.ben.selector, here.ann.selector)
        assert here.say(other, who="eve").startswith("Not done: this code")

    def test_a_channel_without_answers_has_no_door(self, tmp_path: Path) -> None:
        with room(tmp_path) as found:
            found.answers._channels.clear()
            assert found.refused(found.message("hello")) == "not_signed"
