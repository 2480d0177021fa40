"""Read files of cases: the calls of ``checkvalve decide``, each with what is expected of it.

Guarantees: an unknown field is an error with its place; paths in the file are relative to it; nothing has an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checkvalve.approvals.config_file import config_bytes
from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.kit_cases import CaseResult, Expectation, judge
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import Policy, load_policy
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES, read_yaml
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value, parse_strict
from checkvalve.gateway.decide_command import Case, check_case, decide_loaded
from checkvalve.gateway.errors import CaseError

SUFFIXES: Final = (".cases.yaml", ".cases.yml", ".cases.json")
"""Where the cases of ``NAME.cedar`` or ``NAME.yaml`` are looked for: beside it."""
TOOLS_SUFFIX: Final = ".tools.json"
"""Where the tool schemas of ``NAME.yaml`` are looked for: beside it."""
_FORM: Final = "a file of cases has `cases`, and may have `manifest`, `policy` and `profile`"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    manifest: str = ""
    policy: str = ""
    profile: str = "strict"
    cases: list[dict[str, Any]] = Field(min_length=1)


class _Expected(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    expect: str = Field(pattern="^(allow|review|deny)$")
    rule: str = ""
    never: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseFile:
    """A file of cases that was read; ``manifest`` and ``policy`` are what it names, if anything."""

    path: Path
    manifest: Path | None
    policy: Path | None
    profile: str
    cases: tuple[tuple[Expectation, Case], ...]

    def run(self, manifest: Manifest, policy: Policy, profile: str) -> list[CaseResult]:
        """Decide every case."""
        results = []
        for expected, case in self.cases:
            spec = manifest.find(case.call.tool, case.call.server)
            action = spec.effect.value if spec else "answer" if case.call.tool == "answer" else ""
            results.append(judge(expected, action, decide_loaded(case, manifest, policy, profile)))
        return results


def read_document(path: Path) -> JSON:
    """Return the strict value of a JSON or YAML file.

    Raises:
        ConfigError, CaseError: the file cannot be read, or is not of one meaning.
    """
    text = config_bytes(path, MAX_YAML_BYTES, ConfigError, remedy="give a readable file")
    if path.suffix != ".json":
        return read_yaml(text, str(path)).value
    try:
        return parse_strict(text)
    except HostileInputError as error:
        raise CaseError(f"{path} is not acceptable JSON [{error.code}]: {error}", "mend the file") from error


def read_cases(path: Path) -> CaseFile:
    """Return the cases in the file at ``path``.

    Raises:
        ConfigError, CaseError: the file cannot be read, or a case in it is none.
    """
    value = read_document(path)
    if isinstance(value, dict) and "tools" in value and "cases" not in value:
        raise CaseError(
            f"{path} is a manifest, no file of cases", f"write cases into {path.stem}{SUFFIXES[0]} beside it"
        )
    try:
        found = _File.model_validate(value)
    except ValidationError as error:
        raise _problem(error, path, "") from error
    cases = []
    seen: set[str] = set()
    for number, item in enumerate(found.cases, 1):
        expected, case = _split(item, number, path)
        if expected.name in seen:
            raise CaseError(f"{path}: two cases are called {expected.name!r}", "give each case its own name")
        seen.add(expected.name)
        cases.append((expected, case))
    beside = path.parent
    return CaseFile(
        path,
        beside / found.manifest if found.manifest else None,
        beside / found.policy if found.policy else None,
        found.profile,
        tuple(cases),
    )


def _split(item: Mapping[str, Any], number: int, path: Path) -> tuple[Expectation, Case]:
    own = {key: value for key, value in item.items() if key in _Expected.model_fields}
    try:
        expected = _Expected.model_validate({"name": f"case {number}", **own})
    except ValidationError as error:
        raise _problem(error, path, f"case {number}: ") from error
    rest = {key: value for key, value in item.items() if key not in own}
    try:
        case = check_case(check_value(rest))
    except (CaseError, HostileInputError) as error:
        remedy = getattr(error, "remedy", "") or "mend the case"
        raise CaseError(f"{path}: {expected.name}: {error}", remedy) from error
    verdict: Any = expected.expect
    return Expectation(expected.name, verdict, expected.rule, expected.never), case


def _problem(error: ValidationError, path: Path, place: str) -> CaseError:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(step) for step in first["loc"]) or "file"
    return CaseError(f"{path}: {place}{field}: {first['msg']}", _FORM)


def cases_beside(path: Path) -> Path | None:
    """Return the file of cases that ships beside a policy or a manifest."""
    return next((found for suffix in SUFFIXES if (found := path.with_name(path.stem + suffix)).is_file()), None)


def cases_of(path: Path) -> Path:
    """Return the file of cases that is meant: the one beside a policy or a manifest, or ``path`` itself."""
    beside = None if path.name.endswith(SUFFIXES) else cases_beside(path)
    return beside or path


def tools_beside(path: Path) -> Path | None:
    """Return the file of tool schemas that stands beside a manifest."""
    found = path.with_name(path.stem + TOOLS_SUFFIX)
    return found if found.is_file() else None


def parts_for(cases: CaseFile, manifest: Path | None, policy: Path | None) -> tuple[Manifest, Policy, Path | None]:
    """Return the manifest and the policy to decide with: what was asked for, or else what the file names.

    Raises:
        CaseError: nobody names a manifest.
        ConfigError: one of them cannot be used.
    """
    declared = manifest or cases.manifest
    if declared is None:
        raise CaseError(f"{cases.path} names no manifest", "write `manifest: FILE` in it, or give --manifest")
    rules = policy or cases.policy
    return load_manifest(declared), load_policy(rules), rules
