"""One request of the user is for one effect: what counts as doing it again.

Guarantees: pure; paying the same recipient again counts whatever the sum and the note, every other effect counts when
its call is the same to the last byte. Of an effect whose content was erased nobody can tell any more what it was, so
every further effect of its tool in that task counts as the same.
"""

from __future__ import annotations

from collections.abc import Collection

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.values import canonical


def effect_key(request: ActionRequest, spec: ToolSpec) -> str:
    """Return what two calls share when the second does the first one again."""
    if spec.effect is not Effect.PAY:
        return request.digest
    targets: dict[str, JSON] = {name: _form(name, value, spec) for name, value in request.args.items()}
    kept = {name: value for name, value in targets.items() if _is_target(name, spec)}
    return digest({"tool": request.tool, "server": request.server, "targets": kept})


def erased_key(tool: str, server: str) -> str:
    """Return what stands for an effect of a tool whose content was erased."""
    return digest({"erased": True, "tool": tool, "server": server})


def is_repeated(request: ActionRequest, spec: ToolSpec, done: Collection[str]) -> bool:
    """Say whether a call does again what was done; ``done`` are the keys of a task's effects."""
    return effect_key(request, spec) in done or erased_key(request.tool, request.server) in done


def _is_target(name: str, spec: ToolSpec) -> bool:
    argument = spec.args.get(name)
    return argument is None or argument.role in {Role.TARGET, Role.SELECTOR}


def _form(name: str, value: JSON, spec: ToolSpec) -> JSON:
    """Compare a text in its canonical form, so that another spelling of one account is no other account.

    A list is what it holds, without order and doubles: one account in a list is that account.
    """
    argument = spec.args.get(name)
    kind = argument.kind if argument else "text"
    if isinstance(value, list):
        members = {digest(_form(name, item, spec)): _form(name, item, spec) for item in value}
        return next(iter(members.values())) if len(members) == 1 else [members[key] for key in sorted(members)]
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return value
    return canonical(kind, str(value)) or str(value)
