"""Trying what a call would do, right before a person is asked about it: once for each call, and again after an edit.

1. Only a question that waits, of a tool whose manifest entry says how, and of which nothing was tried yet. 2. The
arguments are those of the record; a read gets them as the manifest maps them, a dry run gets them whole with the one
fixed argument, which the call itself can never carry. The tool at hand must have that argument, or nothing is tried.
3. The call is decided and recorded in a thread of its own: a read like any other read; a dry run by the rule `preview`,
unless the call itself would be denied by now. 4. The one executor runs it, within the time of the manifest; when the
question was answered meanwhile, it is not begun. 5. What it said is cut to a size and kept beside the question.

Guarantees: nothing here reaches a session, so what a preview says is an origin of nothing and no model is shown it;
nobody is asked for it; one that fails or takes too long leaves the question as it was, and says why.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.tools import BaseTool

from checkvalve.approvals import previews
from checkvalve.approvals.arguments import is_valid
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.errors import ApprovalError, ConflictError
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.preview_declared import preview_problem, schema_problem
from checkvalve.approvals.previewspec import PreviewSpec
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.undo_call import look_args
from checkvalve.approvals.undos import RULE as UNDO
from checkvalve.approvals.verdicts import Allow, Deny, Verdict
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call
from checkvalve.graphs.detached import detached, keyed
from checkvalve.graphs.edited import deciding
from checkvalve.graphs.few_threads import BusyError, FewThreads
from checkvalve.graphs.in_time import TooLateError
from checkvalve.graphs.keeping import look_call
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.tool_results import returned
from checkvalve.graphs.toolbox import schema_of

Find = Callable[[str], Any]
"""Gives a tool of the question's server by its name, or nothing."""
MAX_THREADS: Final = 4
"""Previews that run in a thread at once, in one process: a stuck one keeps its place, and takes no other thread."""
THREAD: Final = "checkvalve-preview"
_THREADS: Final = FewThreads(MAX_THREADS, THREAD)
_WHY: Final = {TooLateError.__name__: "too_late", BusyError.__name__: "busy"}
_OVER: Final = Deny("preview-over", "preview_over", "nothing: the question was answered")


class _ImpossibleError(Exception):
    """There is no preview; the word says why."""


@dataclass(frozen=True)
class _Try:
    """One preview that is to be made."""

    question: Proposal
    spec: PreviewSpec
    call: Call
    tool: BaseTool


