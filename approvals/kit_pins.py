"""Lint what a tool's ``pin`` says, against the schemas that are shipped or given, and say what nobody can check.

Guarantees: pure; a file that is named by no text of the real tool is an error. That a version changes with its record
is the word of whoever writes the field, and where outsiders do, whoever declares it is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from checkvalve.approvals.fieldspec import TRUSTED
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.pin_declared import WHOLE, field_of, type_problem
from checkvalve.approvals.pinspec import PinSpec
from checkvalve.approvals.toolspec import Manifest, ToolSpec


def check_pins(
    spec: ToolSpec, shipped: Mapping[str, Any] | None, manifest: Manifest, report: Report
) -> Iterator[Finding]:
    """Yield what is wrong with what a tool pins, one finding for each place."""
    for number, pin in enumerate(spec.pin):
        steps = ("pin", number)
        if pin.file and shipped is not None and (wrong := type_problem(pin.file, shipped)) is not None:
            yield report("no-pin", *wrong, *steps, "file")
        if pin.tool:
            yield from _version(spec, pin, manifest, report, steps)


def _version(
    spec: ToolSpec, pin: PinSpec, manifest: Manifest, report: Report, steps: tuple[str | int, ...]
) -> Iterator[Finding]:
    reads = manifest.find(pin.tool, spec.server)
    fields = () if reads is None else reads.result
    known = [path for path in pin.version if path != WHOLE]
    for path in known:
        field = field_of(path, fields)
        if field is not None and field.writable_by not in TRUSTED:
            yield report(
                "pin-by-outsiders",
                f"outsiders write {path!r}, so whoever changes the record can leave its version as it was",
                "pin a field that the server sets, or `$`, the whole record; or note it: # lint-ok: pin-by-outsiders",
                *steps,
                "version",
                level="warning",
            )
    if pin.args and all(value.argument is None for value in pin.args.values()):
        yield report(
            "no-pin",
            "the read takes nothing from the call, so it is not of what the call points at",
            "give its record's id from an argument of the call: {id: {argument: id}}",
            *steps,
            "args",
            level="warning",
        )


__all__ = ["check_pins"]
