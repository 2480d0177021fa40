"""Undoing an effect: a new call in a thread of its own, which a person decides and an executor runs, once.

Asking: 1. The effect happened, its undoing was kept by the declaration that still holds, it is in time, and nobody has
asked yet. 2. Where the tools are at hand, the present state is read. 3. Every value enters the new thread as what it
is: content from the undone call, its result or the record read before. None of it is the user's word. 4. The call is
decided like any other; what is not denied waits for a person, whatever rule would have let it through.

Running: 5. Everything of 1 holds, with the tool's schema as it is now. 6. The state is still what the person was shown,
or else what the effect left. 7. Then the one executor runs it, and its own undoing is kept in turn. Where nobody knows
how it ended, its effect is looked for (:mod:`probing`), now and whenever somebody comes back to it.

Guarantees: an agent has no way here, since its calls are in other threads; an approval of an undoing accepts no data
for any task; the mode ``observe`` lets none of it run by itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn

import sqlalchemy as sa

from checkvalve.approvals import undos
from checkvalve.approvals.causes import Cause, cause_of
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.errors import ConflictError, NotFoundError, QueueError
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.people import RULE as NAME_RULE
from checkvalve.approvals.people import is_usable
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.undo_call import UndoCall, differences
from checkvalve.approvals.undos import LOOK, RULE, Undo, beside, thread_for
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs import given
from checkvalve.graphs.bound_tools import Bound, bound
from checkvalve.graphs.calls import Call
from checkvalve.graphs.detached import detached, keyed
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.keeping import Keeping, Look, Reading, look_call
from checkvalve.graphs.probing import Probing
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import NOTHING, declared_value
from checkvalve.graphs.tool_results import returned
from checkvalve.graphs.undo_standing import Standing, Standings

_CHANGED: Final = Deny("undo-changed", "undo_changed", remedy_for("undo-changed"))
_OVER: Final = Deny("undo-over", "undo_over", remedy_for("undo-over"))


class Undoing:
    """Asks for undoings and runs them, with the services of one process."""

    def __init__(self, services: Services) -> None:
        """Decide, record and run as every surface does."""
        self._services = services
        self._queue = services.queue
        self._standings = Standings(services)

    def standing(self, name: str) -> Standing:
        """Return how the undoing of a call stands; see :meth:`Standings.of`."""
        return self._standings.of(name)

    def nothing_of(self, proposal: Proposal) -> Standing:
        """Return how the undoing of a call stands that has no effect and no row, such as one that is made up."""
        return self._standings.without_row(proposal)

    def declares(self, proposal: Proposal) -> bool:
        """Say whether the manifest names a call that takes the effect of this one back."""
        spec = self._services.manifest.find(proposal.tool, proposal.server)
        return spec is not None and spec.undo_with is not None

    def ask(
        self, name: str, requester: str, tools: Iterable[Any] = (), servers: Mapping[str, str] | None = None
    ) -> Proposal:
        """Do steps 1 to 4, and return the new call; it waits for a person, unless it was denied.

        ``servers`` says of which server a tool of ``tools`` is (:mod:`bound_tools`).

        Raises:
            NotFoundError: there is no such call.
            ConflictError: it cannot be undone, or somebody else has asked.
            QueueError: nobody is named who asks.
            StoreCorruptError: a row was edited beside the log.
        """
        if not is_usable(requester):
            raise QueueError("an undoing needs the name of the person who asks for it", remedy=f"give {NAME_RULE}")
        found = self.standing(name)  # 1.
        if found.why_not or found.call is None or found.row is None:
            raise _cannot(found.why_not, found.proposal)
        session = self._session(found.row, requester, found.row.asks + 1)
        name = f"undo-{secrets.token_hex(8)}"
        self._take_in(session, found.proposal, found.call)  # 3.
        self._read(session, found.call, self._bound(tools, servers), beside(name, LOOK))  # 2.
        call = Call(found.call.tool, found.call.args, name, found.call.server, schema_digest=self._pinned(found.call))
        try:
            request = session.request(call)
        except HostileInputError as error:
            raise ConflictError("what was kept is no call any more", remedy="nothing was changed") from error
        decision = _asked(session.decision(call))  # 4.
        row, now = found.row, self._queue.clock()

        def link(connection: sa.Connection, undo: Proposal) -> None:
            if why := undos.refusal(connection, found.proposal, row, now=now):
                raise _cannot(why, found.proposal)
            undos.ask(connection, row, undo, by=requester, at=now)

        spec = self._services.manifest.find(call.tool, call.server)
        return self._queue.propose(request, decision, idempotency=given.idempotency(spec, call), beside=link)

    def ask_as(
        self, name: str, reviewer: Reviewer, tools: Iterable[Any] = (), servers: Mapping[str, str] | None = None
    ) -> Proposal:
        """Do what :meth:`ask` does, for a person with a credential: whoever may answer questions may ask this one.

        Raises:
            CredentialError, NotAllowedError: this is no reviewer any more, or one who only looks.
        """
        self._require_role(reviewer)
        return self.ask(name, reviewer.name, tools, servers)

    def refuse(self, proposal: Proposal, reviewer: Reviewer) -> NoReturn:
        """Refuse to undo a call that has no effect and no row, in the words of :meth:`ask_as`."""
        self._require_role(reviewer)
        raise _cannot(self.nothing_of(proposal).why_not, proposal)

    def _require_role(self, reviewer: Reviewer) -> None:
        with self._queue.store.read() as connection:
            self._queue.reviewers.require(connection, reviewer)
            require_role(connection, reviewer, Role.RESPONDER, Role.APPROVER)

    def due(self) -> list[Proposal]:
        """Return the undoings that were approved and not run yet, oldest first."""
        with self._queue.store.read() as connection:
            names = undos.approved(connection)
        found = [self._queue.get(name) for name in names]  # whose time is over is not approved any more
        return [row for row in found if row.state is State.APPROVED and self._standings.undone(row) is not None]

    def run(self, name: str, tools: Iterable[Any], servers: Mapping[str, str] | None = None) -> Outcome:
        """Do steps 5 to 7 for an approved undoing; one that is not approved is returned as it stands.

        ``servers`` as for :meth:`ask`.

        Raises:
            NotFoundError: it undoes nothing.
            PipelineError: its tool is not among ``tools``; nothing was done.
            OutcomeUnknownError: it ran, and the store did not take its end.
        """
        undo, known = self._queue.get(name), self._bound(tools, servers)
        found = self._standings.undone(undo)
        if found is None:
            raise NotFoundError("this call undoes nothing", remedy="list what can be undone: checkvalve undo list")
        if undo.state is not State.APPROVED:
            return self._looked(undo, self._services.executor.look(name), known)
        if (undo.server, undo.tool) not in known:
            whose = f" of the server {undo.server!r}" if undo.server else ""
            raise PipelineError(
                f"the tool {undo.tool!r}{whose} is not here", "name the module that has it: --tools MODULE"
            )
        session, tool = self._session(found, undo.requester, found.asks), known[undo.server, undo.tool]
        args = undo.args()
        call = look_call(self._services, (undo.tool, undo.server, args), tool, name=undo.call_id)
        keeping = Keeping.of(self._services, session, call, lambda other: known.get((undo.server, other)))
        spec = self._services.manifest.find(undo.tool, undo.server)

        def effect(args: dict[str, JSON], key: str) -> JSON:
            if keeping is not None:
                keeping.begin(args)
            with detached(), keyed(key, undo.thread):
                made = {"name": undo.tool, "args": args, "id": undo.call_id, "type": "tool_call"}
                return returned(tool.invoke(made), undo.call_id)

        outcome = self._services.executor.run(
            name,
            effect,
            revalidate=lambda: self._still(undo, session, call, known),
            keep=None if keeping is None else lambda record: keeping.keep(declared_value(record, spec)),
        )
        if keeping is not None:
            keeping.after(outcome)
        return self._looked(undo, outcome, known)

    def _looked(self, undo: Proposal, outcome: Outcome, tools: Bound) -> Outcome:
        """Look for the effect of an undoing whose end nobody knows, where its tool declares how; nothing runs again."""
        return Probing(self._services).after(outcome, lambda other: tools.get((undo.server, other)))

    def _still(self, undo: Proposal, session: GuardSession, call: Call, tools: Bound) -> Verdict:
        """Return the verdict right before the effect: steps 5 and 6."""
        found = self.standing(undo.id)
        late = found.row is None or (found.row.expires_at is not None and self._queue.clock() >= found.row.expires_at)
        linked = found.row is not None and found.row.undo_id == undo.id and found.call is not None
        if late or not linked or found.proposal.state not in undos.DONE or not found.holds:
            return _OVER
        kept = found.call
        if kept is None or (kept.tool, kept.server, kept.args) != (undo.tool, undo.server, undo.args()):
            return _OVER
        seen = found.present if found.present is not NOTHING else found.left
        if seen is not NOTHING:  # 6.
            name = beside(undo.call_id, f"check{secrets.token_hex(8)}")
            now = self._read(session, kept, tools, name)
            if now.value is NOTHING or differences(seen, now.value):  # type: ignore[arg-type]  # both are JSON
                return _CHANGED
        return _asked(session.decision(call)).verdict

    def _bound(self, tools: Iterable[Any], servers: Mapping[str, str] | None) -> Bound:
        return bound(tools, self._services.manifest, servers)

    def _read(self, session: GuardSession, call: UndoCall, tools: Bound, name: str) -> Look:
        """Read the present state through the gate, where there is one to read and its tool is here."""
        if call.look is None or (call.server, call.look[0]) not in tools:
            return Look(why="before_tool_missing")
        tool = tools[call.server, call.look[0]]
        looking = look_call(self._services, (call.look[0], call.server, call.look[1]), tool, name=name)
        return Reading(self._services, session).read(looking, tool)

    def _take_in(self, session: GuardSession, proposal: Proposal, call: UndoCall) -> None:
        """Do step 3: under each origin, the values that were taken from there, where they stood."""
        for kind in ("argument", "result", "before"):
            taken = {name: str(where[kind]) for name, where in call.origins.items() if kind in where}
            if not taken:
                continue
            tool = call.look[0] if kind == "before" and call.look is not None else proposal.tool
            value: JSON = {}
            for name, path in taken.items():
                value = _put(value, [path] if kind == "argument" else path.split(".")[1:], call.args[name])
            made = Call(tool, {}, f"{proposal.id[:8]}.{kind}", proposal.server)
            session.result(made, value, key=f"undone/{kind}", declared=kind != "argument")

    def _session(self, row: Undo, requester: str, ask: int) -> GuardSession:
        return GuardSession(self._services, thread_for(row.proposal_id, ask), requester, by_hand=True)

    def _pinned(self, call: UndoCall) -> str | None:
        """Return the pinned digest: whoever asks has no live tool; who runs it compares the schema that it has."""
        spec = self._services.manifest.find(call.tool, call.server)
        return None if spec is None else spec.schema_digest


def _asked(decision: Decision) -> Decision:
    """Return the decision on an undoing: a person decides what nothing forbids, and accepts no data by it."""
    verdict = decision.verdict
    if isinstance(verdict, Deny):
        return decision
    rules = decision.rules if isinstance(verdict, Allow) else (verdict.rule, *decision.rules)
    rules = (RULE, *dict.fromkeys(rules))
    return replace(
        decision,
        verdict=Review(RULE, RULE, remedy_for(RULE)),
        rules=rules,
        endorsable=(),
        uses=(),
        mandate=None,
        pins=(),
    )  # what it stands on is compared as its own declaration says: see step 6


def _cannot(why: str, proposal: Proposal) -> ConflictError:
    """Return the error for what cannot be undone; where its effect is not known to have happened, how it stands."""
    cause = Cause.CONFLICT if proposal.state in undos.DONE else cause_of(proposal.state.value)
    text = f"this call cannot be undone: {why}"
    return ConflictError(text, remedy="nothing was changed", cause=cause, present=proposal.present)


def _put(value: JSON, steps: list[str], item: JSON) -> JSON:
    """Return ``value`` with ``item`` at a path; a number is a place in a list of the taken items."""
    if not steps:
        return item
    first, *rest = steps
    if first.isascii() and first.isdigit():
        items = list(value) if isinstance(value, list) else []
        return [*items, _put(None, rest, item)]
    members = dict(value) if isinstance(value, dict) else {}
    return {**members, first: _put(members.get(first), rest, item)}


__all__ = ["Standing", "Undoing"]
