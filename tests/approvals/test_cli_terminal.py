"""The review commands at a real terminal: a pseudo-terminal whose keys are pressed by the test."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time

import pytest

from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from tests.approvals.made import Desk, HandClock
from tests.waiting import LONG

PROGRAM = """
import sys
from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
url, now, *args = sys.argv[1:]
approvals_app(lambda: Queue(Store.open(url, create=False), lambda: int(now)))(args)
"""
CTRL_D = b"\x04"


def is_readable(place: int, seconds: float) -> bool:
    """Say whether something can be read; `select` does not take the numbers of files in a large process."""
    poll = select.poll()
    poll.register(place, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def press(url: str, now: int, *args: str, keys: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """Run the command at a terminal; press each key sequence once its prompt was shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, url, str(now), *args]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, close_fds=True
    )
    os.close(theirs)
    shown, left, until = b"", list(keys), time.monotonic() + LONG
    while time.monotonic() < until and process.poll() is None:
        if is_readable(ours, 0.2):
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
        elif left and left[0][0] in shown:  # quiet for a moment: it is waiting for us, not setting up its prompt
            os.write(ours, left.pop(0)[1])
    try:
        code = process.wait(timeout=LONG)
    finally:
        process.kill()
        process.wait()
    while is_readable(ours, 0):
        try:
            shown += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    return code, shown


@pytest.mark.claim("C4")
@pytest.mark.parametrize("at", ["digest", "token"])
@pytest.mark.parametrize("key", [CTRL_D, b"\r"], ids=["ctrl-d", "enter"])
def test_leaving_a_real_prompt_decides_nothing(store: Store, url: str, clock: HandClock, at: str, key: bytes) -> None:
    desk = Desk.at(store, clock)
    proposal = desk.propose()
    typed = key if at == "digest" else proposal.digest[7:13].encode() + b"\r"
    code, shown = press(
        url, clock.now, "approve", proposal.id, keys=[(b"Type the first", typed), (b"reviewer token", key)]
    )
    assert code == 2
    assert b"no decision" in shown
    assert desk.queue.get(proposal.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_typing_at_a_real_prompt_approves_and_hides_the_token(store: Store, url: str, clock: HandClock) -> None:
    desk = Desk.at(store, clock)
    proposal = desk.propose()
    keys = [
        (b"Type the first", proposal.digest[7:13].encode() + b"\r"),
        (b"reviewer token", desk.token.encode() + b"\r"),
    ]
    code, shown = press(url, clock.now, "approve", proposal.id, keys=keys)
    assert code == 0, shown
    assert desk.token.encode() not in shown
    assert desk.queue.get(proposal.id).state is State.APPROVED
