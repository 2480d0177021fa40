"""The receipt of a call over HTTP and on its card: it verifies elsewhere, and says why where there is none yet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from checkvalve.approvals import audit
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.receipts import Receipt, parse_receipt, verify_receipt
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import tiles
from tests.gateway.review_world import reviewing
from tests.gateway.runs_world import problem, serving
from tests.gateway.secret_world import KEY as SECRET
from tests.gateway.test_http_approvals import Desk
from tests.gateway.test_http_seeds import Bench

pytestmark = pytest.mark.claim("C5")
KEY = LogKey.new("log.example/receipts")
ONCALL = """
[[schedule]]
name = "night"
zone = "UTC"
[[schedule.rotation]]
people = ["zoe"]
start = 2026-01-01T00:00:00
every = "1w"
"""
LADDER = "everywhere: {decide_within: 10h, escalate: [{after: 0.01, to: ['oncall:night']}]}\n"
_HOUR = 3_600_000_000  # microseconds


def seal(store: Store, folder: Path) -> None:
    Sealer(store, KEY, folder / "signed").seal()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path) as api:
        yield Desk(api)


def fetched(desk: Desk, name: str, headers: Any = None) -> Receipt:
    answer = desk.get(f"/approvals/{name}/receipt", headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == f'attachment; filename="receipt-{name[:8]}.json"'
    receipt = parse_receipt(answer.text)
    verify_receipt(receipt, KEY.public)
    return receipt


def test_a_decision_and_its_execution_have_a_receipt_that_verifies_elsewhere(desk: Desk, tmp_path: Path) -> None:
    row, store = desk.waiting(), desk.api.gateway.store
    path = f"/approvals/{row.id}/receipt"
    assert problem(desk.get(path)) == (404, "no_receipt"), "nothing was decided yet"
    desk.decide(row)
    desk.api.wait("t1", "answered")
    assert problem(desk.get(path)) == (404, "log_not_signed")
    seal(store, tmp_path)
    kinds = [event.kind for event, _ in fetched(desk, row.id).items]
    assert {"proposal.recorded", "vote.cast", "grant.issued", "proposal.succeeded"} <= set(kinds)
    (tmp_path / "r.json").write_text(desk.get(path).text)
    (tmp_path / "log.pub").write_text("".join(f"{key}\n" for key in KEY.public))

    def nothing() -> Store:
        raise AssertionError("another machine has no store")

    words = ["verify-receipt", str(tmp_path / "r.json"), "--key", str(tmp_path / "log.pub")]
    ended = CliRunner().invoke(audit_app(nothing), words)
    assert (ended.exit_code, "ok: in the log log.example/receipts" in ended.stdout) == (0, True)
    (tmp_path / "r.json").write_text(desk.get(path).text.replace("reviewer:boss", "reviewer:eve", 1))
    assert CliRunner().invoke(audit_app(nothing), words).exit_code == 1


def test_while_the_newest_events_are_not_signed_it_is_said_when_to_ask_again(desk: Desk, tmp_path: Path) -> None:
    row = desk.waiting()
    seal(desk.api.gateway.store, tmp_path)
    desk.decide(row, "reject", message="no")
    early = desk.get(f"/approvals/{row.id}/receipt")
    assert (early.status_code, early.headers["retry-after"], early.json()["state"]) == (202, "1", "not_signed_yet")
    assert early.json()["signed"] < early.json()["event"]
    seal(desk.api.gateway.store, tmp_path)
    assert fetched(desk, row.id).items[-1][0].kind.startswith(("proposal.", "run.", "vote."))


def test_who_may_not_see_a_call_learns_nothing_and_a_program_gets_no_words_of_people(
    desk: Desk, tmp_path: Path
) -> None:
    row = desk.waiting()
    desk.decide(row, "reject", message="ask the user")
    seal(desk.api.gateway.store, tmp_path)
    path = f"/approvals/{row.id}/receipt"
    strange = desk.get(path, desk.api.bob)
    assert (problem(strange), strange.json()) == (
        (404, "no_receipt"),
        desk.get(f"/approvals/{'0' * 8}{row.id[8:]}/receipt", desk.api.bob).json(),
    )
    mine = {event.kind: event for event, _ in fetched(desk, row.id, desk.api.ann).items}
    assert mine["vote.cast"].is_erased
    assert mine["proposal.rejected"].is_erased, "it has the reviewer's words"
    assert not mine["proposal.recorded"].is_erased
    full = {event.kind: event for event, _ in fetched(desk, row.id).items}
    assert body_of(full["vote.cast"].body)["note"] == "ask the user"


def test_a_program_reads_who_moved_its_call_where_nobody_said_why(desk: Desk, tmp_path: Path) -> None:
    row = desk.waiting()
    desk.decide(row, "reject")
    seal(desk.api.gateway.store, tmp_path)
    mine = {event.kind: event for event, _ in fetched(desk, row.id, desk.api.ann).items}
    assert body_of(mine["proposal.rejected"].body)["by"] == "reviewer:boss"


def test_a_program_does_not_read_whom_a_question_was_brought_to(tmp_path: Path) -> None:
    """The steps of escalation hold answers of on-call and states of accounts: they are for people who decide."""
    (tmp_path / "oncall.toml").write_text(ONCALL)
    (tmp_path / "rules.yaml").write_text(LADDER)
    with serving(tmp_path, oncall=tmp_path / "oncall.toml", review_rules=tmp_path / "rules.yaml") as api:
        desk, queue = Desk(api), api.gateway.queue
        row, now = desk.waiting(), queue.clock
        queue.clock = lambda: now() + _HOUR
        assert Ladder(queue).tick().done
        queue.clock = now
        desk.decide(row, "reject", message="not today")
        seal(queue.store, tmp_path)
        told = desk.get(f"/approvals/{row.id}/receipt", api.ann).text
        assert [word for word in ("zoe", "night", "not today", "no_account") if word in told] == []
        mine = {event.kind: event for event, _ in fetched(desk, row.id, api.ann).items}
        assert mine["proposal.escalated"].is_erased
        full = {event.kind: event for event, _ in fetched(desk, row.id).items}
        assert "zoe" in full["proposal.escalated"].body


def test_what_is_redacted_is_left_out_and_the_proof_still_fits(desk: Desk, tmp_path: Path) -> None:
    row = desk.waiting()
    desk.decide(row, "reject", message=f"it has the key {SECRET} in it")
    seal(desk.api.gateway.store, tmp_path)
    answer = desk.get(f"/approvals/{row.id}/receipt")
    assert SECRET not in answer.text
    receipt = fetched(desk, row.id)
    assert {event.kind for event, _ in receipt.items if event.is_erased} >= {"vote.cast", "proposal.rejected"}
    assert next(event.kind for event, _ in receipt.items if not event.is_erased) == "proposal.recorded"


def test_a_receipt_that_would_not_verify_is_not_handed_out(desk: Desk, tmp_path: Path) -> None:
    row = desk.waiting()
    desk.decide(row, "reject")
    store = desk.api.gateway.store
    seal(store, tmp_path)
    with store.write() as connection:
        kept = connection.execute(sa.select(tiles.c.hashes).where(tiles.c.level == 0)).scalar_one()
        connection.execute(sa.update(tiles).values(hashes=bytes(kept[:-1]) + bytes([kept[-1] ^ 1])))
    assert desk.get(f"/approvals/{row.id}/receipt").status_code == 503


def test_of_a_seeded_item_the_same_is_said_as_of_a_call_that_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as api:
        bench = Bench(api)
        seal(api.gateway.store, tmp_path)
        real, seeded = (bench.get(f"/approvals/{name}/receipt") for name in (bench.real.id, bench.id))
        assert (real.status_code, real.json()) == (seeded.status_code, seeded.json())


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_the_card_offers_it_as_a_file_or_says_why_there_is_none(tmp_path: Path, language: str) -> None:
    with reviewing(tmp_path) as review:
        review.client.headers["accept-language"] = language
        row = review.poisoned()
        where = f"/review/items/{row.id}/receipt"
        assert where not in review.card(row)
        early, nothing = (review.client.get(path) for path in (where, where.replace(row.id[:8], "0" * 8)))
        assert (early.status_code, nothing.status_code) == (404, 404)
        review.answer(row, "no")
        said = set()
        for _ in range(2):
            page = review.client.get(where)
            assert (page.status_code, page.headers["content-type"].split(";")[0]) == (404, "text/html")
            (text,) = re.findall(r'<p class="warn" role="alert">(.*?)</p>', page.text)
            said.add(text)
            if len(said) == 1:
                seal(review.gateway.store, tmp_path)
                with review.gateway.store.write() as connection:  # something more happened to the call
                    audit.append(connection, at=1, kind="test", subject=row.id, body={})
        assert len(said) == 2, said
        assert not any("receipt." in text for text in said), "every word is in the catalogue"
        seal(review.gateway.store, tmp_path)
        assert f'href="{where}"' in review.card(row)
        sent = review.client.get(where)
        assert sent.headers["content-disposition"] == f'attachment; filename="receipt-{row.id[:8]}.json"'
        receipt = parse_receipt(sent.text)
        verify_receipt(receipt, KEY.public)
        with pytest.raises(LogTamperedError):
            verify_receipt(parse_receipt(json.dumps({**receipt.to_json(), "checkpoint": "x\n1\n"})), KEY.public)
