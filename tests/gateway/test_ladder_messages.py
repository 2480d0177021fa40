"""What channels are told by the clock and in an emergency: to whom, in which words, whatever their filters say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.notices import GLASS, Notice, notice_of
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rules_check import check
from checkvalve.approvals.store import Store
from checkvalve.gateway.channel_file import Mail, Slack, Webhook
from checkvalve.gateway.channel_messages import mail_of, slack_body, webhook_body
from checkvalve.gateway.http_approval_views import told
from checkvalve.gateway.ladder_keeper import LadderKeeper
from checkvalve.gateway.rules_said import say_rules
from checkvalve.gateway.step_channels import lost_channels
from tests.approvals.emergency import REASON, RULES, add, broken, busy
from tests.approvals.made import Desk, HandClock
from tests.waiting import until

ORIGIN = "https://gate.example"
HOOK = Webhook(name="oncall", url="https://h.example/", secret_file=Path("s"), events=["asked"], tiers=[Tier.LOW])
OTHER = HOOK.model_copy(update={"name": "other"})
CHAT = Slack(name="chat", url_file=Path("u"))
MAIL = Mail.model_validate({"name": "m", "host": "h", "to": ["ops@corp.example"], "from": "gate@corp.example"})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield busy(store, HandClock())


def notices(desk: Desk, row: Proposal) -> list[Notice]:
    with desk.queue.store.read() as connection:
        events = list(read_events(connection, subject=row.id))
    return [notice for event in events if (notice := notice_of(event, row)) is not None]


def climbed(desk: Desk) -> list[Notice]:
    """Ask, and let the whole time to decide go by."""
    add(desk, "ben", Role.APPROVER)
    row = desk.propose()
    for hours in (5, 3, 1):
        desk.clock.advance(hours=hours)
        Ladder(desk.queue).tick()
    return notices(desk, row)


def test_a_step_reaches_the_channel_that_it_names_whatever_its_filters_say(desk: Desk) -> None:
    found = climbed(desk)
    assert [notice.kind for notice in found] == ["asked", "reminder", "reminder", "escalated"]
    assert [HOOK.wants(notice) for notice in found] == [False, False, False, True]
    assert not any(OTHER.wants(notice) for notice in found)
    assert all(CHAT.wants(notice) and MAIL.wants(notice) for notice in found)


def test_a_broken_glass_reaches_every_channel_and_tells_no_reason(desk: Desk) -> None:
    row = desk.propose()
    broken(desk, add(desk, "eve", Role.BREAKER), row)
    (notice,) = (notice for notice in notices(desk, row) if notice.kind == GLASS)
    assert HOOK.wants(notice)
    assert OTHER.wants(notice)
    data = json.loads(webhook_body(notice, HOOK, ORIGIN))["data"]
    assert (data["kind"], data["by"], data["state"]) == ("glass_broken", "breakglass:eve", "approved")
    for said in (webhook_body(notice, HOOK, ORIGIN).decode(), slack_body(notice, CHAT, ORIGIN).decode()):
        assert REASON not in said
    assert "glass" in mail_of(notice, MAIL, ORIGIN)["Subject"]


def test_messages_say_who_should_look_and_until_when(desk: Desk) -> None:
    reminder = climbed(desk)[1]
    text = mail_of(reminder, MAIL, ORIGIN).get_content()
    assert "who should look: ann, ben" in text
    assert "decide before: " in text
    assert json.loads(webhook_body(reminder, HOOK, ORIGIN))["data"]["who"] == ["ann", "ben"]
    assert "ann, ben" in slack_body(reminder, CHAT, ORIGIN).decode()
    assert told(reminder)["state"] == "pending"


@pytest.mark.claim("C8")
def test_messages_say_who_is_on_call_who_cannot_approve_and_why_a_step_came_early(tmp_path: Path) -> None:
    rules = "everywhere: {decide_within: 10h, escalate: [{after: 0.5, to: ['oncall:night']}, {after: 0.9, to: [dora]}]}"
    with Store.open(f"sqlite:///{tmp_path}/oncall.db") as store:
        desk = busy(store, HandClock(), rules=rules)
        desk.queue.oncall.add("night", lambda name, at: ["<!channel> @eve"])
        row = desk.propose()
        desk.clock.advance(hours=5)
        Ladder(desk.queue).tick()
        first, second = notices(desk, row)[-2:]
        name = "\u27e8U+003C\u27e9\u27e8U+0021\u27e9channel\u27e8U+003E\u27e9 \u27e8U+0040\u27e9eve"
        text = mail_of(first, MAIL, ORIGIN).get_content()
        assert f"on call: night: {name}" in text
        assert f"CANNOT APPROVE: {name}: has no account here" in text
        assert "told before its time, since" in slack_body(second, CHAT, ORIGIN).decode()
        data = json.loads(webhook_body(second, HOOK, ORIGIN))["data"]
        assert [item["what"] for item in data["escalation"]] == ["told before its time, since"]
        for notice in (first, second):
            for said in (
                webhook_body(notice, HOOK, ORIGIN).decode(),
                slack_body(notice, CHAT, ORIGIN).decode(),
                mail_of(notice, MAIL, ORIGIN).get_content(),
            ):
                assert "<!" not in said
                assert "@eve" not in said


@pytest.mark.claim("C8")
def test_a_name_that_is_markup_is_inert_in_every_message(desk: Desk) -> None:
    add(desk, "<!channel> @here *ben*", Role.APPROVER)
    row = desk.propose()
    desk.clock.advance(hours=5)
    Ladder(desk.queue).tick()
    reminder = notices(desk, row)[-1]
    for said in (
        webhook_body(reminder, HOOK, ORIGIN).decode(),
        slack_body(reminder, CHAT, ORIGIN).decode(),
        mail_of(reminder, MAIL, ORIGIN).get_content(),
    ):
        assert "<!" not in said
        assert "@here" not in said
        assert "*ben*" not in said


def test_the_keeper_climbs_in_the_background_and_goes_on_after_a_fault(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(desk, "ben", Role.APPROVER)
    row = desk.propose()
    keeper = LadderKeeper(desk.queue, every=0.01)
    plain, failures = desk.queue.sweep, iter([OSError("no disk"), OSError("no disk")])

    def shaky() -> int:
        if (error := next(failures, None)) is not None:
            raise error
        return plain()

    monkeypatch.setattr(desk.queue, "sweep", shaky)
    desk.clock.advance(hours=5)
    keeper.start()
    try:
        until(lambda: len(notices(desk, row)) >= 2)
        desk.clock.advance(hours=5)
        until(lambda: desk.queue.get(row.id).state is not State.PENDING)
    finally:
        keeper.stop()
    assert [notice.kind for notice in notices(desk, row)][:2] == ["asked", "reminder"]


def test_two_keepers_and_a_channel_tell_each_thing_once(desk: Desk) -> None:
    box = Outbox(desk.queue.store, desk.clock)
    box.collect("ops", lambda notice: True)
    add(desk, "ben", Role.APPROVER)
    row: Any = desk.propose()
    keepers = [LadderKeeper(desk.queue, every=0.01) for _ in range(2)]
    desk.clock.advance(hours=5)
    for keeper in keepers:
        keeper.start()
    try:
        until(lambda: len(notices(desk, row)) >= 2)
    finally:
        for keeper in keepers:
            keeper.stop()
    assert [notice.kind for notice in box.after(0)[0]] == ["asked", "reminder"]


def test_a_channel_that_a_step_names_and_that_is_not_there_is_said_at_the_start(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "url").write_text("https://h.example/hook")
    (tmp_path / "url").chmod(0o600)
    file = tmp_path / "channels.toml"
    file.write_text('[[slack]]\nname = "other"\nurl_file = "url"\n')
    assert lost_channels(desk.queue.rules, None) == lost_channels(desk.queue.rules, file) == ["oncall"]
    assert "channel:oncall" not in str(check(desk.queue.rules, desk.queue.reviewers.accounts()))
    say_rules(desk.queue, file)
    assert "channel:oncall is to be told, and is in no file of channels" in capsys.readouterr().err
    file.write_text('[[slack]]\nname = "oncall"\nurl_file = "url"\n')
    assert lost_channels(desk.queue.rules, file) == []
    assert lost_channels(parse_review_rules("{}", "rules.yaml"), None) == []


def test_a_person_is_found_under_any_spelling_of_the_name(tmp_path: Path) -> None:
    rules = RULES.replace("cem", "Cem Öz")
    with Store.open(f"sqlite:///{tmp_path}/names.db") as store:
        desk = busy(store, HandClock(), rules=rules)
        add(desk, "cem oz", Role.VIEWER)
        add(desk, "ben", Role.APPROVER)
        row = desk.propose()
        desk.clock.advance(hours=9, minutes=30)
        Ladder(desk.queue).tick()
        assert notices(desk, row)[-1].who == ("ann", "cem oz")
