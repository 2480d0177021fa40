"""Lint how a tool's effect is previewed, against the schemas that are shipped or given, and say what nobody can check.

Guarantees: pure; a dry run by an argument that the tool does not have is an error, since the call would be real; that a
tool honours its dry run is its own word, and whoever declares it is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.preview_declared import schema_problem
from checkvalve.approvals.toolspec import ToolSpec

_HERE: Final = ("preview", "dry_run")


def check_preview(spec: ToolSpec, shipped: Mapping[str, Any] | None, report: Report) -> Iterator[Finding]:
    """Yield what is wrong with the dry run of a tool, and that it rests on the tool's word."""
    fixed = None if spec.preview is None else spec.preview.fixed
    if fixed is None:
        return
    name, value = fixed
    if shipped is not None and (wrong := schema_problem(name, value, shipped)) is not None:
        yield report("no-dry-run", *wrong, *_HERE, name)
        return
    unseen = "" if shipped is not None else "; no schema was given, so not even its name was checked"
    yield report(
        "trusts-dry-run",
        f"a call that waits is first made with `{name}`, and that it does nothing then is the tool's own word{unseen}",
        "name another tool that reads, or see that this one really only tries, and note it: # lint-ok: trusts-dry-run",
        *_HERE,
        name,
        level="warning",
    )


__all__ = ["check_preview"]
