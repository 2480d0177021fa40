"""Erasing and removing what people said, on every database: words go, who decided stays, every proof still fits."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import afterlooks, remarks
from checkvalve.approvals.bundles import verify_bundle
from checkvalve.approvals.clock import micros
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.erased_words import GONE, erase_hand_over
from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.retention import prune
from checkvalve.approvals.review_tables import delegations, plans, standing_rules, undos, votes
from checkvalve.approvals.snoozes import snooze
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import content, events, history, metadata, proposals
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import Desk as Log
from tests.approvals.sealed import write
from tests.undo_world import Office

SECRETS = (
    "canaryquestion",
    "canaryanswer",
    "canarynote",
    "canaryreason",
    "canaryfinding",
    "canarytext",
    "canaryargument",
)


@pytest.fixture
def office(store: Store, tmp_path: Path) -> Office:
    office = Office(store, tmp_path)
    office.person()
    for name in ("zoe", "max"):
        office.person(name)
    return office


@pytest.fixture
def log(store: Store, tmp_path: Path) -> Log:
    return Log(store, tmp_path / "")


def everything(store: Store) -> str:
    """Return the text of every row of every table."""
    with store.read() as connection:
        return "\n".join(str(row) for table in metadata.sorted_tables for row in connection.execute(sa.select(table)))


def talked_about(office: Office) -> Proposal:
    """Return a call with everything that people can say of one, that ran and was undone."""
    ann, zoe = office.person(), office.person("zoe")
    office.notebook.write({"n1": {"title": "List", "text": "canarytext"}}, "begin")
    session_words = "update something"
    done = office.act("update_note", task=session_words, approve=False, id="n1", text="canaryargument").proposal
    assert done.state is State.PENDING, "nobody named the note"
    remarks.ask(office.queue, done.id, ann, "canaryquestion")
    remarks.answer(office.queue, done.id, "canaryanswer", means="client", name="bob")
    snooze(office.queue, done.id, zoe, office.clock() + micros(timedelta(hours=1)))
    with office.store.write() as connection:
        afterlooks.open_for(connection, done.id, by="max", at=office.clock(), reason="canaryreason, very long")
    office.queue.approve(done.id, ann, done.digest, endorse=False, note="canarynote")
    ended = office.again(done)
    assert ended.state is State.SUCCEEDED
    undo = office.undoing.ask(done.id, "carl", office.tools())
    office.approve(undo, "zoe")
    assert office.undoing.run(undo.id, office.tools()).state is State.SUCCEEDED
    return office.queue.get(done.id)


def looked_at(office: Office, done: Proposal) -> None:
    found = afterlooks.AfterLooks(office.queue.store, office.clock, office.queue.reviewers)
    found.close(done.id, office.person("zoe"), "canaryfinding, nothing wrong")


@pytest.mark.claim("C5")
def test_an_erased_call_leaves_no_word_of_anybody_and_every_proof(office: Office, log: Log) -> None:
    done = talked_about(office)
    with office.store.write() as connection, pytest.raises(ConflictError, match="nobody has looked at it since"):
        erase_call(connection, done.id, at=office.clock(), by="ann", reason="asked to")
    looked_at(office, done)
    assert verify(office.store).ok, verify(office.store).findings
    log.sealer.seal()
    assert all(secret in everything(office.store) for secret in SECRETS)
    with office.store.write() as connection:
        erase_thread(connection, "task", at=office.clock(), by="ann", reason="asked to")
    log.sealer.seal()
    left = everything(office.store)
    assert [secret for secret in SECRETS if secret in left] == []
    with office.store.read() as connection:
        voted = connection.execute(sa.select(votes).where(votes.c.proposal_id == done.id)).mappings().one()
        undo = connection.execute(sa.select(undos).where(undos.c.proposal_id == done.id)).mappings().one()
    assert (voted["person"], voted["vote"], voted["note"]) == ("ann", "yes", GONE)
    assert (undo["body"], undo["why"]) == ("", "erased")
    assert log.verify().ok, log.verify().findings
    assert verify_bundle(log.bundle(), log.key.public).ok
    with pytest.raises(ConflictError, match="it was erased"):
        office.undoing.ask(done.id, "carl")


@pytest.mark.claim("C5")
@pytest.mark.parametrize("table", ["votes", "remarks", "snoozes", "afterlooks", "undos", "plans"])
def test_a_row_that_is_edited_after_it_was_erased_is_found(office: Office, table: str) -> None:
    done = talked_about(office)
    looked_at(office, done)
    with office.store.write() as connection:
        erase_call(connection, done.id, at=office.clock(), by="ann", reason="asked to")
    assert verify(office.store).ok, verify(office.store).findings
    column = {"votes": "note", "remarks": "text", "afterlooks": "finding", "undos": "body", "plans": "tier"}
    name = column.get(table, "until")
    value: object = "low" if table == "plans" else 7 if table == "snoozes" else "planted"
    found = metadata.tables[table]
    with office.store.write() as connection:
        connection.execute(sa.update(found).where(found.c.proposal_id == done.id).values({name: value}))
    assert "row_differs" in {item.code for item in verify(office.store).findings}


@pytest.mark.claim("C5")
def test_the_reason_of_a_hand_over_is_erased_once_it_is_over(office: Office) -> None:
    handed = Delegations(office.store, office.clock, office.queue.reviewers)
    until = office.clock() + micros(timedelta(days=2))
    given = handed.give(office.person(), "zoe", reason="canaryreason of mine", expires_at=until)
    with office.store.write() as connection, pytest.raises(ConflictError, match="still counts"):
        erase_hand_over(connection, given.id, at=office.clock(), by="ann", reason="x")
    office.clock.advance(days=3)
    with office.store.write() as connection:
        assert erase_hand_over(connection, given.id, at=office.clock(), by="ann", reason="x") == 1
    assert "canaryreason" not in everything(office.store)
    assert verify(office.store).ok
    with office.store.write() as connection:
        connection.execute(sa.update(delegations).values(taker="max"))
    assert "row_differs" in {item.code for item in verify(office.store).findings}


@pytest.mark.claim("C5")
def test_a_call_that_a_standing_rule_was_made_from_is_erased_after_the_rule(store: Store, office: Office) -> None:
    done = office.act("create_note", title="a", text="canarytext").proposal
    values: dict[str, Any] = {"id": "r" * 36, "tenant": "", "body": '{"tool":"canaryargument"}', "proposal_id": done.id}
    values |= {"made_by": "ann", "confirmed_by": "", "confirmed_at": None, "version": 1, "ended_by": ""}
    times: dict[str, Any] = {"made_at": office.clock(), "expires_at": office.clock() + 1_000_000, "ended_at": None}
    from checkvalve.approvals import audit
    from checkvalve.approvals.canonical import digest_bytes
    from checkvalve.approvals.clock import rfc3339

    told: dict[str, Any] = {
        "tenant": "",
        "proposal_id": done.id,
        "made_by": "ann",
        "expires_at": rfc3339(times["expires_at"]),
    }
    told |= {"rule_digest": digest_bytes(values["body"].encode()), "version": 1}
    with store.write() as connection:
        connection.execute(sa.insert(standing_rules).values(**values, **times))
        audit.append(connection, at=office.clock(), kind="standing.made", subject=values["id"], body=told)
    assert verify(store).ok, verify(store).findings
    with store.write() as connection, pytest.raises(ConflictError, match="still counts"):
        erase_call(connection, done.id, at=office.clock(), by="ann", reason="x")
    office.clock.advance(seconds=2)
    with store.write() as connection:
        erase_call(connection, done.id, at=office.clock(), by="ann", reason="x")
    assert "canaryargument" not in everything(store)
    assert verify(store).ok, verify(store).findings
    with store.write() as connection:
        connection.execute(sa.update(standing_rules).values(made_by="eve"))
    assert "row_differs" in {item.code for item in verify(store).findings}


@pytest.mark.claim("C5")
def test_old_tasks_go_with_all_that_people_said_and_the_archive_proves_them(
    office: Office, log: Log, tmp_path: Path
) -> None:
    done = talked_about(office)
    handed = Delegations(office.store, office.clock, office.queue.reviewers)
    until = office.clock() + micros(timedelta(days=2))
    handed.give(office.person(), "zoe", reason="canaryreason of mine", expires_at=until)
    office.clock.advance(days=40)
    log.clock.now = office.clock()
    log.sealer.seal()
    before = office.clock() - micros(timedelta(days=30))
    first = prune(office.store, log.key.public, tmp_path / "one.jsonl", before=before, at=office.clock(), by="ann")
    with office.store.read() as connection:
        kept = connection.execute(sa.select(proposals.c.id).where(proposals.c.id == done.id)).scalar()
    assert kept == done.id, "somebody has yet to look at it"
    assert first.calls > 0, "what the undoing read and did is over"
    looked_at(office, done)
    write(office.store, 1)  # the last event that was signed is kept
    office.clock.advance(days=40)
    log.sealer.seal()
    before = office.clock() - micros(timedelta(days=30))
    prune(office.store, log.key.public, tmp_path / "two.jsonl", before=before, at=office.clock(), by="ann")
    log.sealer.seal()
    left = everything(office.store)
    assert [secret for secret in SECRETS if secret in left] == []
    with office.store.read() as connection:
        for table in (proposals, plans, votes, undos, content, history, delegations):
            assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0, table.name
        assert connection.execute(sa.select(events.c.kind)).scalars().all()[-2:] == ["test", "log.pruned"]
    assert log.verify().ok, log.verify().findings
    assert verify_bundle(log.bundle(), log.key.public).ok


def test_a_task_whose_effect_is_being_undone_stays(office: Office, log: Log, tmp_path: Path) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    office.clock.advance(hours=1)
    office.undoing.ask(done, "carl")
    log.clock.now = office.clock()
    log.sealer.seal()
    before, at = office.clock() - 1, office.clock()
    assert prune(office.store, log.key.public, tmp_path / "one.jsonl", before=before, at=at, by="ann").calls == 0
    assert office.queue.get(done).state is State.SUCCEEDED


@pytest.mark.claim("C5")
def test_the_last_signed_event_stays_so_that_the_log_goes_on(office: Office, log: Log, tmp_path: Path) -> None:
    office.act("create_note", title="a", text="b")
    log.sealer.seal()
    office.clock.advance(days=40)
    at = office.clock()
    prune(office.store, log.key.public, tmp_path / "one.jsonl", before=at - 1, at=at, by="ann")
    log.sealer.seal()
    assert log.verify().ok, log.verify().findings
