from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    DigestError,
    NotAllowedError,
    NotFoundError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.intake import MAX_OPEN_PER_THREAD
from checkvalve.approvals.records import MOVES, Proposal, State, may_move
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import grants, proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Verdict
from tests.approvals.made import ALLOW, DENY, MAIL, REVIEW, Desk, HandClock, decided


def events_of(desk: Desk, proposal_id: str) -> list[tuple[str, dict[str, object]]]:
    with desk.queue.store.read() as connection:
        return [(event.kind, json.loads(event.body)) for event in audit.read_events(connection, subject=proposal_id)]


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("verdict", "state", "issuer"),
    [(ALLOW, State.APPROVED, "rule:all-values-known"), (REVIEW, State.PENDING, None), (DENY, State.DENIED, None)],
    ids=["allow", "review", "deny"],
)
def test_a_verdict_decides_the_first_state_and_who_permits(
    desk: Desk, verdict: Verdict, state: State, issuer: str | None
) -> None:
    proposal = desk.propose(verdict)
    assert (proposal.state, proposal.verdict) == (state, verdict)
    grant = desk.queue.grant(proposal.id)
    assert (grant.issued_by if grant else None) == issuer
    kinds = [kind for kind, _ in events_of(desk, proposal.id)]
    assert kinds == ["proposal.recorded"] + (["grant.issued"] if issuer else [])


@pytest.mark.claim("C5")
def test_the_log_has_identities_and_no_values(desk: Desk) -> None:
    proposal = desk.propose()
    desk.approve(proposal)
    text = json.dumps(events_of(desk, proposal.id))
    assert MAIL.value not in text
    assert proposal.digest in text
    assert "sha256:" + "1" * 64 in text


def test_proposing_again_returns_the_stored_row_and_the_stored_verdict(desk: Desk) -> None:
    request = desk.request(call_id="same")
    first = desk.propose(REVIEW, request=request)
    again = desk.propose(ALLOW, request=request)
    assert again == first
    assert len(events_of(desk, first.id)) == 1
    assert desk.queue.grant(first.id) is None


def test_equal_calls_of_another_thread_or_call_are_other_proposals(desk: Desk) -> None:
    ids = {desk.propose(request=desk.request(thread=thread, call_id=call)).id for thread in "ab" for call in "cd"}
    assert len(ids) == 4


@pytest.mark.claim("C4")
@pytest.mark.parametrize(("verdict", "end"), [(REVIEW, State.SUPERSEDED), (ALLOW, State.INVALIDATED)])
def test_changed_arguments_of_a_call_close_what_was_open(desk: Desk, verdict: Verdict, end: State) -> None:
    first = desk.propose(verdict, request=desk.request(call_id="c"))
    second = desk.propose(request=desk.request(call_id="c", to="other@x.example"))
    assert second.id != first.id
    closed = desk.queue.get(first.id)
    assert (closed.state, closed.code) == (end, "arguments_changed")


def test_a_call_without_identity_is_refused(desk: Desk) -> None:
    with pytest.raises(QueueError, match="cannot be recorded"):
        desk.queue.propose(ActionRequest.build("send", {}), decided(ALLOW))


@pytest.mark.claim("C4")
def test_an_approval_gives_one_permit_for_the_shown_digest(desk: Desk) -> None:
    proposal = desk.propose()
    approved = desk.queue.approve(proposal.id, desk.reviewer, "SHA256:" + proposal.digest[7:13].upper(), note="fine")
    grant = desk.queue.grant(proposal.id)
    assert (approved.state, approved.decided_by, approved.note) == (State.APPROVED, "reviewer:ann", "fine")
    assert grant is not None
    assert (grant.issued_by, grant.digest, grant.used_at) == ("reviewer:ann", proposal.digest, None)
    assert desk.queue.get(proposal.id) == approved
    with pytest.raises(ConflictError, match=r"approved by ann since \d{4}"):
        desk.approve(proposal)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("prefix", ["", "12345", "zzzzzz", "sha256:", "000000000000", " "])
def test_a_digest_that_was_not_shown_approves_nothing(desk: Desk, prefix: str) -> None:
    proposal = desk.propose()
    with pytest.raises(DigestError):
        desk.queue.approve(proposal.id, desk.reviewer, prefix)
    assert desk.queue.get(proposal.id).state is State.PENDING


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    "requester",
    [
        "ann",
        "ANN",
        " Ann ",
        "\uff41nn",
        "an\u200bn",
        "ann\ufe0f",
        "a\u034fnn",
        "\u0430nn",  # a Cyrillic letter among Latin ones
        "\u00e0nn",
        "",
        " ",
        "\u200b",
        "\u3164",
        "\u2800",  # the blank pattern of Braille
    ],
)
def test_nobody_approves_what_they_asked_for(desk: Desk, requester: str) -> None:
    proposal = desk.propose(request=desk.request(requester=requester))
    with pytest.raises(NotAllowedError):
        desk.approve(proposal)
    assert desk.queue.get(proposal.id).state is State.PENDING
    assert desk.queue.reject(proposal.id, desk.reviewer).state is State.REJECTED  # saying no is always possible


