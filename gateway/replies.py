"""What a model is told when its call did not run, or ran without a result to show: constant texts and codes.

Guarantees: nothing of the call, of a result, of an exception or of a reviewer's note gets into a reply, but for a text
that a person wrote to the model instead of letting the call run; a refusal says firmly that trying again is no way
around it, because models otherwise ask again until somebody says yes.
"""

from __future__ import annotations

from typing import Final, Literal

from langchain_core.messages import BaseMessage, ToolMessage

from checkvalve.approvals.pins import CODES, names_of
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.responding import response_of

_FIRM: Final = "Do not try this call again, and do not try to reach the same effect another way, unless the user asks."
_WITHDRAWN: Final = {
    State.REJECTED: ("rejected", "a person looked at this call and refused it"),
    State.EXPIRED: ("expired", "nobody decided this call in time"),
    State.CANCELLED: ("cancelled", "the question about this call was taken back"),
    State.SUPERSEDED: ("superseded", "the arguments of this call were changed after it was proposed"),
    State.LAPSED: ("lapsed", "the approval of this call was not used in time"),
    State.INVALIDATED: ("invalidated", "what was approved would not be approved any more"),
    State.REVOKED: ("revoked", "the approval of this call was taken back before it ran"),
}
_ENDED: Final = {
    State.EXECUTING: ("running", "This call has been started and has not ended yet."),
    State.FAILED: ("failed", "This call was made once and failed."),
    State.UNKNOWN: ("unknown", "This call was started, and whether it took effect is not known; a person has to look."),
    State.CONFIRMED_DONE: ("confirmed_done", "It was looked up: this call took effect; its result was not kept."),
    State.CONFIRMED_NOT_DONE: (
        "confirmed_not_done",
        "It was looked up: this call did not take effect.",
    ),
    State.SUCCEEDED: ("result_not_kept", "This call was made and succeeded; its result could not be kept."),
}


def reply(
    call: tuple[str, str], text: str, code: str, *, approval: str = "", status: Literal["success", "error"] = "error"
) -> ToolMessage:
    """Return a tool message for ``call`` (tool name and call id); hosts find the code in its artifact."""
    name, identity = call
    note = {"checkvalve": {"code": code, "approval_id": approval}}
    return ToolMessage(text, tool_call_id=identity, name=name, status=status, artifact=note)


def denied(call: tuple[str, str], code: str, rule: str, remedy: str, approval: str = "") -> ToolMessage:
    """Return the reply to a call that policy does not permit."""
    hint = f" What would help: {remedy}." if remedy else ""
    return reply(call, f"Not executed: refused [{code}, rule {rule}].{hint} {_FIRM}", code, approval=approval)


def pending(call: tuple[str, str], proposal: Proposal) -> ToolMessage:
    """Return the reply to a call that a person has not decided yet."""
    text = (
        f"Not executed yet: a person has to decide this call [pending, approval {proposal.id}]. Tell the user. Do not "
        "propose it again before the user says that it was decided, and do not try to reach its effect another way."
    )
    return reply(call, text, "pending", approval=proposal.id)


def responded(call: tuple[str, str], text: str, approval: str) -> ToolMessage:
    """Return what a person answered a call with: it was not made, and these words stand in the place of its result."""
    said = f"Not executed: a person answered this call instead [responded, approval {approval}]. The answer:\n{text}"
    return reply(call, said, "responded", approval=approval, status="success")


def withdrawn(call: tuple[str, str], proposal: Proposal) -> ToolMessage:
    """Return the reply to a call whose permit never came, or is void; or what a person answered it with."""
    if text := response_of(proposal):
        return responded(call, text, proposal.id)
    if proposal.code in CODES:
        return _moved(call, proposal)
    code, why = _WITHDRAWN[proposal.state]
    return reply(call, f"Not executed: {why} [{code}]. {_FIRM}", code, approval=proposal.id)


def _moved(call: tuple[str, str], proposal: Proposal) -> ToolMessage:
    """Return the reply to a call that did not run because what it points at changed, or could not be looked at."""
    what = ", ".join(names_of(proposal))  # words of the manifest
    text = (
        f"Not executed: {CODES[proposal.code]} [{proposal.code}; pinned: {what}]. Do not try this call again as it is, "
        "and do not try to reach the same effect another way. Look at it anew first; a person is asked anew as well."
    )
    return reply(call, text, proposal.code, approval=proposal.id)


def ended(call: tuple[str, str], proposal: Proposal) -> ToolMessage:
    """Return the reply to a call that was made, and of which there is no result to hand over."""
    code, text = _ENDED[proposal.state]
    return reply(call, f"{text} It is not made a second time [{code}]. {_FIRM}", code, approval=proposal.id)


_UNCHECKED: Final = (
    "The call was made. Its result has a form that the gateway cannot check, so it is not handed on [result_refused]. "
    f"The operator has to look at it. {_FIRM}"
)


def unchecked(call: tuple[str, str]) -> ToolMessage:
    """Return the reply to a call that was made and whose result is kept back."""
    return reply(call, _UNCHECKED, "result_refused")


_FAILED: Final = (
    f"Not executed: the gateway could not decide this call [gateway_failed]. The operator has to look at it. {_FIRM}"
)
_UNRECORDED: Final = (
    f"The call was started, and the gateway failed before its end was recorded [outcome_unrecorded]. {_FIRM}"
)


def crashed(call: tuple[str, str], *, started: bool) -> ToolMessage:
    """Return the reply when the gate itself failed. A gate that fails before the effect stays shut."""
    if started:
        return reply(call, _UNRECORDED, "outcome_unrecorded")
    return reply(call, _FAILED, "gateway_failed")


def is_crash(message: BaseMessage) -> bool:
    """Say whether a message is exactly one of these replies: no store could remember that it was handed out."""
    return isinstance(message, ToolMessage) and message.content in (_FAILED, _UNRECORDED)
