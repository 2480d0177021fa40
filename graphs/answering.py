"""The node ``answer``: the last text is an action too, decided over what it says once the references are put in.

1. Put the references into the template. 2. Take out what never leaves: registered values, keys, text of the
instructions; links that only outsiders wrote can be read and not clicked. A text that has to be withheld goes back as a
code. 3. Decide and record the text as a call of the built-in tool ``answer``: links that the actor composed wait for a
person, what would load by itself is denied. 4. Take the grant and record the text as handed out; what a person made of
it is cleaned like any other. The text is in the record; the state names it, and a later visit takes it from there.
"""

from __future__ import annotations

from typing import Final, Literal

from checkvalve.approvals.decision import ANSWER
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.verdicts import Verdict
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.outcomes import ContentOutcome
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call
from checkvalve.graphs.codes import BY_STATE, REMEDIES
from checkvalve.graphs.desk import Desk, agent_of, full_name, thread_of
from checkvalve.graphs.edited import recheck
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.events import Answered, Cleaned, Decided, emit
from checkvalve.graphs.expansion import expand_text
from checkvalve.graphs.gate import pause, require_own, settle, standing
from checkvalve.graphs.outgoing import scan_leaving
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused

TEXT: Final = "text"


class AnswerNode:
    """The node ``answer`` of one pipeline."""

    def __init__(self, desk: Desk) -> None:
        """Decide with the services of ``desk``."""
        self._desk = desk

    def run(self, state: PipelineState) -> PipelineState:
        """Decide a new answer, or look again at one that waits; hand it out when it may be."""
        item = dict(state.get("answer") or {})
        try:
            call = self._call(state, item)
            told = self._settled(state, item, call)
        except CodedError as error:
            return _refused(state, item, error.code, error.remedy)
        except HostileInputError:
            return _refused(state, item, "hostile_input", REMEDIES["hostile_input"])
        if item["status"] == "pending":
            return {"answer": item}
        return self._hand_out(state, item, call) if item["status"] == "ready" else {"answer": {}, "log": told}

    def _call(self, state: PipelineState, item: JsonObject) -> Call:
        """Do steps 1 and 2; of an answer that is recorded, return what was recorded."""
        text = self._recorded(item) or self._cleaned(
            state, expand_text(str(item[TEXT]), self._desk.book(state), max_chars=self._desk.limits.max_answer)
        )
        turn = f"t{state.get('turns', 0)}"
        identity = f"{full_name(state, item['call'])}@{turn}"
        return Call(ANSWER.name, {TEXT: text}, identity, turn=full_name(state, turn))

    def _recorded(self, item: JsonObject) -> str:
        return str(self._desk.services.queue.get(item["approval"]).args()[TEXT]) if "approval" in item else ""

    def _cleaned(self, state: PipelineState, text: str) -> str:
        """Do step 2.

        Raises:
            CodedError: the text is withheld as a whole.
        """
        services = self._desk.services
        if services.mode == "observe":
            return text
        session = self._desk.thread(state).session
        scanned = scan_leaving(text, session, services, decided=True)
        if scanned.outcome is ContentOutcome.WITHHOLD:
            raise CodedError("answer_withheld")
        if scanned.outcome is ContentOutcome.SANITISE:
            emit(Cleaned(thread_of(state), agent_of(state), codes=", ".join(scanned.codes)))
        return scanned.text

    def _settled(self, state: PipelineState, item: JsonObject, call: Call) -> list[JsonObject]:
        """Do step 3; a pause comes on a visit of its own, so that nothing is decided twice."""
        if "approval" not in item:
            proposal = self._desk.thread(state).session.propose(call)
            verdict, rule = proposal.verdict_name, proposal.rule
            emit(Decided(thread_of(state), agent_of(state), ANSWER.name, item["call"], verdict, rule, proposal.id))
            item["approval"] = proposal.id
            return settle(item, proposal)
        require_own(self._desk, state, [str(item["approval"])])
        while (proposal := standing(self._desk.services.queue, item)).state is State.PENDING:
            pause(state, proposal.id)
        return settle(item, proposal)

    def _hand_out(self, state: PipelineState, item: JsonObject, call: Call) -> PipelineState:
        """Do step 4."""
        executor = self._desk.services.executor
        if self._desk.services.queue.get(item["approval"]).state is State.EXECUTING:
            executor.recover()

        def effect(args: dict[str, JSON], _key: str) -> JSON:
            text = str(args[TEXT])
            return {TEXT: self._cleaned(state, text) if item.get("edited") else text}

        def check() -> Verdict:
            decided = self._desk.services.queue.get(item["approval"])
            if item.get("edited"):
                return recheck(self._desk.services, decided, call)()
            return self._desk.thread(state).session.revalidation(call)()

        proposal: Proposal = executor.run(item["approval"], effect, revalidate=check).proposal
        if proposal.state is not State.SUCCEEDED:
            code = BY_STATE.get(proposal.state, "not_run")
            return _refused(state, item, code, REMEDIES[code])
        emit(Answered(thread_of(state), agent_of(state), proposal.id))
        return {"answer": {}, "status": "answered", "answer_id": proposal.id}


def _refused(state: PipelineState, item: JsonObject, code: str, remedy: str) -> PipelineState:
    emit(Decided(thread_of(state), agent_of(state), ANSWER.name, item["call"], "deny", code))
    return {"answer": {}, "log": [observed(item["call"], refused(code, remedy))]}


def next_after_answer(state: PipelineState) -> Literal["answer", "actor", "__end__"]:
    """Return where the graph goes: to its end, back for a decision, or back to the actor with a code."""
    if (state.get("answer") or {}).get("status") == "pending":
        return "answer"
    return "__end__" if state.get("status") == "answered" else "actor"
