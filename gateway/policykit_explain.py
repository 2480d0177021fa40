"""``checkvalve policy explain``: the steps of one decision, for a case in a file or a call in the store.

Guarantees: nothing is recorded; values and sources are made safe for a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.facts import PROFILES
from checkvalve.approvals.kit_explain import WANTED, Explanation, explain
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import Policy, load_policy
from checkvalve.approvals.render import neutralise, short
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.strictjson import MAX_BYTES
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.decide_command import Case, decide_loaded, read_case
from checkvalve.gateway.errors import CaseError, SettingsError
from checkvalve.gateway.policykit_cases import SUFFIXES, CaseFile, parts_for, read_cases
from checkvalve.gateway.settings import LoadedSettings

Loaded = Callable[[], LoadedSettings]
ManifestOption = Annotated[Path | None, typer.Option("--manifest", help="The manifest; default: that of the settings.")]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", help="The policy; default: that of the settings, or the packaged one.")
]
_STYLES: Final = {"allow": "green", "review": "yellow", "deny": "red"}
_NAMED: Final = 12  # cases that an error names
_WIDTH: Final = 120  # where there is no terminal to ask


@dataclass(frozen=True)
class Explained:
    """What there is to explain, from wherever it came."""

    tool: str
    server: str
    args: Mapping[str, Any]
    decision: Mapping[str, Any]
    digest: str = ""


def parts_of(settings: LoadedSettings, manifest: Path | None, policy: Path | None) -> tuple[Manifest, Policy]:
    """Return manifest and policy: those that are named, or else those of the settings.

    Raises:
        SettingsError: nobody names a manifest.
        ConfigError: one of them cannot be used.
    """
    declared = manifest or settings.settings.manifest
    if declared is None:
        raise SettingsError("no manifest is named", "give --manifest FILE, or settings that name one (--config FILE)")
    return load_manifest(declared), load_policy(policy or settings.settings.policy)


def command(loaded: Loaded) -> Callable[..., None]:
    """Return the command, over these settings."""

    def explain_(
        call: Annotated[
            str,
            typer.Argument(
                help="A case (a JSON file, or - for standard input), a file of cases, or the start of a proposal's id."
            ),
        ],
        *,
        case: Annotated[str, typer.Option(help="In a file of cases: the name of one, or a part of it.")] = "",
        manifest: ManifestOption = None,
        policy: PolicyOption = None,
        profile: Annotated[str, typer.Option(help="The trust profile, for a case; default: the settings'.")] = "",
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Show how a call is decided, step by step, and what would make a question unnecessary."""
        settings = loaded()
        file = _case_file(call)
        if file is not None:
            declared, rules, _ = parts_for(file, manifest, policy)
            found = _decided(_chosen(file, case), declared, rules, profile or file.profile)
        else:
            declared, rules = parts_of(settings, manifest, policy)
            found = _case(call, declared, rules, profile or settings.settings.profile) or _stored(call, settings)
        spec = declared.find(found.tool, found.server)
        now = spec.effect.value if spec else "answer" if found.tool == "answer" else ""
        action = str(found.decision.get("action") or now)
        explanation = explain(found.tool, action, spec, found.decision, rules, found.digest)
        if as_json:
            typer.echo(json.dumps(explanation.to_json(), indent=2))
        else:
            _show(explanation, found.args)

    return explain_


def _case_file(call: str) -> CaseFile | None:
    path = Path(call)
    return read_cases(path) if path.is_file() and (path.suffix != ".json" or path.name.endswith(SUFFIXES)) else None


def _chosen(file: CaseFile, wanted: str) -> Case:
    """Return the one case whose name is, or holds, the wanted text."""
    cases = {expected.name: case for expected, case in file.cases}
    if wanted in cases:
        return cases[wanted]
    fits = [name for name in cases if wanted.casefold() in name.casefold()]
    if len(fits) == 1:
        return cases[fits[0]]
    names = "; ".join(short(name) for name in list(fits or cases)[:_NAMED])
    many = f"{len(fits)} cases of {file.path} fit {wanted!r}" if wanted else f"{file.path} has {len(fits)} cases"
    raise CaseError(many, f"give one with --case: {names}")


def _case(call: str, manifest: Manifest, policy: Policy, profile: str) -> Explained | None:
    path = Path(call)
    if call != "-" and not path.is_file():
        return None
    try:
        text = sys.stdin.buffer.read(MAX_BYTES + 1) if call == "-" else path.read_bytes()[: MAX_BYTES + 1]
    except OSError as error:
        raise CaseError(f"{call} cannot be read: {error.strerror}", "give a readable file") from error
    return _decided(read_case(text), manifest, policy, profile)


def _decided(case: Case, manifest: Manifest, policy: Policy, profile: str) -> Explained:
    if profile not in PROFILES:
        raise CaseError(f"there is no profile {profile!r}", f"use one of: {', '.join(PROFILES)}")
    decision = decide_loaded(case, manifest, policy, profile)
    body = decision.to_json()
    for item, report in zip(body["arguments"], decision.arguments, strict=True):  # type: ignore[call-overload]
        item["covered_by"] = report.covered_by
    return Explained(case.call.tool, case.call.server, case.call.args, body)


def _stored(call: str, loaded: LoadedSettings) -> Explained:
    try:
        queue = open_queue(loaded.settings, create=False)
        row = queue.veiling.seen(queue.find(call))
    except NotFoundError as error:
        raise CaseError(f"there is no file and no proposal {call!r}", "give a case, or the start of an id") from error
    decision = {**row.decision, "verdict": row.verdict_name, "rule": row.rule, "reason": row.reason}
    return Explained(row.tool, row.server, row.args(), decision, row.digest)


def _show(explanation: Explanation, args: Mapping[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    style = _STYLES.get(explanation.verdict, "")

    def line(*parts: tuple[str, str] | str) -> None:
        console.print(Text.assemble(*parts), soft_wrap=True)

    line(f"{short(explanation.tool)}  ", (explanation.verdict, f"bold {style}"), f"  {explanation.rule}")
    for step in explanation.steps:
        line((f"{step.number}. {step.name:<12}", "bold"), short(step.outcome))
        for detail in step.details:
            shown = neutralise(detail)
            path = detail.split("  ", 1)[0]
            value = _value(args, path) if step.number == 3 and not detail.startswith(" ") else None  # noqa: PLR2004
            line("     ", (shown, "dim" if detail.startswith(" ") else ""), f"  = {value}" if value is not None else "")
    if explanation.verdict == "allow":
        return
    console.print(Text("What would make it unnecessary:", style="bold"))
    for remedy in explanation.remedies:
        line("   - ", neutralise(remedy))
    for change in explanation.changes:
        line("   - it would run if ", " and ".join(f"{WANTED[name]} ({name})" for name in change))


def _value(args: Mapping[str, Any], path: str) -> str | None:
    here: Any = args
    for step in path.split("."):
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return short(json.dumps(here, ensure_ascii=False)) if not isinstance(here, Mapping | list) else None
