"""Keeping what undoes one effect: the read right before it, the call that takes it back, the read right after it.

1. Right before the effect, and only by whoever holds its claim, the declared record is read: through the same gate as
any read, with a verdict of its own in the record. 2. A read that cannot be made holds nothing up, unless the manifest
says ``required``; then the effect is not begun. 3. With the recorded success goes the finished call that undoes it.
4. Right after, the record is read once more: what the effect left, to compare with when it is to be undone.

Guarantees: nothing that is read here reaches a model; a read that fails after the effect changes nothing about it; each
is over in time, and one that never comes back takes no thread that a loop or anybody else waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.tools import BaseTool

from checkvalve.approvals.errors import ApprovalError, NotStartedError
from checkvalve.approvals.manifest import schema_digest
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.undo_call import Kept, Seen, kept, look_args
from checkvalve.approvals.undos import AFTER, BEFORE, WHY, beside
from checkvalve.approvals.undospec import BeforeSpec, UndoSpec
from checkvalve.approvals.verdicts import Allow
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.origins import Field
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call, runs_in_sandbox
from checkvalve.graphs.detached import detached, keyed
from checkvalve.graphs.few_threads import BusyError, FewThreads
from checkvalve.graphs.in_time import BrokenOffError, TooLateError
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import NOTHING, declared_value
from checkvalve.graphs.tool_results import returned
from checkvalve.graphs.toolbox import schema_of

TOO_LATE: Final = "too_late"
"""Why a read gave nothing that took longer than it may."""
READS: Final = FewThreads(8, "checkvalve-read")
"""Reads that run in a thread at once, in one process: a stuck one keeps its place."""
SECONDS: Final = 10
"""How long a read may take where the manifest says nothing: an effect or a question waits for it."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a read gave: a value, and the proposal that has it in the record; or why there is none."""

    value: object = NOTHING
    proposal: str = ""
    why: str = ""


class Reading:
    """Reads records through the gate of one session."""

    def __init__(self, services: Services, session: GuardSession, seconds: int | None = None) -> None:
        """Decide and record as ``session`` does; a read may take as many ``seconds``, else :data:`SECONDS`."""
        self._services = services
        self._session = session
        self._seconds = SECONDS if seconds is None else seconds

    def read(self, call: Call, tool: Any) -> Look:
        """Read once. Nobody is asked for it: where a person would have to be, nothing is read."""
        proposal = self._allowed(call, tool)
        if isinstance(proposal, Look):
            return proposal

        def effect(args: dict[str, JSON], key: str) -> JSON:
            with detached(), keyed(key, self._session.thread):
                said = _tool_call(call, args)
                with _whole():
                    return returned(READS.within(self._seconds, lambda: tool.invoke(said)), call.id)

        check = self._session.revalidation(call)
        try:
            return self._found(call, self._services.executor.run(proposal.id, effect, revalidate=check))
        except ApprovalError:
            return Look(why="before_failed")

    async def aread(self, call: Call, tool: Any) -> Look:
        """Do what :meth:`read` does, for a tool that is awaited."""
        proposal = await asyncio.to_thread(self._allowed, call, tool)
        if isinstance(proposal, Look):
            return proposal

        async def effect(args: dict[str, JSON], key: str) -> JSON:
            with detached(), keyed(key, self._session.thread):
                said = _tool_call(call, args)
                with _whole():
                    return returned(await READS.ainvoke(self._seconds, tool, said), call.id)

        check = self._session.revalidation(call)
        try:
            return self._found(call, await self._services.executor.arun(proposal.id, effect, revalidate=check))
        except ApprovalError:
            return Look(why="before_failed")

    def _allowed(self, call: Call, tool: Any) -> Proposal | Look:
        """Return the recorded permit of a read, or why there is none."""
        if not isinstance(tool, BaseTool):
            return Look(why="before_tool_missing")
        try:
            if self._services.mode == "enforce" and not isinstance(self._session.decision(call).verdict, Allow):
                return Look(why="before_not_allowed")
            proposal = self._session.propose(call)
        except (HostileInputError, ApprovalError):
            return Look(why="before_failed")
        if proposal.state is State.PENDING:  # what was known has changed in between
            self._services.queue.close(proposal.id, State.CANCELLED, by="gateway", code="before_not_allowed")
        return proposal if proposal.state is State.APPROVED else Look(why="before_not_allowed")

    def _found(self, call: Call, outcome: Outcome) -> Look:
        spec = self._services.manifest.find(call.tool, call.server)
        value = declared_value(outcome.result, spec) if outcome.state is State.SUCCEEDED else NOTHING
        if value is NOTHING:
            late = (outcome.error or {}).get("type") in {TooLateError.__name__, BusyError.__name__}
            return Look(why=TOO_LATE if late else "before_failed")
        return Look(value, outcome.proposal.id)


