"""What became of a stored call, in the words that a model is told it in: for an agent that did not wait.

1. Not decided yet: a person is being asked, with the id to ask by again. 2. Approved and not run: the same call again
runs it, once. 3. Ran: the recorded result, cleaned as the gate hands it on. 4. Anything else: the reply of the gate.
Where a person edited the call, what it became is told, and what was changed.

Guarantees: nothing runs because somebody looks; a result that cannot be read is not guessed; whoever gets it gets
untrusted text, and the gate of an agent it is pasted into will take it as such.
"""

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import ToolMessage

from checkvalve.approvals.outcome import NOT_KEPT, Outcome
from checkvalve.approvals.records import Proposal, State
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import replies
from checkvalve.gateway.cleaning import cleaned
from checkvalve.gateway.edit_notice import begun, edit_notice
from checkvalve.gateway.handover import FORMAT, messages_of, unpack
from checkvalve.gateway.result_text import result_text
from checkvalve.gateway.told_values import as_seen
from checkvalve.graphs.errors import CheckpointError
from checkvalve.graphs.inbound import Inbound

_UNREADABLE: Final = (
    "The call was made once. Its stored result cannot be read [result_unreadable]; a person has to look."
)
_RAN: Final = frozenset(
    {State.EXECUTING, State.FAILED, State.UNKNOWN, State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE, State.SUCCEEDED}
)


def late_result(outcome: Outcome, inbound: Inbound, asked: Proposal | None = None) -> ToolMessage:
    """Return the tool message for a stored call as it stands now.

    ``asked`` is the call that its agent proposed, where what stands now is an edit of it.
    """
    first = outcome.proposal if asked is None else asked
    call = first.tool, first.call_id.rpartition("@")[0] or first.call_id
    message = _late(outcome, call, inbound)
    if asked is None or asked.id == outcome.proposal.id:
        return message
    said = edit_notice(asked.args(), as_seen(outcome.proposal))
    return begun(message, said)


def _late(outcome: Outcome, call: tuple[str, str], inbound: Inbound) -> ToolMessage:
    row = outcome.proposal
    if row.state is State.PENDING:
        return replies.pending(call, row)
    if row.state is State.APPROVED:
        return replies.reply(call, _approved(row), "approved", approval=row.id)
    if row.state is State.DENIED:
        return replies.denied(call, row.reason, row.rule, row.remedy, row.id)
    if row.state is State.SUCCEEDED and not _lost(outcome.result):
        return _told(call, row, outcome.result, inbound)
    return replies.ended(call, row) if row.state in _RAN else replies.withdrawn(call, row)


def _approved(row: Proposal) -> str:
    return (
        f"Approved, and not run yet [approved, approval {row.id}]. Propose exactly the same call again: it then runs, "
        "once."
    )


def _told(call: tuple[str, str], row: Proposal, result: JSON, inbound: Inbound) -> ToolMessage:
    name, identity = call
    if not (isinstance(result, dict) and result.get("format") == FORMAT):
        message = ToolMessage(result_text(result), name=name, tool_call_id=identity)
        shown = messages_of(cleaned(message, inbound))
    else:
        try:
            shown = messages_of(cleaned(unpack(result), inbound))
        except CheckpointError:
            return replies.reply(call, _UNREADABLE, "result_unreadable", approval=row.id)
    own = next((item for item in shown if isinstance(item, ToolMessage) and item.tool_call_id == identity), None)
    content: Any = own.content if own is not None else "\n".join(str(item.content) for item in shown)
    failed = own is not None and own.status == "error"
    note = {"checkvalve": {"code": "succeeded", "approval_id": row.id}}
    status: Any = "error" if failed else "success"
    return ToolMessage(content, name=name, tool_call_id=identity, status=status, artifact=note)


def _lost(result: JSON) -> bool:
    return result is None or (isinstance(result, dict) and NOT_KEPT in result)


__all__ = ["late_result"]
