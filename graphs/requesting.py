"""From a request of the actor to the call that is decided: references put in, the tool's pinned schema looked at."""

from __future__ import annotations

from checkvalve.approvals.verdicts import Deny
from checkvalve.graphs.calls import Call, runs_in_sandbox
from checkvalve.graphs.desk import Desk
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.expansion import expand, has_reference
from checkvalve.graphs.state import JsonObject, PipelineState
from checkvalve.graphs.subagents import LITERAL, SubAgent

UNREGISTERED = Deny("unregistered-tool", "unregistered_tool", "use a tool that you were given")
"""The verdict on a call of a tool that this pipeline does not have, whatever the manifest says of it."""


def call_of(desk: Desk, state: PipelineState, request: JsonObject) -> Call:
    """Return the call that a request stands for.

    Raises:
        CodedError: a reference in it is unknown, or stands where the actor has to write itself.
    """
    tool, args = str(request["tool"]), request["args"]
    if isinstance(desk.toolbox.tools.get(tool), SubAgent) and has_reference(args.get(LITERAL)):
        raise CodedError("literal_only", LITERAL)
    server = desk.servers.get(tool, "")
    spec = desk.services.manifest.find(tool, server)
    done = expand(args, spec, desk.book(state), max_chars=desk.limits.max_answer)
    return Call(
        tool=tool,
        args=done.args,
        id=str(request["id"]),
        server=server,
        turn=str(request["turn"]),
        schema_digest=desk.toolbox.digests.get(tool),
        references=done.references,
        sandboxed=runs_in_sandbox(desk.toolbox.tools.get(tool)),
    )


def refuse_unregistered(desk: Desk, tool: str) -> Deny | None:
    """Return the verdict on a tool that this pipeline was not given."""
    return None if tool in desk.toolbox.tools else UNREGISTERED
