"""``checkvalve policy lint|explain|draft|pin|test|diff|replay|simulate|gallery``: the kit for writers of manifests.

Guarantees: nothing is executed and no decision is recorded; exit code 0 is a yes, 1 a clear no (an error found, a case
that fails, a decision that changes), 2 that there was nothing to judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.kit_cases import negative_tests
from checkvalve.approvals.kit_cedar import read_formulas
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_rules import lint_policy
from checkvalve.approvals.policy import MAX_POLICY_BYTES
from checkvalve.gateway import policykit_explain, policykit_gallery, policykit_replay, policykit_run, policykit_write
from checkvalve.gateway.policykit_cases import cases_beside, parts_for, read_cases, tools_beside
from checkvalve.gateway.policykit_terminal import (
    AsJson,
    counted,
    finish,
    packaged,
    packaged_path,
    say,
    text_of,
    tools_of,
)
from checkvalve.gateway.settings import LoadedSettings

Tools = Annotated[
    Path | None,
    typer.Option(
        "--tools",
        help="Tool schemas: MCP `tools/list`, OpenAI tools or OpenAPI; default: NAME.tools.json beside it.",
    ),
]


def register(policy: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    """Add the commands of the kit to ``checkvalve policy``."""
    policy.command("lint")(lint)
    policy.command("draft")(policykit_write.draft_)
    policy.command("pin")(policykit_write.pin)
    policy.command("test")(policykit_run.run_cases)
    policy.command("simulate")(policykit_run.simulate)
    policy.command("diff")(policykit_replay.diff_command(loaded))
    policy.command("replay")(policykit_replay.replay_command(loaded))
    policy.command("explain")(policykit_explain.command(loaded))
    policy.add_typer(policykit_gallery.gallery, name="gallery")


def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Manifests (YAML) and policies (.cedar); none: the packaged policy.")
    ] = None,
    *,
    tools: Tools = None,
    cases: Annotated[
        Path | None, typer.Option(help="Cases of the policy; default: NAME.cases.yaml or .json beside it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find what is wrong in manifests and policies that load all the same."""
    found: list[Finding] = []
    schema = packaged("default.cedarschema")
    if not files:
        own = packaged_path("default.cedar")
        found = lint_policy(packaged("default.cedar"), schema, "default.cedar", _negative(own, cases))
    for file in files or ():
        if file.suffix == ".cedar":
            found += lint_policy(text_of(file, MAX_POLICY_BYTES), schema, str(file), _negative(file, cases))
        else:
            found += lint_manifest(text_of(file), str(file), tools_of(tools or tools_beside(file)))
    errors = sum(item.level == "error" for item in found)
    if as_json:
        typer.echo(json.dumps([item.to_json() for item in found], indent=2))
    else:
        for item in found:
            say(f"{item.file}:{item.line}: {item.level} [{item.code}] {item.field}: {item.message}")
            say(f"   do: {item.remedy}")
        typer.echo(f"{counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}")
    finish(good=not errors)


def _negative(policy: Path, cases: Path | None) -> list[str] | None:
    """Return the permits that have a negative test; None where there are no cases. Cases need a policy that loads."""
    path = cases or cases_beside(policy)
    if path is None:
        return None
    file = read_cases(path)
    try:
        manifest, rules, _ = parts_for(file, None, policy)
    except ConfigError:
        return []
    formulas = read_formulas(text_of(policy, MAX_POLICY_BYTES), str(policy))
    return negative_tests(formulas, file.run(manifest, rules, file.profile))
