"""Keys of requests in the store: what is kept of an answer, who may forget a key, and what erasing leaves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.request_keys import KEPT, answer_of, forget, keep_answer, remember
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import Desk

WHAT: JSON = ["POST", "/x", "", "", None]


def test_a_key_has_its_answer_until_it_is_forgotten(store: Store) -> None:
    assert remember(store, "ann", "k", WHAT, now=1) == "new"
    assert answer_of(store, "ann", "k", WHAT) is None
    keep_answer(store, "ann", "k", WHAT, b"sealed")
    assert answer_of(store, "ann", "k", WHAT) == b"sealed"
    assert answer_of(store, "bob", "k", WHAT) is None
    assert answer_of(store, "ann", "k", ["other"]) is None
    forget(store, "ann", "k", WHAT)
    assert remember(store, "ann", "k", WHAT, now=2) == "same", "what has ended is not forgotten before its time"
    assert remember(store, "ann", "k", ["other"], now=2) == "other"
    assert remember(store, "ann", "k", WHAT, now=KEPT + 2) == "new"
    assert answer_of(store, "ann", "k", WHAT) is None
    forget(store, "ann", "k", ["other"])
    assert remember(store, "ann", "k", WHAT, now=KEPT + 2) == "same", "another request takes no key away"
    forget(store, "ann", "k", WHAT)
    assert remember(store, "ann", "k", ["other"], now=KEPT + 2) == "new"


def test_of_many_at_once_one_has_the_key(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: remember(store, "ann", "k", WHAT, now=1), range(8))]
    assert sorted(found) == ["new", *["same"] * 7]


def test_erasing_a_call_or_a_task_leaves_no_answer(store: Store, desk: Desk) -> None:
    row = desk.propose()
    desk.queue.reject(row.id, desk.reviewer)
    for number, erase in enumerate((erase_call, erase_thread)):
        key = f"k{number}"
        remember(store, "ann", key, WHAT, now=1)
        keep_answer(store, "ann", key, WHAT, b"sealed")
        with store.write() as connection:
            erase(connection, row.id if erase is erase_call else row.thread, at=desk.clock(), by="ann", reason="x")
        assert answer_of(store, "ann", key, WHAT) == b"", "that it was done is still known"
