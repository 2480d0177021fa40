"""Redaction and reveals over a store: whose secrets are looked for, who may look, and what the log says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from checkvalve.approvals import audit, searching
from checkvalve.approvals.audit import Event, read_events
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.edits import edit
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import NotFoundError, RoleNeededError, StoreCorruptError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reveals import REVEALED, may_reveal, reveal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import EARLIER, Role, Scope
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.veiled import MARK
from checkvalve.approvals.verify import verify
from checkvalve.filters.secrets.registered import Registered
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_interrupts import interrupt_of
from checkvalve.gateway.shown_edits import exact
from tests.approvals.made import REVIEW, Desk, decided, people

PASSWORD = "grey-Otter-42"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # the form of a vendor, and no key
ROLES = {"site": "target", "password": "credential", "note": "content"}
REPORTED = tuple(ArgumentReport(name, role, "text", sufficient=True, origins=()) for name, role in ROLES.items())
pytestmark = pytest.mark.claim("C5", "C8")


def ask(desk: Desk, call: str = "c1", thread: str = "t", tool: str = "login", **args: str) -> Proposal:
    given = {"site": "https://bank.example", "password": PASSWORD, "note": "Hello", **args}
    request = ActionRequest.build(tool, given, thread=thread, call_id=call, requester="bob")
    return desk.queue.propose(request, replace(decided(REVIEW), arguments=REPORTED))


def person(desk: Desk, name: str, *roles: Role, scope: Scope | None = None) -> Reviewer:
    token = desk.queue.reviewers.add(name, by=desk.reviewer, roles=roles or None, scope=scope or Scope())
    return desk.queue.reviewers.authenticate(token)


def events(desk: Desk, row: Proposal) -> list[Event]:
    with desk.queue.store.read() as connection:
        return [event for event in read_events(connection, subject=row.id) if event.kind == REVEALED]


def test_a_reveal_is_in_the_log_and_shows_everything(desk: Desk) -> None:
    row = ask(desk)
    assert MARK.fullmatch(str(desk.queue.veiling.seen(row).args()["password"]))
    assert reveal(desk.queue, row.id, desk.reviewer, channel="cli").args()["password"] == PASSWORD
    (event,) = events(desk, row)
    assert json.loads(event.body) == {
        "by": "reviewer:ann", "channel": "cli", "digest": row.digest, "paths": ["password"],
    }  # fmt: skip
    reveal(desk.queue, row.id, desk.reviewer, channel="web")  # each look is one of its own
    assert len(events(desk, row)) == 2
    assert verify(desk.queue.store).ok
    assert desk.queue.get(row.id).state is State.PENDING


def test_a_look_that_cannot_be_recorded_shows_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ask(desk)

    def fails(*_: object, **__: object) -> None:
        raise StoreCorruptError("the disk is full", remedy="")

    monkeypatch.setattr(audit, "append", fails)
    with pytest.raises(StoreCorruptError):
        reveal(desk.queue, row.id, desk.reviewer, channel="cli")


def test_who_may_not_is_told_who_may_and_nothing_is_recorded(desk: Desk) -> None:
    row = ask(desk)
    ben = person(desk, "ben", Role.APPROVER, Role.AUDITOR)
    with pytest.raises(RoleNeededError, match=r"takes the role revealer for this call; ben is .*who could: ann"):
        reveal(desk.queue, row.id, ben, channel="cli")
    assert (may_reveal(desk.queue, row, ben), may_reveal(desk.queue, row, desk.reviewer)) == (False, True)
    assert events(desk, row) == []
    assert PASSWORD not in str(desk.queue.veiling.seen(row).to_json())


def test_the_right_holds_in_its_scope(desk: Desk) -> None:
    row, other = ask(desk), ask(desk, "c2", tool="other")
    eve = person(desk, "eve", Role.REVEALER, scope=Scope(tools=("login",)))
    assert reveal(desk.queue, row.id, eve, channel="rest").args()["password"] == PASSWORD
    with pytest.raises(RoleNeededError):
        reveal(desk.queue, other.id, eve, channel="rest")


def test_roles_given_before_this_role_existed_do_not_have_it(desk: Desk) -> None:
    assert Role.REVEALER in EARLIER  # who has no list of roles may, as such people always could
    assert not may_reveal(desk.queue, ask(desk), person(desk, "ben", Role.APPROVER))


def test_a_disabled_reviewer_reveals_nothing(desk: Desk) -> None:
    row, ben = ask(desk), person(desk, "ben")
    assert may_reveal(desk.queue, row, ben)
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    with pytest.raises(RoleNeededError):
        reveal(desk.queue, row.id, ben, channel="web")


def test_the_one_of_a_single_user_setting_may_and_is_recorded(desk: Desk) -> None:
    queue = Queue(desk.queue.store, desk.clock, single_user=True)
    people(queue)
    row = ask(desk)
    assert reveal(queue, row.id, desk.reviewer, channel="cli").args()["password"] == PASSWORD
    assert len(events(desk, row)) == 1


def test_there_is_nothing_to_reveal_of_a_call_that_is_none(desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        reveal(desk.queue, "0" * 36, desk.reviewer, channel="cli")


def test_a_call_that_was_changed_beside_the_log_is_not_revealed(desk: Desk) -> None:
    row = ask(desk)
    with desk.queue.store.write() as connection:
        connection.execute(proposals.update().where(proposals.c.id == row.id).values(canonical=b"{}"))
    with pytest.raises(StoreCorruptError):
        reveal(desk.queue, row.id, desk.reviewer, channel="cli")


def test_the_secrets_of_a_task_are_found_in_all_its_calls_and_of_no_other_task(desk: Desk) -> None:
    ask(desk)
    with_it, elsewhere = ask(desk, "c2", password="x1", note=f"so {PASSWORD}"), ask(desk, "c3", "u", password="x1")
    assert PASSWORD not in str(desk.queue.veiling.seen(with_it).args())
    other = ask(desk, "c4", "u", password="x1", note=f"so {PASSWORD}")
    assert PASSWORD in str(desk.queue.veiling.seen(other).args())
    table = desk.queue.veiling.together([with_it, elsewhere, other])
    assert PASSWORD not in str([row.args() for row in table])


def test_what_one_task_of_a_conversation_declares_is_found_in_those_beside_it(desk: Desk) -> None:
    ask(desk)  # in the thread t
    beside = ask(desk, "c2", "t~2", password="x1", note=f"so {PASSWORD}")
    later = ask(desk, "c3", "t~3", password="other-horse-7", note="all is well")
    back = ask(desk, "c4", "t", password="x1", note="so other-horse-7")
    assert PASSWORD not in str(desk.queue.veiling.seen(beside).args())
    assert "other-horse-7" not in str(desk.queue.veiling.seen(back).args())
    assert "all is well" in str(desk.queue.veiling.seen(later).args())


def test_marks_are_the_same_in_every_process_and_differ_from_task_to_task(desk: Desk) -> None:
    row, other = ask(desk), ask(desk, "c2", "u")
    mark = desk.queue.veiling.seen(row).args()["password"]
    again = Queue(desk.queue.store, desk.clock)
    assert again.veiling.seen(row).args()["password"] == mark
    assert again.veiling.seen(other).args()["password"] != mark
    seen = again.veiling.seen(row)
    assert again.veiling.beside(seen, other).args()["password"] == mark  # side by side they can be compared


def test_registered_values_are_hidden(desk: Desk) -> None:
    desk.queue.veiling.registered = Registered([("registered", "Kestrel-8812-figures")])
    assert "Kestrel" not in str(desk.queue.veiling.seen(ask(desk, note="Kestrel-8812-figures")).args())


def test_a_damaged_call_of_a_task_keeps_nobody_from_the_others(desk: Desk) -> None:
    broken, row = ask(desk, password="x-Otter-9"), ask(desk, "c2")
    with desk.queue.store.write() as connection:
        connection.execute(proposals.update().where(proposals.c.id == broken.id).values(canonical=b"{}"))
    assert MARK.fullmatch(str(desk.queue.veiling.seen(row).args()["password"]))


def test_search_goes_by_what_is_shown_over_many_pages(desk: Desk) -> None:
    rows = [ask(desk, f"c{number}", f"t{number}", note="n") for number in range(3)]
    for row in rows:
        desk.queue.reject(row.id, desk.reviewer, "no", f"seen {PASSWORD}")
    assert searching.history(desk.queue, words="grey-Ot") == []
    assert len(searching.history(desk.queue, words="SEEN")) == 3
    assert len(searching.history(desk.queue)) == 3


def test_an_edit_keeps_a_secret_that_its_editor_was_not_shown(desk: Desk) -> None:
    row, ben = ask(desk), person(desk, "ben", Role.APPROVER, Role.RESPONDER)
    shown = desk.queue.veiling.seen(row).args()
    seen_by: list[dict[str, JSON]] = []

    def decide(_: Proposal, args: Mapping[str, JSON]) -> Decision:
        seen_by.append(dict(args))
        return replace(decided(REVIEW), arguments=REPORTED)

    made = edit(desk.queue, row.id, ben, row.digest, {**shown, "note": "Goodbye"}, decide)
    assert made.args() == {**row.args(), "note": "Goodbye"} == seen_by[0]  # decided on is what will run
    assert events(desk, made) == events(desk, row) == []
    foreign = exact(desk.queue.veiling.seen(made).args(), {**interrupted(desk, made), "note": "Hello again"})
    again = edit(desk.queue, made.id, ben, made.digest, foreign, decide)
    assert again.args() == {**row.args(), "note": "Hello again"}


def interrupted(desk: Desk, row: Proposal) -> dict[str, JSON]:
    """Return the arguments as a foreign interface is shown them."""
    return interrupt_of(desk.queue.veiling.seen(row)).value.action_requests[0].args


def test_an_erased_call_says_nothing_of_its_reveals_and_the_log_is_whole(desk: Desk) -> None:
    row = ask(desk)
    reveal(desk.queue, row.id, desk.reviewer, channel="web")
    desk.queue.reject(row.id, desk.reviewer, "no")
    with desk.queue.store.write() as connection:
        erase_call(connection, row.id, at=desk.clock(), by="ann", reason="asked to")
    assert all(event.is_erased for event in events(desk, row))
    reveal(desk.queue, row.id, desk.reviewer, channel="web")  # of what is gone there is nothing to see
    assert verify(desk.queue.store).ok


def test_a_path_in_the_log_holds_no_secret(desk: Desk) -> None:
    row = ask(desk, **{KEY: "a name that is a secret"})
    reveal(desk.queue, row.id, desk.reviewer, channel="web")
    (event,) = events(desk, row)
    assert KEY not in event.body
    assert MARK.search(str(json.loads(event.body)["paths"]))
