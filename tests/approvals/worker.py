"""A process that runs approved calls and may kill itself at a step: ``worker.py URL FILE STEP RUNS ID...``.

The effect appends one line to FILE. STEP is a step of the executor, ``effect:before`` or ``effect:after``, or empty.
With RUNS above 1 every id is run that often; the outcomes are printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON


def main(url: str, file: str, die_at: str, runs: str, *ids: str) -> None:
    def step(name: str) -> None:
        if name == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def effect(args: dict[str, JSON], key: str) -> JSON:
        step("effect:before")
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{key} {json.dumps(args)}\n".encode())
        os.fsync(descriptor)
        os.close(descriptor)
        time.sleep(0.02)
        step("effect:after")
        return {"key": key, "pid": os.getpid()}

    start = Path(file).with_suffix(".start")
    with Store.open(url, create=False) as store:
        executor = Executor(Queue(store), on_step=step)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while not start.exists():
            time.sleep(0.001)
        outcomes = []
        for name in ids:
            for _ in range(int(runs)):
                outcome = executor.run(name, effect)
                outcomes.append([name, outcome.state.value, outcome.ran_here, outcome.result])
        sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
