"""What is known of the commands in a call: whether they have a declared shape, and whose word their words have.

1. A tool that runs code needs a sandbox: declared in its manifest, and configured. 2. Every argument of role
``command`` has to be read and to have a declared shape; one that is hidden in an object has none, and a call without
any runs nothing that is known. 3. Of the words of a command those count that were chosen for this call; the others are
the deployer's. The program itself was chosen as well, unless the user's words ask for what the shape is declared to do.
4. A shape that only reads, in a sandbox that nothing leaves, needs nobody's word: it is a read inside the trust domain.

Guarantees: pure; what cannot be established is false, and a call can only get stricter here unless a shape fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from checkvalve.approvals.attributed import AttributedLeaf
from checkvalve.approvals.commandline import CommandLineError
from checkvalve.approvals.commands import CommandMatch, match
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.asking import asks_for


def command_facts(
    request: ActionRequest,
    spec: ToolSpec,
    leaves: Sequence[AttributedLeaf],
    said: str,
    facts: Mapping[str, bool | str],
    *,
    sandbox: bool,
) -> dict[str, bool | str]:
    """Return ``facts`` with what is known of commands. ``sandbox`` says that one is configured."""
    runs_code = spec.effect is Effect.EXECUTE
    if not runs_code and not spec.commands:
        return {**facts, "command_ok": True, "sandboxed": True}  # nothing is run, so there is nothing to hold in
    sandboxed = spec.sandbox is not None and sandbox
    network = spec.sandbox is not None and spec.sandbox.network
    closed = runs_code and sandboxed and not network and not spec.leaves_domain
    found = _matches(request, spec)
    inner = any(item.spec.role is Role.COMMAND and item.leaf.path[0] not in found for item in leaves)
    known = {
        **facts,
        "command_ok": bool(found) and not inner and all(one is not None for one in found.values()),
        "sandboxed": sandboxed or not runs_code,
        "leaves_domain": spec.leaves_domain or network,
    }
    if not known["command_ok"]:
        return known
    shapes = [one.shape for one in found.values() if one is not None]
    reads = closed and all(shape.reads_only for shape in shapes)
    if closed:  # nothing leaves a closed sandbox, and to run a command again changes what it changed before
        known |= {"repeated": False, "readers_ok": True, "links_ok": True}
    known["asked"] = reads or bool(known["asked"]) or all(_asked(one, said) for one in found.values())
    known["commands_ok"] = reads or all(_has_word(name, one, leaves, said) for name, one in found.items())
    known["within_limits"] = bool(known["within_limits"]) and not any(shape.review for shape in shapes)
    return known


def _matches(request: ActionRequest, spec: ToolSpec) -> dict[str, CommandMatch | None]:
    """Return the shape of each command argument that was given; None for one that has none or cannot be read."""
    found: dict[str, CommandMatch | None] = {}
    for name, argument in spec.args.items():
        if argument.role is Role.COMMAND and request.args.get(name) is not None:
            try:
                found[name] = match(request.args[name], spec.commands)
            except CommandLineError:
                found[name] = None
    return found


def _asked(found: CommandMatch | None, said: str) -> bool:
    return found is not None and bool(found.shape.asks) and asks_for(said, found.shape.asks, ())


def _has_word(name: str, found: CommandMatch | None, leaves: Sequence[AttributedLeaf], said: str) -> bool:
    """Say whether every word that was chosen for this call has an origin that suffices.

    A text is one value: it is attributed as a whole, unless no word of it was chosen.
    """
    if found is None:
        return False
    own = {item.leaf.path[1:]: item.sufficient for item in leaves if item.leaf.path[:1] == (name,)}
    needed = list(_needed(found, said))
    if own.get(()):
        return True
    return all(own.get((place,), not found.words[place]) for place in needed)  # an empty word says nothing


def _needed(found: CommandMatch, said: str) -> Iterator[int]:
    """Yield the places of the words that need somebody's word."""
    yield from found.chosen
    if not _asked(found, said):
        yield from range(len(found.shape.words))
