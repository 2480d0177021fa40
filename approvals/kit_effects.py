"""Guess what one tool does from all that is said of it: the name, its arguments, its description, the server's hints.

Guarantees: pure; whatever comes after the name can only make the guess stricter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_arguments import FORMATS, plain, role_of
from checkvalve.approvals.kit_roles import is_statement
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.kit_variants import strongest_choice
from checkvalve.approvals.kit_words import RANK, guess_effect, leaves_domain, parts, saves, told_effect

_READING: Final = frozenset({"get", "head", "options"})
_AMENDING: Final = frozenset({("update",), ("edit",), ("change",), ("modify",), ("patch",)})


def effect_of(tool: ToolSchema) -> tuple[Effect, str, str]:
    """Return effect, confidence and reason: the name's guess, raised by whatever else warns, never lowered by any.

    1. The name. 2. An argument that holds a statement or command makes it run something. 3. The values of an argument
    that chooses what it does. 4. What the description tells beside the name; that somebody is told of it counts where
    an argument could carry a text. 5. The server's hints.
    """
    effect, sure = guess_effect(tool.name)
    why = "from the name" if sure != "low" else "the name says nothing, so the strictest guess"
    if effect in {Effect.READ, Effect.WRITE} and any(is_statement(name) for name in tool.arguments):
        effect, sure, why = Effect.EXECUTE, "medium", "an argument is run as a command or statement"
    if effect is Effect.READ and any(saves(name) for name in tool.arguments):
        effect, sure, why = Effect.WRITE, "medium", "an argument says where it is saved"
    chosen = strongest_choice(tool)
    if chosen is not None and RANK[chosen] > RANK[effect]:
        effect, sure, why = chosen, "medium", "a value of one of its arguments says so"
    told = told_effect(tool.description, effect)
    if told is not None and (told is not Effect.SEND or sure == "low" or _carries_text(tool, effect)):
        effect, sure, why = told, "medium", "its description says so"
    destructive = tool.hints.get("destructiveHint") is True or tool.hints.get("method") == "delete"
    changes = tool.hints.get("readOnlyHint") is False or str(tool.hints.get("method", "get")) not in _READING
    if effect is Effect.READ and (changes or destructive):
        return (Effect.DELETE if destructive else Effect.WRITE), "low", "the name reads, but the server says it changes"
    if tool.hints.get("destructiveHint") is True and RANK[effect] < RANK[Effect.DELETE]:
        return effect, "low", "the server says that it destroys; is it a `delete`?"
    return effect, sure, why


def goes_outside(tool: ToolSchema) -> bool:
    """Say whether a read seems to carry its arguments out of the trust domain."""
    names = list(tool.arguments)
    addressed = any(FORMATS.get(str(plain(item).get("format", ""))) in {"url", "host"} for item in _schemas(tool))
    return addressed or leaves_domain(tool.name, names, tool.description) or tool.hints.get("openWorldHint") is True


def _schemas(tool: ToolSchema) -> Iterator[Mapping[str, Any]]:
    return (item for item in tool.arguments.values() if isinstance(item, Mapping))


def _carries_text(tool: ToolSchema, effect: Effect) -> bool:
    """Say whether an argument could carry what was read to somebody: a text, or a destination."""
    for name, schema in tool.arguments.items():
        role, kind, *_ = role_of(name, schema if isinstance(schema, Mapping) else {}, effect, tool.name)
        if role is Role.TARGET or (role is Role.CONTENT and kind != "date"):
            return True
    return False


def is_side_target(name: str, tool: ToolSchema, effect: Effect) -> bool:
    """Say whether a destination may be left out without the call going to everybody.

    It is not required, and either another destination is, or the tool by its name only writes: then it tells those who
    are listed, and nobody when nobody is.
    """
    if name in tool.required or effect not in {Effect.SEND, Effect.PAY, Effect.WRITE}:
        return False
    if RANK[guess_effect(tool.name)[0]] <= RANK[Effect.WRITE] or parts(tool.name)[:1] in _AMENDING:
        return True
    schemas = {key: item for key, item in tool.arguments.items() if isinstance(item, Mapping)}
    others = [role_of(key, item, effect, tool.name)[0] for key, item in schemas.items() if key in tool.required]
    return Role.TARGET in others
