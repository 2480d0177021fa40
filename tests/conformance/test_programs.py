"""A program's credential decides nothing, in any way there is to decide; on every database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import deciding, remarks, seeds
from checkvalve.approvals.afterlooks import AfterLooks, Glass
from checkvalve.approvals.breakglass import break_glass
from checkvalve.approvals.calling import call_others
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import (
    AccountError,
    ApprovalError,
    CredentialError,
    NotAllowedError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.identities import Identities, Identity
from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.kinds import join, make_program
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.passwords import Passwords
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.responding import cancel_as, respond
from checkvalve.approvals.reveals import reveal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.sessions import Sessions
from checkvalve.approvals.snoozes import snooze
from checkvalve.approvals.standing_draft import TIGHT
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers as reviewer_rows
from checkvalve.approvals.verify import verify
from tests.approvals.made import QUICK, Desk, HandClock
from tests.approvals.rules_world import draft
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")

RULES = "everywhere: {break_glass: true}"
WHY = "Everything is down and nobody answers the phone"
Way = Callable[[Desk, Proposal, Reviewer], Any]


def handing(desk: Desk) -> Delegations:
    return Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)


def never(*_: object) -> Any:
    raise AssertionError("it was decided anew")


WAYS: dict[str, Way] = {
    "yes": lambda d, row, bot: d.queue.approve(row.id, bot, row.digest),
    "no": lambda d, row, bot: d.queue.reject(row.id, bot),
    "a text instead": lambda d, row, bot: respond(d.queue, row.id, bot, "it is done already"),
    "an edit": lambda d, row, bot: edit(d.queue, row.id, bot, row.digest, {"to": "b@x.example", "n": 1}, never),
    "how it ended": lambda d, row, bot: d.queue.settle(row.id, bot, done=True),
    "a question": lambda d, row, bot: remarks.ask(d.queue, row.id, bot, "what for?"),
    "a reply": lambda d, row, bot: remarks.reply(d.queue, row.id, bot, "for the report"),
    "putting off": lambda d, row, bot: snooze(d.queue, row.id, bot, d.clock() + 10**9),
    "calling others": lambda d, row, bot: call_others(d.queue, row.id, bot),
    "the glass": lambda d, row, bot: break_glass(d.queue, row.id, bot, row.digest, reason=WHY, step_up=None),
    "the look afterwards": lambda d, row, bot: AfterLooks(d.queue.store, d.clock, d.queue.reviewers).close(
        row.id, bot, "I have looked at all of it"
    ),
    "handing over": lambda d, _, bot: handing(d).give(bot, "ben", reason="on holiday", expires_at=d.clock() + 10**9),
    "taking over": lambda d, _, bot: handing(d).give(
        d.reviewer, bot.name, reason="on holiday", expires_at=d.clock() + 10**9
    ),
    "a mandate": lambda d, _, bot: d.queue.grant_mandate(
        Mandate("read_mail", "send", ("target",)), bot, thread="t", requester="bob"
    ),
    "taking back what is accepted": lambda d, _, bot: d.queue.revoke_endorsement("1", bot),
    "taking back a mandate": lambda d, _, bot: d.queue.revoke_mandate("m", bot),
    "letting a task go on": lambda d, _, bot: d.queue.let_go_on("t", bot, more=1),
    "taking back a standing rule": lambda d, _, bot: d.queue.standing_rules.revoke("r", bot),
    "a change of the rules": lambda d, _, bot: d.queue.rule_changes.propose(draft(d.queue.rule_changes), bot),
    "agreeing to the rules": lambda d, _, bot: d.queue.rule_changes.confirm("r", bot, "sha256:1"),
    "refusing rules": lambda d, _, bot: d.queue.rule_changes.refuse("r", bot),
    "what is redacted": lambda d, row, bot: reveal(d.queue, row.id, bot, channel="rest"),
    "consent to made-up items": lambda d, _, bot: seeds.agree(d.queue, bot),
    "adding somebody": lambda d, _, bot: d.queue.reviewers.add("new", by=bot),
    "roles": lambda d, _, bot: d.queue.reviewers.set_roles("ben", [Role.VIEWER], by=bot),
    "disabling": lambda d, _, bot: d.queue.reviewers.disable("ben", by=bot),
    "inviting": lambda d, _, bot: Invitations(d.queue.reviewers, Passwords(d.queue.store, d.clock, QUICK)).invite(
        "new", by=bot
    ),
    "making a program": lambda d, _, bot: make_program(d.queue.reviewers, "ben", owner="ben", by=bot),
    "joining accounts": lambda d, _, bot: join(d.queue.reviewers, "ben", person="boss", by=bot),
    "a session": lambda d, _, bot: Sessions(d.queue.store, d.clock, idle=60, absolute=600).start(
        Proof(bot, "token", d.clock())
    ),
    "a password": lambda d, _, bot: Passwords(d.queue.store, d.clock, QUICK).change(
        bot, "seven umbrellas sing at noon", Proof(bot, "token", d.clock())
    ),
    "an identity": lambda d, _, bot: Identities(d.queue.reviewers).link(
        bot, Identity("https://id.example", "u-9", ""), Proof(bot, "token", d.clock())
    ),
}


@pytest.fixture
def panel(store: Store, clock: HandClock) -> Panel:
    at = Panel(store, clock, RULES, glass=Glass(enabled=True))
    at.add("ben")
    return at


def program(at: Panel, name: str = "ci-bot", owner: str = "ann") -> Reviewer:
    return at.queue.reviewers.authenticate(at.queue.reviewers.add(name, by=at.boss, owner=owner))


def count(store: Store) -> int:
    with store.read() as connection:
        return int(connection.execute(sa.text("SELECT count(*) FROM events")).scalar_one())


def test_a_program_decides_in_no_way(panel: Panel) -> None:
    desk, bot = panel.desk, program(panel)
    once_a_person = panel.add("robot", *Role)
    make_program(panel.queue.reviewers, "robot", owner="", by=panel.boss)
    row = desk.propose()
    for who in (bot, once_a_person):
        for name, way in WAYS.items():
            before = count(panel.store)
            with pytest.raises((NotAllowedError, CredentialError)) as refused:
                way(desk, row, who)
            assert refused.value.cause is Cause.NOT_A_PERSON, (who.name, name, str(refused.value))
            assert count(panel.store) == before, name
    assert panel.queue.get(row.id).state is State.PENDING
    assert verify(panel.store).ok


def test_the_refusal_names_the_rule_the_program_and_its_owner(panel: Panel) -> None:
    row = panel.desk.propose()
    with pytest.raises(NotAllowedError, match="a program decides nothing: ci-bot is the account of one, owned by ann"):
        panel.yes(row, program(panel))
    bench = panel.queue.bench
    with panel.store.read() as connection:
        why = deciding.refusal(connection, bench, row, program(panel, "b2"), yes=False, at=panel.clock())
    assert why.startswith("a program decides nothing: b2")


def test_a_program_takes_back_what_it_asked_for_itself(panel: Panel) -> None:
    bot = program(panel)
    own = panel.desk.propose(request=panel.desk.request(requester="ci-bot"))
    assert cancel_as(panel.queue, own.id, bot).state is State.CANCELLED
    with pytest.raises(NotAllowedError):
        cancel_as(panel.queue, panel.desk.propose().id, bot)


def test_a_program_gets_no_role_and_no_way_in(panel: Panel) -> None:
    board = panel.queue.reviewers
    program(panel)
    for role in set(Role) - {Role.VIEWER}:
        with pytest.raises(QueueError, match="a program looks"):
            board.add(f"bot-{role}", by=panel.boss, roles=[role], owner="ann")
        with pytest.raises(QueueError, match="a program looks"):
            board.set_roles("ci-bot", [role], by=panel.boss)
    with pytest.raises(AccountError):
        Invitations(board, Passwords(panel.store, panel.clock, QUICK)).invite("ci-bot", by=panel.boss)
    assert board.set_roles("ci-bot", [Role.VIEWER], by=panel.boss).program
    boss, ben = panel.boss, board.authenticate(board.add("last", by=panel.boss, roles=[Role.ADMINISTRATOR]))
    for name in ("boss", "ben"):
        make_program(board, name, owner="ann", by=ben)
    with pytest.raises(QueueError, match="nobody would be left"):
        make_program(board, "last", owner="ann", by=ben)
    with pytest.raises(NotAllowedError, match="a program"):
        board.add("another", by=boss)


def test_a_yes_of_an_account_that_a_program_holds_counts_no_more(store: Store, clock: HandClock) -> None:
    at = Panel(store, clock, TWO)
    robot, ben, cem = (at.add(name) for name in ("robot", "ben", "cem"))
    row = at.desk.propose()
    at.yes(row, robot)
    make_program(at.queue.reviewers, "robot", owner="ann", by=at.boss)
    assert at.yes(row, ben).state is State.PENDING
    assert at.yes(row, cem).state is State.APPROVED
    assert verify(store).ok


def test_a_session_ends_when_a_program_turns_out_to_hold_the_account(panel: Panel) -> None:
    robot = panel.add("robot")
    sessions = Sessions(panel.store, panel.clock, idle=600, absolute=6_000)
    name = sessions.start(Proof(robot, "token", panel.clock()))
    assert sessions.find(name) is not None
    make_program(panel.queue.reviewers, "robot", owner="ann", by=panel.boss)
    assert sessions.find(name) is None


def test_a_program_that_was_made_a_person_by_hand_decides_nothing(panel: Panel) -> None:
    bot, row = program(panel), panel.desk.propose()
    for roles in ("", '{"roles":["approver"],"scope":{}}'):
        with panel.store.write() as connection:
            mine = sa.update(reviewer_rows).where(reviewer_rows.c.name == "ci-bot")
            connection.execute(mine.values(roles=roles))
        with pytest.raises(StoreCorruptError):
            panel.yes(row, bot)
    assert [one.code for one in verify(panel.store).findings] == ["row_differs"]


HAND_WRITTEN: dict[str, tuple[str, dict[str, str]]] = {
    "no program": ("ci-bot", {"roles": ""}),
    "more roles": ("ann", {"roles": '{"roles":["administrator","approver"],"scope":{}}'}),
    "somebody else's": ("ann-phone", {"person": "zed"}),
}
CHANGES: dict[str, Callable[[Panel, str], object]] = {
    "other roles": lambda at, name: at.queue.reviewers.set_roles(name, [Role.VIEWER], by=at.boss),
    "a program's": lambda at, name: make_program(at.queue.reviewers, name, owner="ben", by=at.boss),
    "joined": lambda at, name: join(at.queue.reviewers, name, person="ben", by=at.boss),
    "joined with": lambda at, name: join(at.queue.reviewers, "ben", person=name, by=at.boss),
}


def by_hand(at: Panel, written: str) -> str:
    """Write the row of an account by hand, beside the log; return its name."""
    program(at)
    at.add("ann", Role.VIEWER)
    at.add("ann-phone", person="ann")
    name, values = HAND_WRITTEN[written]
    with at.store.write() as connection:
        connection.execute(sa.update(reviewer_rows).where(reviewer_rows.c.name == name).values(**values))
    return name


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("written", HAND_WRITTEN)
def test_what_was_written_by_hand_gets_no_event_from_an_administrator(panel: Panel, written: str, change: str) -> None:
    """Who changes one thing of an account would have said all the rest of its row from then on."""
    name = by_hand(panel, written)
    with pytest.raises(StoreCorruptError):
        CHANGES[change](panel, name)
    assert [one.code for one in verify(panel.store).findings] == ["row_differs"]


def test_nor_does_a_further_account_of_somebody_who_is_joined(panel: Panel) -> None:
    by_hand(panel, "more roles")
    with pytest.raises(StoreCorruptError):
        join(panel.queue.reviewers, "ann-phone", person="ben", by=panel.boss)
    assert panel.queue.reviewers.account("ann-phone").person == "ann"


def test_a_vote_says_by_which_credential_it_came(store: Store, clock: HandClock) -> None:
    """A person's own token is a person: it counts, and the record says that it was a token."""
    at = Panel(store, clock, TWO)
    ann = at.add("ann")
    row = at.desk.propose()
    at.yes(row, ann)
    (said,) = at.queue.standing(row.id).votes
    assert (said.means, said.to_json()["means"]) == ("token", "token")
    assert at.events(row, "vote.cast")[0]["means"] == "token"
    with store.write() as connection:
        connection.execute(sa.text("UPDATE votes SET means = 'passkey'"))
    with pytest.raises(StoreCorruptError):
        at.yes(row, at.add("ben"))
    assert [one.code for one in verify(store).findings] == ["row_differs"]


def test_a_standing_rule_is_not_made_or_confirmed_by_a_program(panel: Panel) -> None:
    rules, bot, row = panel.queue.standing_rules, program(panel), panel.desk.propose()
    with pytest.raises(ApprovalError):
        rules.make(row.id, TIGHT, bot)
    assert rules.list() == []