class Previewing:
    """Makes previews with the services of one process."""

    def __init__(self, services: Services) -> None:
        """Decide, record and run as every surface does."""
        self._services = services
        self._queue = services.queue

    def show(self, question: Proposal, find: Find) -> None:
        """Make the preview of a call that waits, where its tool offers one. Whatever goes wrong, the question stays."""
        try:
            if (trying := self._begin(question, find)) is not None:
                made, name = trying

                def effect(args: dict[str, JSON], key: str) -> JSON:
                    with detached(), keyed(key, question.thread):
                        call = _tool_call(made.call, args)
                        result = _THREADS.within(made.spec.seconds, lambda: made.tool.invoke(call))
                    return _record(result, made.call.id)

                self._end(made, self._services.executor.run(name, effect, revalidate=self._check(made)))
        except Exception as error:  # noqa: BLE001  # a preview is a help, and holds nothing up
            self._failed(question, error)

    async def ashow(self, question: Proposal, find: Find) -> None:
        """Do what :meth:`show` does, for a tool that is awaited."""
        try:
            if (trying := await asyncio.to_thread(self._begin, question, find)) is not None:
                made, name = trying

                async def effect(args: dict[str, JSON], key: str) -> JSON:
                    with detached(), keyed(key, question.thread):
                        result = await _THREADS.ainvoke(made.spec.seconds, made.tool, _tool_call(made.call, args))
                    return _record(result, made.call.id)

                check = self._check(made)
                outcome = await self._services.executor.arun(name, effect, revalidate=check)
                await asyncio.to_thread(self._end, made, outcome)
        except Exception as error:  # noqa: BLE001  # a preview is a help, and holds nothing up
            await asyncio.to_thread(self._failed, question, error)

    def _begin(self, question: Proposal, find: Find) -> tuple[_Try, str] | None:
        """Do steps 1 to 3, and return what is to be run, with the proposal that permits it."""
        preview = self._declared(question)
        if preview is None or previews.is_known(self._queue, question):
            return None
        made = self._call(question, preview, find)
        decision = self._decided(made)
        request = self._session(question).request(made.call)
        proposal = self._queue.propose(request, decision, idempotency=Idempotency.READ)
        return made, proposal.id

    def _declared(self, question: Proposal) -> PreviewSpec | None:
        """Do step 1."""
        asked = question.state is State.PENDING and question.verdict_name == "review" and question.rule != UNDO
        if not asked or self._services.mode != "enforce" or question.mode != "enforce":
            return None
        spec = self._services.manifest.find_called(question.tool, question.server, question.args())
        return None if spec is None else spec.preview  # a form of a tool has none: it does something else

    def _call(self, question: Proposal, preview: PreviewSpec, find: Find) -> _Try:
        """Do step 2.

        Raises:
            _ImpossibleError: the tool is not here, or not one that can be tried with these arguments.
        """
        spec = self._services.manifest.find(question.tool, question.server)
        if spec is None or preview_problem(spec, self._services.manifest) is not None:
            raise _ImpossibleError("not_allowed")  # a manifest that was built in a program was not checked on loading
        name = preview.tool or question.tool
        tool = find(name)
        if not isinstance(tool, BaseTool) or tool.name != name:
            raise _ImpossibleError("tool_missing")
        args: dict[str, JSON] | None = question.args()
        if preview.look is not None:
            args = look_args(preview.look, question.args())
        elif args is not None and preview.fixed is not None:
            args = _dry(args, *preview.fixed, tool)
        if args is None:
            raise _ImpossibleError("no_such_argument")
        call = look_call(self._services, (name, question.server, args), tool, name=previews.CALL)
        return _Try(question, preview, call, tool)

    def _decided(self, made: _Try) -> Decision:
        """Do step 3: return the decision that permits the preview.

        Raises:
            _ImpossibleError: nothing permits it.
        """
        if made.spec.fixed is None:
            decision = self._session(made.question).decision(made.call)
            if not isinstance(decision.verdict, Allow):
                raise _ImpossibleError("not_allowed")
            return decision
        try:
            decision = deciding(self._services)(made.question, made.question.args())
        except ConflictError:
            raise _ImpossibleError("other_rules") from None
        pinned = decision.schema_digest
        if isinstance(decision.verdict, Deny) or (pinned is not None and made.call.schema_digest != pinned):
            raise _ImpossibleError("not_allowed")
        return previews.as_dry_run(decision, made.spec.fixed[0])

    def _session(self, question: Proposal) -> GuardSession:
        return GuardSession(self._services, previews.thread_for(question.id), question.requester)

    def _check(self, made: _Try) -> Callable[[], Verdict]:
        """Return the check right before it is tried: somebody still has to decide, and it is still permitted."""

        def check() -> Verdict:
            if self._queue.get(made.question.id).state is not State.PENDING:
                return _OVER
            try:
                return self._decided(made).verdict
            except _ImpossibleError:
                return _OVER

        return check

    def _end(self, made: _Try, outcome: Outcome) -> None:
        """Do step 5. What another process is trying just now, or has left in the middle, is not noted."""
        if outcome.state is State.SUCCEEDED:
            self._note(made.question, made.spec, call=outcome.proposal.id)
        elif outcome.state is State.FAILED:
            why = _WHY.get(str((outcome.error or {}).get("type")), "failed")
            self._note(made.question, made.spec, why=why)
        elif outcome.state not in {State.EXECUTING, State.UNKNOWN}:
            self._note(made.question, made.spec, why="not_allowed")

    def _failed(self, question: Proposal, error: Exception) -> None:
        why = str(error) if isinstance(error, _ImpossibleError) else "failed"
        preview = self._declared(question)
        try:
            if preview is not None:
                self._note(question, preview, why=why)
        except (ApprovalError, HostileInputError):
            return  # the store does not answer: whoever decides the question is told so anyway

    def _note(self, question: Proposal, preview: PreviewSpec, *, call: str = "", why: str = "") -> None:
        tool, dry = preview.tool or question.tool, preview.fixed is not None
        previews.note(self._queue, question, tool=tool, dry_run=dry, call=call, why=why)


def _dry(args: dict[str, JSON], name: str, value: JSON, tool: BaseTool) -> dict[str, JSON]:
    """Return the arguments of a dry run, where the tool at hand really has one.

    A tool without the argument would leave it out unasked, and the call would be real.
    """
    schema = schema_of(tool)
    shape = schema.get("properties", {}).get(name)
    one = {"properties": {name: shape}, "$defs": schema.get("$defs", {})}
    if name in args or schema_problem(name, value, schema) is not None or not is_valid({name: value}, one):
        raise _ImpossibleError("no_dry_run")
    return {**args, name: value}


def _record(result: object, call: str) -> JSON:
    """Return what is kept of a tool's words: everything that it gave, as one text."""
    found = returned(result, call)
    values = found["values"] if isinstance(found, dict) and isinstance(found["values"], list) else []
    texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    return previews.kept("\n".join(texts), ok=isinstance(found, dict) and found["ok"] is True)


def _tool_call(call: Call, args: dict[str, JSON]) -> dict[str, Any]:
    return {"name": call.tool, "args": args, "id": call.id, "type": "tool_call"}


__all__ = ["Find", "Previewing"]
