"""No key and no password is in a message, also where a channel may be told values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.told_values import MAX_VALUES, told_values
from tests.approvals.made import Desk, HandClock

KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
PASSWORD = "h4Xq9-Lw2r8Zt5Nv"  # nobody's


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path / 'told.db'}", create=True) as store:
        yield Desk.at(store, HandClock())


def told(desk: Desk, args: dict[str, JSON]) -> dict[str, str]:
    request = ActionRequest.build("send", args, thread="t", call_id="c", requester="bob")
    return {item["path"]: item["text"] for item in told_values(desk.propose(request=request))}


@pytest.mark.claim("C8")
@pytest.mark.parametrize(
    "args",
    [
        {"body": f"the key is {KEY}."},
        {"body": "x " * 95 + KEY + " y" * 200},
        {"deep": {"list": [1, {"note": KEY}]}},
        {KEY: "value"},
        {"password": PASSWORD},
        {"login": {"api_key": PASSWORD}},
    ],
)
def test_a_key_is_in_no_message(desk: Desk, args: dict[str, JSON]) -> None:
    said = json.dumps(told(desk, args), ensure_ascii=False)
    assert KEY[:12] not in said
    assert PASSWORD not in said
    assert "redacted: " in said or "bytes not shown" in said


def test_what_is_no_key_is_told_as_it_was(desk: Desk) -> None:
    args: dict[str, JSON] = {"to": "ann", "body": "Lunch at nine", "amount": 12, "id": "3f2a"}
    assert told(desk, args) == {"to": "ann", "body": "Lunch at nine", "amount": "12", "id": "3f2a"}


def test_many_values_are_counted(desk: Desk) -> None:
    found = told(desk, {f"a{number}": number for number in range(MAX_VALUES + 3)})
    assert (len(found), found["more"]) == (MAX_VALUES + 1, "3 further values are not told here")
