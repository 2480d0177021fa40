"""What a manifest's ``probe_with`` must say of the tools around it. Each check is a line of :func:`probe_problem`.

1. It goes with ``idempotency: probe``, and each is an error without the other. 2. The tool has an effect. 3. Another
tool of the server only reads inside, and its arguments exist on both sides. 4. Each condition is on a field that this
tool declares, that outsiders cannot write whatever another field holds: else they would say what happened. 5. An
argument that a field is compared with is one of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from checkvalve.approvals.fieldspec import Effect, ResultField
from checkvalve.approvals.pin_declared import WHOLE, fields_of
from checkvalve.approvals.probespec import ProbeSpec
from checkvalve.approvals.strictyaml import nearest
from checkvalve.approvals.toolspec import Idempotency, Manifest, ToolSpec
from checkvalve.approvals.undo_declared import Problem, has_argument, reading_problems

_HERE: Final = ("probe_with",)


def probe_problem(spec: ToolSpec, manifest: Manifest) -> Problem | None:
    """Return the first thing that is wrong with how ``spec`` says its effect is looked for, if anything is."""
    return next(_problems(spec, manifest), None)


def _problems(spec: ToolSpec, manifest: Manifest) -> Iterator[Problem]:
    probe, wanted = spec.probe_with, spec.idempotency is Idempotency.PROBE
    if probe is None:
        if wanted:
            text = "`idempotency: probe` says that the effect can be looked for, and not how"
            yield Problem(text, "say in `probe_with` which read shows it, or leave `idempotency` out", ("idempotency",))
        return
    if not wanted:
        text = "`probe_with` is used for a tool with `idempotency: probe` only"
        yield Problem(text, "write `idempotency: probe`, or leave `probe_with` out", _HERE)
    if spec.effect is Effect.READ:
        yield Problem("a tool that reads has no effect to look for", "write `idempotency: read`", _HERE)
    yield from reading_problems(spec, probe.look, manifest, _HERE)
    reads = manifest.find(probe.tool, spec.server)
    if reads is not None:
        yield from _conditions(spec, probe, reads)


def _conditions(spec: ToolSpec, probe: ProbeSpec, reads: ToolSpec) -> Iterator[Problem]:
    for name, condition in probe.conditions.items():
        steps, fields = (*_HERE, name), fields_of(condition.path, reads.result)
        if not fields:
            known = [field.path if field.path == WHOLE else f"{WHOLE}.{field.path}" for field in reads.result]
            hint = nearest(condition.path, known) if known else "declare it under `result`"
            yield Problem(f"{reads.name!r} declares no field {condition.path!r}", hint, (*steps, "path"))
        elif not is_sound(fields):
            text = f"outsiders can write {condition.path!r}, so they would say what happened"
            remedy = "name a field that is declared for owner or members, without a `when`"
            yield Problem(text, remedy, (*steps, "path"))
        if condition.argument is not None and not has_argument(spec, condition.argument):
            text = f"{spec.name!r} has no argument {condition.argument!r}"
            yield Problem(text, nearest(condition.argument, list(spec.args)), (*steps, "argument"))


def is_sound(fields: Sequence[ResultField]) -> bool:
    """Say whether nobody outside can put a value where all of these declarations are of."""
    return bool(fields) and all(field.trusted and not field.when for field in fields)


__all__ = ["is_sound", "probe_problem"]
