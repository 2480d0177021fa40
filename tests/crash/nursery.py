"""Starts processes that have imported everything already, so that a thousand of them take minutes and not hours.

A program that a nursery can hold reads jobs, one JSON value a line: an object starts a process by forking and is
answered with its id; a number waits for that process and is answered with how it ended, as ``subprocess`` counts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FAILED: Final = 1
"""The exit code of a process that raised."""


class Nursery:
    """One program, from which processes are forked. What they say on their error stream goes to ``errors``."""

    def __init__(self, program: Path, errors: Path) -> None:
        self.errors = errors
        self.running: set[int] = set()
        with errors.open("ab") as log:
            command = [sys.executable, str(program)]
            self.program = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def _ask(self, order: object) -> int:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(json.dumps(order) + "\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())

    def start(self, job: dict[str, Any]) -> int:
        pid = self._ask(job)
        self.running.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        end = self._ask(pid)
        self.running.discard(pid)
        return end

    def end(self) -> None:
        """End what a test that failed has left running: it would hold the program's pipes open for ever."""
        for pid in list(self.running):
            os.kill(pid, signal.SIGKILL)
            self.wait(pid)

    def told(self) -> str:
        """Return the end of what went wrong in any process."""
        return self.errors.read_text()[-3_000:]

    def close(self) -> None:
        self.end()
        self.program.communicate()


def has_ended(pid: int) -> bool:
    """Say whether the process has ended; until it is waited for it stays in the table."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


def serve(work: Callable[[dict[str, Any]], int]) -> None:
    """Be the program: fork for each job, wait for each id, until the input ends."""
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, dict):
            pid = os.fork()
            if pid == 0:
                _child(work, order)
            sys.stdout.write(f"{pid}\n")
        else:
            _, status = os.waitpid(order, 0)
            sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _child(work: Callable[[dict[str, Any]], int], job: dict[str, Any]) -> None:
    end = FAILED
    try:
        end = work(job)
    except BaseException:  # noqa: BLE001  # it must not come back into the program that forks
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(end)
