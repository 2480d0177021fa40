"""Reading the versions of what a call points at: when a person is asked about it, and again right before it runs.

1. Only a question that waits, of a tool whose manifest entry says what is pinned. 2. A file is opened below its
declared folder (:mod:`pinned_files`); a record is read by the tool that the manifest names, through the gate like any
read, with a verdict of its own, in a thread of its own. 3. Each within the time of the manifest. What cannot be read
ends the reading with a word. 4. When asked, it is written beside the question, or the question is closed. 5. Right
before the effect it is handed to the executor, which compares it in the transaction that takes the permit.

Guarantees: nothing that is read here reaches a session or a model; no transaction is open meanwhile; what goes wrong is
never a version.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from checkvalve.approvals import pin_record
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.pin_declared import WHOLE, field_of, pin_problem
from checkvalve.approvals.pins import MAX_SHOWN, Found, Part, Version, declared_digest, is_needed, thread_for
from checkvalve.approvals.pinspec import PinSpec
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.retries import may_follow
from checkvalve.approvals.undo_call import at, look_args
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value
from checkvalve.graphs.calls import Call
from checkvalve.graphs.in_time import TooLateError
from checkvalve.graphs.keeping import READS, TOO_LATE, Look, Reading, look_call
from checkvalve.graphs.pinned_files import file_version
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import NOTHING

Find = Callable[[str], Any]
"""Gives a tool of the question's server by its name, or nothing."""
ASKED, AGAIN = "asked", "again"
_WHY: Final = {
    "before_tool_missing": "tool_missing",
    "before_not_allowed": "not_allowed",
    TOO_LATE: "too_late",
}