@pytest.mark.claim("C4")
@pytest.mark.parametrize(("requester", "own"), [("ann", True), ("", True), ("bob", False)])
def test_a_single_user_may_approve_and_the_record_says_so(
    store: Store, clock: HandClock, requester: str, own: bool
) -> None:
    desk = Desk.at(store, clock, single_user=True)
    proposal = desk.propose(request=desk.request(requester=requester))
    assert desk.approve(proposal).self_approved is own
    bodies = dict(events_of(desk, proposal.id))
    assert bodies["proposal.approved"].get("self_approved", False) is own
    assert desk.queue.get(proposal.id).self_approved is own


def test_a_made_up_or_disabled_reviewer_decides_nothing(desk: Desk) -> None:
    proposal = desk.propose()
    for forged in (Reviewer("ann", "0" * 16), Reviewer("mallory", desk.reviewer.selector)):
        with pytest.raises(CredentialError):
            desk.queue.approve(proposal.id, forged, proposal.digest)
        with pytest.raises(CredentialError):
            desk.queue.reject(proposal.id, forged)
    ben = desk.queue.reviewers.authenticate(desk.queue.reviewers.add("ben", by=desk.reviewer))
    desk.queue.reviewers.disable("ann", by=ben)
    with pytest.raises(CredentialError):
        desk.approve(proposal)
    assert desk.queue.get(proposal.id).state is State.PENDING


def test_a_rejection_keeps_code_and_words(desk: Desk) -> None:
    proposal = desk.propose()
    rejected = desk.queue.reject(proposal.id, desk.reviewer, "wrong_person", "not our supplier")
    assert (rejected.state, rejected.code, rejected.note) == (State.REJECTED, "wrong_person", "not our supplier")
    with pytest.raises(ConflictError, match="rejected by ann"):
        desk.approve(proposal)


@pytest.mark.claim("C4")
def test_the_first_of_two_decisions_wins(desk: Desk) -> None:
    for number in range(5):  # each of a task of its own: what was refused is not asked again
        proposal = desk.propose(request=desk.request(thread=f"t{number}"))

        def decide(yes: bool, proposal: Proposal = proposal) -> str:
            try:
                return (desk.approve(proposal) if yes else desk.queue.reject(proposal.id, desk.reviewer)).state
            except ConflictError:
                return "late"

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(decide, [True, False, True, False]))
        assert answers.count("late") == 3
        assert desk.queue.get(proposal.id).state in answers


@pytest.mark.claim("C4")
def test_two_clocks(desk: Desk, clock: HandClock) -> None:
    late, used = desk.propose(), desk.propose()
    clock.advance(hours=23)
    desk.approve(used)
    clock.advance(minutes=59)
    assert desk.queue.get(used.id).state is State.APPROVED
    clock.advance(minutes=1)
    with pytest.raises(ConflictError, match="expired by clock"):
        desk.approve(late)
    assert desk.queue.get(used.id).state is State.LAPSED
    assert [event for event, _ in events_of(desk, late.id)] == ["proposal.recorded", "proposal.expired"]


def test_listing_closes_what_is_overdue_and_filters(desk: Desk, clock: HandClock) -> None:
    old = desk.propose()
    clock.advance(hours=25)
    new = desk.propose(request=desk.request(thread="u"))
    assert [row.id for row in desk.queue.list([State.PENDING])] == [new.id]
    assert [row.state for row in desk.queue.list()] == [State.EXPIRED, State.PENDING]
    assert [row.id for row in desk.queue.list(thread="t")] == [old.id]
    assert desk.queue.sweep() == 0


def test_an_id_may_be_shortened_but_not_guessed(desk: Desk) -> None:
    proposal = desk.propose()
    assert desk.queue.find(proposal.id[:8].upper()) == proposal
    for prefix, error in (
        ("%%%%%%%%", NotFoundError),
        ("ffffffff-0000", NotFoundError),
        (proposal.id[:3], ConflictError),
        ("", ConflictError),
    ):
        with pytest.raises(error):
            desk.queue.find(prefix)


def test_an_open_question_can_be_taken_back(desk: Desk) -> None:
    ends: tuple[Literal[State.CANCELLED, State.SUPERSEDED], ...] = (State.CANCELLED, State.SUPERSEDED)
    for end in ends:
        proposal = desk.propose()
        closed = desk.queue.close(proposal.id, end, by="gateway", code="new_message")
        assert (closed.state, closed.code) == (end, "new_message")
        with pytest.raises(ConflictError):
            desk.approve(proposal)


