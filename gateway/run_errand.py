"""One errand of ``checkvalve run``: drive the pipeline, show its steps, wait as long as the settings say, and end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.records import State
from checkvalve.filters.errors import FilterError
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.errors import GatewayError, RunError
from checkvalve.gateway.pipelines import open_pipeline
from checkvalve.gateway.run_view import RunView, printable_answer
from checkvalve.graphs.errors import GraphError
from checkvalve.graphs.events import Event
from checkvalve.graphs.runs import Pipeline, RunResult

STOPPED: Final = 1
WAITING: Final = 3
_CODES: Final = {"answered": 0, "waiting": WAITING}
_POLL: Final = 0.5  # seconds between looks at an approval that is being waited for
_OURS: Final = (GatewayError, ApprovalError, FilterError, GraphError)


@dataclass(frozen=True)
class Errand:
    """What is asked for: a task, or to go on with a thread."""

    task: str | None
    thread: str
    requester: str
    record: Path | None
    as_json: bool
    again: tuple[str, ...]  # the command that goes on with it
    approvals: tuple[str, ...]  # the command that decides, without its verb
    mandates: tuple[Mandate, ...] = ()  # what the person at the keyboard lets sources do

    def at(self, thread: str) -> Errand:
        """Return the same in the thread that has the message: while a call waits, it may be a task of its own."""
        place = self.again.index("--thread") + 1 if "--thread" in self.again else len(self.again)
        again = (*self.again[:place], thread, *self.again[place + 1 :])
        return replace(self, thread=thread, again=again)


def run_errand(gateway: Gateway, errand: Errand) -> int:
    """Run, show it, and return the exit code."""
    view = RunView()
    with open_pipeline(gateway, requester=errand.requester, record=errand.record) as pipeline:
        if errand.task is not None:
            errand = errand.at(pipeline.context_for(errand.thread))
        if not errand.as_json:
            settings = gateway.settings
            view.head(errand.thread, settings.reader, settings.actor, settings.bits_per_source)
        pipeline.give(errand.mandates, thread=errand.thread, requester=errand.requester)
        result = _driven(gateway, pipeline, errand, view)
    _end(gateway, errand, view, result)
    return _CODES.get(result.status, STOPPED)


def _driven(gateway: Gateway, pipeline: Pipeline, errand: Errand, view: RunView) -> RunResult:
    """Run until there is an end, or nothing was decided for as long as the settings wait."""
    task, until = errand.task, time.monotonic() + gateway.settings.wait_for_review
    while True:
        with nullcontext() if errand.as_json else view.working():
            for event in _told(pipeline.stream(task, thread=errand.thread, requester=errand.requester)):
                _say(event.to_json()) if errand.as_json else view.step(event)
        result = pipeline.look(errand.thread)
        if result.status != "waiting" or not _decided_in_time(gateway, result, until):
            return result
        task = None


def _decided_in_time(gateway: Gateway, result: RunResult, until: float) -> bool:
    while time.monotonic() < until:
        if any(gateway.queue.get(name).state is not State.PENDING for name in result.waiting):
            return True
        time.sleep(_POLL)
    return False


def _told(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events; what a model's provider raises becomes one error of ours, which repeats none of its words."""
    try:
        yield from events
    except _OURS:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise RunError(f"the run was left in the middle: a model failed ({kind})", "go on with --resume") from error


def _end(gateway: Gateway, errand: Errand, view: RunView, result: RunResult) -> None:
    if errand.as_json:
        _say({"kind": "result", **asdict(result)})
    elif result.status == "answered":
        sys.stdout.write(printable_answer(result.answer or "") + "\n")
    elif result.status == "waiting":
        view.waiting([gateway.queue.get(name) for name in result.waiting], errand.approvals, errand.again)
    elif result.status == "stopped":
        view.over(f"stopped without an answer: {result.code}")
    else:
        view.over("left in the middle; go on with:", errand.again)


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