class Pinning:
    """Reads versions with the services of one process."""

    def __init__(self, services: Services) -> None:
        """Decide, record and read as every surface does."""
        self._services = services
        self._queue = services.queue

    def ask(self, question: Proposal, find: Find) -> Proposal:
        """Read the versions for a question that waits, and write them; where one cannot be read, close it.

        Returns the question as it is then. A store that fails does so here: nobody's yes is taken until it is written.
        """
        if not self._is_due(question):
            return question
        return pin_record.note(self._queue, question, self._read(question, find, ASKED))

    async def aask(self, question: Proposal, find: Find) -> Proposal:
        """Do what :meth:`ask` does, for tools that are awaited."""
        if not await asyncio.to_thread(self._is_due, question):
            return question
        found = await self._aread(question, find, ASKED)
        return await asyncio.to_thread(pin_record.note, self._queue, question, found)

    def again(self, proposal: Proposal, find: Find) -> Found | None:
        """Read the versions right before a call runs; nothing where none are needed, or it does not run."""
        if not may_follow(proposal) or not is_needed(proposal):
            return None
        return self._read(proposal, find, AGAIN)

    async def aagain(self, proposal: Proposal, find: Find) -> Found | None:
        """Do what :meth:`again` does, for tools that are awaited."""
        if not may_follow(proposal) or not is_needed(proposal):
            return None
        return await self._aread(proposal, find, AGAIN)

    def _is_due(self, question: Proposal) -> bool:
        """Do step 1."""
        asked = question.state is State.PENDING and is_needed(question)
        return asked and not pin_record.is_known(self._queue, question)

    def _read(self, proposal: Proposal, find: Find, word: str) -> Found:
        """Do steps 2 and 3, one after the other."""
        read = list[Version | Found]()
        pins = self._declared(proposal)
        for pin in pins:
            try:
                read.append(self._one(proposal, pin, find, word))
            except Exception as error:  # noqa: BLE001  # whatever it is, there is no version
                read.append(_failed(pin, error))
            if isinstance(read[-1], Found):
                break
        return _all(pins, read)

    async def _aread(self, proposal: Proposal, find: Find, word: str) -> Found:
        read = list[Version | Found]()
        pins = await asyncio.to_thread(self._declared, proposal)
        for pin in pins:
            try:
                read.append(await self._aone(proposal, pin, find, word))
            except Exception as error:  # noqa: BLE001  # whatever it is, there is no version
                read.append(_failed(pin, error))
            if isinstance(read[-1], Found):
                break
        return _all(pins, read)

    def _declared(self, proposal: Proposal) -> Sequence[PinSpec]:
        """Return what the manifest pins of this call now; a manifest of a program was not checked on loading."""
        manifest = self._services.manifest
        spec = manifest.find_called(proposal.tool, proposal.server, proposal.args())
        return () if spec is None or pin_problem(spec, manifest) is not None else spec.pin

    def _one(self, proposal: Proposal, pin: PinSpec, find: Find, word: str) -> Version | Found:
        if pin.file:
            return READS.within(pin.seconds, lambda: _file(proposal, pin))
        if isinstance(call := self._call(proposal, pin, find, word), Found):
            return call
        return self._record(pin, proposal.server, self._reading(proposal, pin).read(call, find(pin.tool)))

    async def _aone(self, proposal: Proposal, pin: PinSpec, find: Find, word: str) -> Version | Found:
        if pin.file:
            return await READS.awithin(pin.seconds, lambda: _file(proposal, pin))
        if isinstance(call := await asyncio.to_thread(self._call, proposal, pin, find, word), Found):
            return call
        found = await self._reading(proposal, pin).aread(call, find(pin.tool))
        return self._record(pin, proposal.server, found)

    def _call(self, proposal: Proposal, pin: PinSpec, find: Find, word: str) -> Call | Found:
        look = pin.look
        args = None if look is None else look_args(look, proposal.args())
        if args is None:
            return Found(of=pin.of, why="no_such_argument")
        name = f"{word}-{secrets.token_hex(8)}"  # each read is one of its own: a recorded result would be the old one
        return look_call(self._services, (pin.tool, proposal.server, args), find(pin.tool), name=name)

    def _reading(self, proposal: Proposal, pin: PinSpec) -> Reading:
        session = GuardSession(self._services, thread_for(proposal.id), proposal.requester)
        return Reading(self._services, session, pin.seconds)

    def _record(self, pin: PinSpec, server: str, look: Look) -> Version | Found:
        """Return the version of a record, from what its tool said."""
        if look.value is NOTHING:
            return Found(of=pin.of, why=_WHY.get(look.why, "failed"))
        parts = [self._part(pin, server, path, at(look.value, path)) for path in pin.version]
        known = tuple(part for part in parts if part is not None)
        if len(known) != len(parts):
            return Found(of=pin.of, why="no_version")
        return Version(pin.tool, "record", known, call=look.proposal)

    def _part(self, pin: PinSpec, server: str, path: str, value: object) -> Part | None:
        """Return one field; none where it is not there or says nothing. Its value is kept where it is not private."""
        try:
            found: JSON = check_value(value)
        except HostileInputError:
            return None
        if found is None:
            return None
        spec = self._services.manifest.find(pin.tool, server)
        field = None if spec is None or path == WHOLE else field_of(path, spec.result)
        short = isinstance(found, bool | int | float) or (isinstance(found, str) and len(found) <= MAX_SHOWN)
        kept = found if short and field is not None and field.readers is not None else None
        return Part(path, digest(found), kept)


def _file(proposal: Proposal, pin: PinSpec) -> Version | Found:
    args = proposal.args()
    return file_version(pin, args[pin.file]) if pin.file in args else Found(of=pin.of, why="no_such_argument")


def _failed(pin: PinSpec, error: Exception) -> Found:
    return Found(of=pin.of, why="too_late" if isinstance(error, TooLateError) else "failed")


def _all(pins: Sequence[PinSpec], read: Sequence[Version | Found]) -> Found:
    """Return what was read; the first thing that could not be is all that is said.

    Where the manifest pins nothing of the call any more, that is why there is nothing.
    """
    if read and isinstance(last := read[-1], Found):
        return replace(last, declared=declared_digest(pins))
    versions = tuple(one for one in read if isinstance(one, Version))
    return Found(declared_digest(pins), versions, why="" if pins else "redeclared")


__all__ = ["Find", "Pinning"]