def test_a_flood_of_questions_is_denied_and_can_be_worked_off(desk: Desk) -> None:
    first, *_ = [desk.propose() for _ in range(MAX_OPEN_PER_THREAD)]
    flooded = desk.propose()
    assert (flooded.state, flooded.reason) == (State.DENIED, "queue-flooded")
    assert desk.propose(ALLOW).state is State.APPROVED
    assert desk.propose(request=desk.request(thread="other")).state is State.PENDING
    desk.queue.reject(first.id, desk.reviewer)
    assert desk.propose().state is State.PENDING


@pytest.mark.claim("C3")
def test_a_yes_endorses_the_shown_data_for_this_thread_once(desk: Desk) -> None:
    first, second, third = desk.propose(), desk.propose(), desk.propose(request=desk.request(thread="u"))
    assert desk.queue.endorsements("t") == []
    desk.approve(first)
    desk.approve(second)
    desk.approve(third, endorse=False)
    assert desk.queue.endorsements("t") == [MAIL]
    assert isinstance(desk.queue.endorsements("t")[0], Endorsement)
    assert desk.queue.endorsements("u") == []
    kinds = [kind for proposal in (first, second, third) for kind, _ in events_of(desk, proposal.id)]
    assert kinds.count("endorsement.stored") == 1


@pytest.mark.parametrize("verdict", [ALLOW, REVIEW, DENY])
def test_observing_permits_everything_loudly_and_for_ever(desk: Desk, clock: HandClock, verdict: Verdict) -> None:
    proposal = desk.propose(verdict, observe=True)
    grant = desk.queue.grant(proposal.id)
    assert grant is not None
    assert (proposal.state, proposal.mode, proposal.verdict, grant.issued_by) == (
        State.APPROVED,
        "observe",
        verdict,
        "observe",
    )
    (_, recorded), (_, issued) = events_of(desk, proposal.id)
    assert recorded["mode"] == "observe"
    assert issued["enforced"] is False
    assert "OBSERVE MODE" in str(issued["notice"])
    clock.advance(days=400)
    assert desk.queue.get(proposal.id).state is State.APPROVED


def test_observing_has_no_flood_cap(desk: Desk) -> None:
    states = {desk.propose(observe=True).state for _ in range(MAX_OPEN_PER_THREAD + 2)}
    assert states == {State.APPROVED}


def test_the_table_of_moves_has_no_way_back() -> None:
    def reachable(start: State) -> set[State]:
        found: set[State] = set()
        while new := {end for state in found | {start} for end in MOVES.get(state, ())} - found:
            found |= new
        return found

    assert not [state for state in State if state in reachable(state)]
    back = [(start, end) for start in State for end in State if may_move(start, end, Idempotency.READ)]
    assert set(back) - {(s, e) for s, ends in MOVES.items() for e in ends} == {(State.UNKNOWN, State.EXECUTING)}
    again = {kind for kind in Idempotency if may_move(State.UNKNOWN, State.EXECUTING, kind)}
    assert again == {Idempotency.READ, Idempotency.KEY}


@pytest.mark.claim("C9")
def test_an_edited_row_is_noticed_when_it_is_used(desk: Desk) -> None:
    proposal = desk.propose(ALLOW)
    with desk.queue.store.write() as connection:
        row = sa.update(proposals).where(proposals.c.id == proposal.id)
        connection.execute(row.values(canonical=proposal.canonical.replace(b"eve@evil", b"bob@evil")))
    with pytest.raises(StoreCorruptError, match="was changed"):
        desk.queue.get(proposal.id).args()
    with desk.queue.store.write() as connection:
        connection.execute(row.values(state="approved!"))
    with pytest.raises(StoreCorruptError, match="cannot be read"):
        desk.queue.get(proposal.id)


def test_a_second_permit_cannot_be_stored(desk: Desk) -> None:
    proposal = desk.propose(ALLOW)
    again = sa.insert(grants).values(
        proposal_id=proposal.id, digest=proposal.digest, issued_by="x", issued_at=1, execute_by=2, used_at=None
    )
    with pytest.raises(sa.exc.IntegrityError), desk.queue.store.write() as connection:
        connection.execute(again)


@pytest.mark.parametrize("code", ["", "Bad Code!", "no\nway", "x" * 65, "1st", "nein\u202e"])
def test_a_code_of_a_no_is_a_word_that_programs_compare(desk: Desk, code: str) -> None:
    proposal = desk.propose()
    with pytest.raises(QueueError, match="a code is a word"):
        desk.queue.reject(proposal.id, desk.reviewer, code, "my own words")
    assert desk.queue.get(proposal.id).state is State.PENDING
