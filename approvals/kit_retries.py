"""Lint what a tool says of a crash in the middle of a call: a key has to reach the server, a probe has to be strong.

Guarantees: pure. That a server really knows a repeated call by its key, and for how long, is its own word; where the
key cannot even reach it, or a probe may find what was there before, whoever declares it is told so.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.toolspec import Idempotency, ToolSpec


def check_retries(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    """Yield what rests on somebody's word, or on nothing, when a call is tried again or looked for."""
    if spec.idempotency is Idempotency.KEY and spec.server:
        yield report(
            "key-not-passed",
            f"the server {spec.server!r} is sent the arguments and no key, so it would do the call again",
            "hand `idempotency_key()` on in the tool's own code, and note it: # lint-ok: key-not-passed; or leave "
            "`idempotency` out",
            "idempotency",
            level="warning",
        )
    probe = spec.probe_with
    if probe is None or any(item.key for item in probe.args.values()):
        return
    if all(item.argument is None for item in probe.args.values()):
        yield report(
            "no-probe",
            "the probe takes nothing from the call, so it does not look for this one",
            "give it the key, `{key: true}`, or an argument of the call",
            "probe_with",
            "args",
        )
        return
    yield report(
        "weak-probe",
        "without the key, the probe may find what was there before the call",
        "give it the key, `{key: true}`, where the server keeps it, or note it: # lint-ok: weak-probe",
        "probe_with",
        "args",
        level="warning",
    )


__all__ = ["check_retries"]
