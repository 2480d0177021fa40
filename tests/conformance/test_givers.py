"""What was given ahead of time counts while whoever gave it still may, on every database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.identities import Identities, Identity
from checkvalve.approvals.kinds import join, make_program
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.pin_record import note
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.revoking import revoke
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers as reviewer_rows
from checkvalve.approvals.verdicts import Deny
from checkvalve.approvals.verify import verify
from checkvalve.filters.labels import user_label
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, MAIL, REVIEW, HandClock, decided
from tests.conformance.test_asked_by import ISSUER
from tests.conformance.test_pins_store import FIRST, OTHER
from tests.conformance.test_statement_counts import sent
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")
GONE = (State.INVALIDATED, "withdrawn")


@pytest.fixture
def at(store: Store, clock: HandClock) -> Panel:
    return Panel(store, clock, "{}")


def run(at: Panel, row: Proposal) -> tuple[State, str]:
    """Let a call run; its effect happened exactly where it succeeded."""
    done = list[str]()
    found = Executor(at.queue, wait=timedelta()).run(row.id, lambda args, key: done.append(key)).proposal
    assert bool(done) == (found.state is State.SUCCEEDED)
    return found.state, "" if done else found.code


def accepted(at: Panel) -> Use:
    """Let ann accept data with a call that ran; return what a further call relies on."""
    row = at.desk.propose()
    at.yes(row, at.add("ann"))
    assert run(at, row)[0] is State.SUCCEEDED
    (given,) = at.queue.endorsements("t")
    return Use("endorsement", given.id)


def scoped(at: Panel) -> None:
    at.queue.reviewers.set_roles("ann", [Role.APPROVER], by=at.boss, scope=Scope(tools=("pay",)))


LOSSES: dict[str, Callable[[Panel], object]] = {
    "disabled": lambda at: at.queue.reviewers.disable("ann", by=at.boss),
    "other role": lambda at: at.queue.reviewers.set_roles("ann", [Role.VIEWER], by=at.boss),
    "other scope": scoped,
    "a program": lambda at: make_program(at.queue.reviewers, "ann", owner="bob", by=at.boss),
}


def joined(at: Panel) -> None:
    at.add("bob")
    join(at.queue.reviewers, "ann", person="bob", by=at.boss)


@pytest.mark.parametrize("loss", [*LOSSES, "who asked"])
def test_accepted_data_counts_while_its_giver_may(at: Panel, loss: str) -> None:
    use = accepted(at)
    assert run(at, at.desk.use(use))[0] is State.SUCCEEDED
    waiting = at.desk.use(use)
    {**LOSSES, "who asked": joined}[loss](at)
    assert at.queue.endorsements("t") == [], "the next call is asked about"
    assert run(at, waiting) == GONE
    assert verify(at.store).ok


@pytest.mark.parametrize("loss", LOSSES)
def test_a_mandate_counts_while_its_granter_may(at: Panel, loss: str) -> None:
    at.desk.reviewer = at.add("ann")
    given = at.desk.grant(max_calls=5)
    assert run(at, at.desk.use(Use("mandate", given.id, "10")))[0] is State.SUCCEEDED
    waiting = at.desk.use(Use("mandate", given.id, "10"))
    LOSSES[loss](at)
    assert at.queue.mandates.in_force("t", "bob") == []
    assert run(at, waiting) == GONE
    assert verify(at.store).ok


def test_a_right_that_came_back_counts_again(at: Panel) -> None:
    use = accepted(at)
    LOSSES["other role"](at)
    at.queue.reviewers.set_roles("ann", [Role.APPROVER], by=at.boss)
    assert at.queue.endorsements("t") == [MAIL]
    assert run(at, at.desk.use(use))[0] is State.SUCCEEDED


def test_a_mandate_of_the_host_rests_on_no_account(at: Panel) -> None:
    mandate = Mandate(source="read_mail", tool="send", roles=("target",))
    (given,) = at.queue.mandates.grant([mandate], thread="t", requester="bob", by="host:bob")
    at.add("bob")
    at.queue.reviewers.disable("bob", by=at.boss)
    assert [one.id for one in at.queue.mandates.in_force("t", "bob")] == [given.id]
    assert run(at, at.desk.use(Use("mandate", given.id)))[0] is State.SUCCEEDED


def test_what_is_left_of_a_quorum_does_not_accept(store: Store, clock: HandClock) -> None:
    at = Panel(store, clock, TWO)
    row = at.desk.propose()
    for name in ("ann", "ben"):
        at.yes(row, at.add(name))
    assert at.queue.endorsements("t") == [MAIL]
    at.queue.reviewers.disable("ben", by=at.boss)
    assert at.queue.endorsements("t") == []


def test_somebody_else_accepts_the_same_data_anew(at: Panel) -> None:
    accepted(at)
    LOSSES["disabled"](at)
    at.yes(at.desk.propose(), at.add("cem"))
    assert at.queue.endorsements("t") == [MAIL]
    assert len(at.queue.endorsed.list(thread="t")) == 2
    assert verify(at.store).ok


def test_an_account_that_was_enabled_by_hand_stops_the_call(at: Panel) -> None:
    use = accepted(at)
    LOSSES["disabled"](at)
    with at.store.write() as connection:
        connection.execute(sa.update(reviewer_rows).where(reviewer_rows.c.name == "ann").values(disabled_at=None))
    waiting = at.desk.use(use)
    with pytest.raises(StoreCorruptError, match="not what the events say"):
        run(at, waiting)
    assert at.queue.get(waiting.id).state is State.APPROVED


def accepted_by_who_asked(at: Panel) -> tuple[Use, Identities, Proof]:
    """Let ann accept data with a call of zoe@corp.example, and then turn out to be called so elsewhere."""
    ann, row = at.add("ann"), at.desk.propose(request=at.desk.request(requester="zoe@corp.example"))
    at.yes(row, ann)
    (given,) = at.queue.endorsed.list(thread="t")
    linked, proof = Identities(at.queue.reviewers), Proof(ann, "token", at.clock())
    linked.link(ann, Identity(ISSUER, "u-18", "zoe@corp.example"), proof)
    assert at.queue.endorsements("t") == []
    return Use("endorsement", given.id), linked, proof


def test_a_name_of_who_accepted_that_was_taken_out_by_hand_stops_the_call(at: Panel) -> None:
    """Without her name of the provider ann would not have asked for the call that she accepted the data with."""
    use, _, _ = accepted_by_who_asked(at)
    with at.store.write() as connection:
        connection.execute(sa.delete(identities))
    assert at.queue.endorsements("t") == [MAIL], "deciding looks at rows alone"
    waiting = at.desk.use(use)
    with pytest.raises(StoreCorruptError, match="not what"):
        run(at, waiting)
    assert at.queue.get(waiting.id).state is State.APPROVED


OUT_OF_SIGHT: dict[str, sa.Update | sa.Delete] = {
    "nobody's further account": sa.update(reviewer_rows).where(reviewer_rows.c.name == "phone").values(person=""),
    "another's": sa.update(reviewer_rows).where(reviewer_rows.c.name == "phone").values(person="bob"),
    "no account": sa.delete(reviewer_rows).where(reviewer_rows.c.name == "phone"),
}


@pytest.mark.parametrize("edit", OUT_OF_SIGHT)
def test_an_account_that_asked_and_was_edited_by_hand_stops_the_call(at: Panel, edit: str) -> None:
    """Nothing of hers was touched: it is the row of who asked that says whose call she accepted the data with."""
    ann, row = at.add("ann"), at.desk.propose(request=at.desk.request(requester="phone"))
    at.add("phone")
    at.yes(row, ann)
    (given,) = at.queue.endorsements("t")
    join(at.queue.reviewers, "phone", person="ann", by=at.boss)
    assert at.queue.endorsements("t") == [], "she asked for it herself"
    with at.store.write() as connection:
        connection.execute(OUT_OF_SIGHT[edit])
    assert at.queue.endorsements("t") == [given], "deciding looks at rows alone"
    waiting = at.desk.use(Use("endorsement", given.id))
    with pytest.raises(StoreCorruptError):
        run(at, waiting)
    assert at.queue.get(waiting.id).state is State.APPROVED


def test_a_name_of_who_accepted_stays_theirs_where_another_took_its_place(at: Panel) -> None:
    use, linked, proof = accepted_by_who_asked(at)
    linked.remove(proof.reviewer, ISSUER, "u-18", proof)
    linked.link(proof.reviewer, Identity(ISSUER, "u-18", "ann@corp.example"), proof)
    assert run(at, at.desk.use(use)) == GONE
    assert verify(at.store).ok


def test_what_it_costs(at: Panel) -> None:
    """Nothing where nothing was given; where something was, the accounts are read once, whoever gave how much."""
    with sent(at.store) as found:
        assert at.queue.endorsements("t") == []
        assert at.queue.mandates.in_force("t", "bob") == []
    assert not any("FROM reviewers" in one for one in found)
    accepted(at)
    with sent(at.store) as found:
        assert at.queue.endorsements("t") == [MAIL]
    assert sum("FROM reviewers" in one for one in found) == 1


def test_what_a_void_yes_accepted_ends_with_it(at: Panel) -> None:
    row = at.desk.propose()
    at.yes(row, at.add("ann"))
    assert at.queue.endorsements("t") == [MAIL]
    outcome = Executor(at.queue, wait=timedelta()).run(
        row.id, lambda args, key: "sent", revalidate=lambda: Deny("x", "x", "y")
    )
    assert (outcome.state, outcome.proposal.code) == (State.INVALIDATED, "revalidation")
    assert at.queue.endorsements("t") == []
    assert verify(at.store).ok


def test_a_yes_to_something_pinned_accepts_nothing_beside_the_call(at: Panel) -> None:
    row = at.queue.propose(at.desk.request(), replace(decided(REVIEW, [MAIL]), pins=("path",)))
    assert row.endorsable == []
    note(at.queue, row, FIRST)
    at.yes(row, at.add("ann"))
    assert at.queue.endorsements("t") == []
    outcome = Executor(at.queue).run(row.id, lambda args, key: "sent", pinned=OTHER)
    assert outcome.proposal.code == "pin_changed"


def say(at: Panel, authority: str) -> None:
    words: dict[str, JSON] = {"text": "send it after all", "authority": authority, "uri": ""}
    SqlContentStore(at.store, at.clock).append_item("t", f"said {authority}", "words", words, user_label())


@pytest.mark.parametrize("how", ["revoked", "rejected"])
def test_what_a_person_refused_does_not_run_because_something_allows_it(at: Panel, how: str) -> None:
    row = at.desk.propose(ALLOW if how == "revoked" else REVIEW)
    if how == "revoked":
        revoke(at.queue, row.id, at.boss, "do not send this")
    else:
        at.queue.reject(row.id, at.boss, "never")
    at.clock.advance(seconds=1)
    given = at.desk.grant(max_calls=5)
    for again in (at.desk.propose(ALLOW), at.desk.use(Use("mandate", given.id, "10"))):
        assert (again.digest, again.state, again.rule) == (row.digest, State.DENIED, "refused-before")
        assert row.id in again.remedy
        assert run(at, again)[0] is State.DENIED
    assert at.queue.mandates.in_force("t", "bob")[0].calls_left == 5, "what never runs uses nothing up"
    say(at, "NONE")
    assert at.desk.propose(ALLOW).state is State.DENIED
    say(at, "USER")
    assert run(at, at.desk.propose(ALLOW))[0] is State.SUCCEEDED
    assert verify(at.store).ok
