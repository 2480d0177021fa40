"""What has to hold of the form of an answer over HTTP before anything is looked up: the arguments of an edit, words.

Guarantees: pure; an item that is made up meets the same as a call that is not.
"""

from __future__ import annotations

from typing import Any

from checkvalve.approvals.inert import inert
from checkvalve.approvals.remarks import checked_text
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.spoken import kept
from checkvalve.gateway.http_approval_views import Answer
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.shown_edits import exact


def edited_args(row: Seen, body: Answer, *, foreign: bool) -> dict[str, Any]:
    """Return the arguments of an edit; it is of the same tool, under the name that the call was shown with.

    Raises:
        Problem: it gives no call, or one of another tool.
    """
    action = body.edited_action
    if action is None:
        raise Problem(422, "edit_needed", "an edit gives the whole call", 'send {"edited_action": {"name", "args"}}')
    full = f"{row.server}/{row.tool}" if row.server else row.tool
    if action.name not in {full, row.tool, inert(full)}:
        raise Problem(422, "other_tool", "an edit cannot change the tool", "reject this call; another one is proposed")
    return exact(row.args(), action.args) if foreign else action.args


def require_usable(body: Answer, row: Seen, *, foreign: bool) -> None:
    """Make sure that an answer could be one to a call that is shown as ``row``.

    Raises:
        Problem, QueueError: it could not.
    """
    if body.type == "respond":
        checked_text(body.message)
    elif body.type == "edit":
        edited_args(row, body, foreign=foreign)
    else:
        kept(body.message)


__all__ = ["edited_args", "require_usable"]