@dataclass
class Keeping:
    """What is done around one effect whose manifest says how it is undone. ``tool`` is the one that reads before."""

    services: Services
    session: GuardSession
    call: Call
    undo: UndoSpec
    tool: Any = None
    _args: dict[str, JSON] = field(default_factory=dict, repr=False)
    _seen: Look = field(default_factory=Look, repr=False)

    @classmethod
    def of(cls, services: Services, session: GuardSession, call: Call, find: Callable[[str], Any]) -> Keeping | None:
        """Return what keeps the undoing of ``call``, where the manifest declares one; ``find`` gives tools by name."""
        spec = services.manifest.find(call.tool, call.server)
        undo = None if spec is None else spec.undo_with
        if undo is None:
            return None
        return cls(services, session, call, undo, find(undo.before.tool) if undo.before else None)

    def begin(self, args: dict[str, JSON]) -> None:
        """Do step 1, with the arguments of the record.

        Raises:
            NotStartedError: the record has to be read first, and cannot be.
        """
        self._args = args
        try:
            if (looking := self._looking(BEFORE)) is not None:
                self._seen = self._reading.read(looking, self.tool)
        except Exception:  # noqa: BLE001  # whatever it is, only the undoing is lost, and the record says so
            self._seen = Look(why="before_failed")
        self._judge()

    async def abegin(self, args: dict[str, JSON]) -> None:
        """Do what :meth:`begin` does, for a tool that is awaited."""
        self._args = args
        try:
            if (looking := await asyncio.to_thread(self._looking, BEFORE)) is not None:
                self._seen = await self._reading.aread(looking, self.tool)
        except Exception:  # noqa: BLE001  # whatever it is, only the undoing is lost, and the record says so
            self._seen = Look(why="before_failed")
        self._judge()

    def keep(self, value: object) -> Kept:
        """Do step 3: return what is stored with the success; ``value`` is the declared result, or nothing."""
        seen = Seen(proposal=self._seen.proposal, why=self._seen.why)
        if value is not NOTHING:
            seen = Seen(value, proposal=seen.proposal, why=seen.why)
        if self._seen.value is not NOTHING:
            seen = Seen(seen.result, self._seen.value, seen.proposal, seen.why)
        return kept(self.undo, server=self.call.server, args=self._args, seen=seen)

    def after(self, outcome: Outcome) -> None:
        """Do step 4, where the effect happened here."""
        try:
            if (looking := self._left(outcome)) is not None:
                self._reading.read(looking, self.tool)
        except Exception:  # noqa: BLE001  # the effect is recorded; what it left is then not known
            self._seen = Look(why="before_failed")

    async def aafter(self, outcome: Outcome) -> None:
        """Do what :meth:`after` does, for a tool that is awaited."""
        try:
            if (looking := await asyncio.to_thread(self._left, outcome)) is not None:
                await self._reading.aread(looking, self.tool)
        except Exception:  # noqa: BLE001  # the effect is recorded; what it left is then not known
            self._seen = Look(why="before_failed")

    @property
    def _reading(self) -> Reading:
        return Reading(self.services, self.session)

    def _left(self, outcome: Outcome) -> Call | None:
        happened = outcome.ran_here and outcome.state is State.SUCCEEDED
        return self._looking(AFTER) if happened and self._seen.value is not NOTHING else None

    def _looking(self, word: str) -> Call | None:
        """Return the reading call, or nothing where there is none to make."""
        before = self.undo.before
        args = None if before is None else look_args(before, self._args)
        if before is None or args is None:
            self._seen = Look(why="" if before is None else "no_such_argument")
            return None
        return look_call(
            self.services,
            (before.tool, self.call.server, args),
            self.tool,
            name=beside(self.call.id, word),
            turn=self.call.turn,
            references=_references(self.call.references, before),
        )

    def _judge(self) -> None:
        """Hold the effect back where it must not come first; observe mode holds nothing back."""
        before = self.undo.before
        if self.services.mode == "enforce" and before is not None and before.required and self._seen.value is NOTHING:
            why = WHY.get(self._seen.why, self._seen.why)
            raise NotStartedError(f"the call was not begun: {why}", remedy="see `required` of this tool's `undo_with`")


def look_call(
    services: Services,
    what: tuple[str, str, Mapping[str, JSON]],
    tool: Any,
    *,
    name: str,
    turn: str = "",
    references: Mapping[str, list[Field]] | None = None,
) -> Call:
    """Return the call of a reading tool; a pinned one carries the digest of the schema it has now."""
    spec = services.manifest.find(what[0], what[1])
    pinned = spec is not None and spec.schema_digest is not None and isinstance(tool, BaseTool)
    return Call(
        tool=what[0],
        args=what[2],
        id=name,
        server=what[1],
        turn=turn,
        schema_digest=schema_digest(schema_of(tool)) if pinned else None,
        references=references or {},
        sandboxed=runs_in_sandbox(tool),
    )


def _references(references: Mapping[str, Any], before: BeforeSpec) -> dict[str, list[Field]]:
    """Return the references behind the arguments that the reading call takes over, under their names there."""
    found: dict[str, list[Field]] = {}
    for name, value in before.args.items():
        for path, fields in references.items():
            if value.argument is not None and (path == value.argument or path.startswith(f"{value.argument}.")):
                found[name + path[len(value.argument) :]] = list(fields)
    return found


@contextmanager
def _whole() -> Iterator[None]:
    """Let a read that breaks off be one that failed: nobody has to find out what it did."""
    try:
        yield
    except (ConnectionError, TimeoutError) as error:
        raise BrokenOffError("the connection broke off") from error


def _tool_call(call: Call, args: dict[str, JSON]) -> dict[str, Any]:
    return {"name": call.tool, "args": args, "id": call.id, "type": "tool_call"}


__all__ = ["READS", "SECONDS", "TOO_LATE", "Keeping", "Look", "Reading", "look_call"]
