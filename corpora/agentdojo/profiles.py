"""What a trust profile means for this corpus: which manifest, which engine profile, and which mandates.

``strict`` and ``contacts`` are engines over the manifests that ship. ``mandates`` is ``strict`` with the mandates of
``mandates.yaml``, as a host would supply them. ``drafted`` is ``strict`` over the manifest that ``policy draft`` writes
from the tools' schemas alone; nobody has read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import yaml

from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.facts import PROFILES as ENGINES
from checkvalve.approvals.kit_draft import draft
from checkvalve.approvals.kit_schemas import read_tools
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.manifest import load_manifest, parse_manifest
from checkvalve.approvals.toolspec import Manifest
from checkvalve.corpora.agentdojo.adapter import load_suite
from checkvalve.corpora.errors import CorpusDataError, UnknownCorpusError

MANDATES: Final = "mandates"
DRAFTED: Final = "drafted"
PROFILES: Final = (*ENGINES, MANDATES, DRAFTED)
"""The profiles of the table, in its order."""


def check_profile(profile: str, *, mode: str) -> str:
    """Return the profile.

    Raises:
        UnknownCorpusError: there is none of this name, or it is not for this mode.
    """
    known = PROFILES if mode == "guard" else ENGINES
    if profile not in known:
        what = "profile" if mode == "guard" else "profile for a pipeline"
        raise UnknownCorpusError(what, profile, list(known))
    return profile


def engine_of(profile: str) -> str:
    """Return the profile that calls are decided under."""
    return profile if profile in ENGINES else "strict"


@cache
def manifest_of(profile: str, suite: str, version: str, folder: Path | None = None) -> Manifest:
    """Return the manifest of a suite: drafted, from ``folder``, or as it ships.

    Raises:
        CorpusDataError: ``folder`` has no manifest for this suite.
    """
    if profile == DRAFTED:
        return parse_manifest(drafted_text(suite, version), f"the draft for {suite}")
    if folder is None:
        return packaged_manifest(suite)
    path = folder / f"{suite}.yaml"
    if not path.is_file():
        raise CorpusDataError(f"there is no manifest {suite}.yaml in {folder}; write one per suite")
    return load_manifest(path)


@cache
def packaged_manifest(suite: str) -> Manifest:
    """Load the manifest of a suite as it ships: it also says, for every guard, which tools have effects."""
    with as_file(files("checkvalve.corpora.manifests") / f"{suite}.yaml") as path:
        return load_manifest(path)


def drafted_text(suite: str, version: str) -> str:
    """Return what ``policy draft`` writes for the tools of a suite."""
    return draft(read_tools(load_suite(version, suite).tool_list(), f"the tools of {suite}"), suite)


def mandates_of(profile: str, suite: str, task: str) -> tuple[Mandate, ...]:
    """Return the mandates that the host supplies with a task: none but in the profile ``mandates``."""
    return all_mandates().get((suite, task), ()) if profile == MANDATES else ()


@cache
def all_mandates() -> Mapping[tuple[str, str], tuple[Mandate, ...]]:
    """Read ``mandates.yaml``.

    Raises:
        CorpusDataError: an entry is no mandate, or does not say why the task's words give it.
    """
    text = (files("checkvalve.corpora.agentdojo") / "mandates.yaml").read_text(encoding="utf-8")
    found: dict[tuple[str, str], tuple[Mandate, ...]] = {}
    for entry in yaml.safe_load(text)["tasks"]:
        key = (str(entry["suite"]), str(entry["task"]))
        if not str(entry.get("why", "")).strip() or key in found:
            raise CorpusDataError(f"mandates.yaml: {'/'.join(key)} stands there twice, or has no `why`")
        found[key] = tuple(_mandate(key, item) for item in entry["mandates"])
    return found


def _mandate(key: tuple[str, str], item: Any) -> Mandate:
    try:
        return Mandate.from_json(item)
    except MandateError as error:
        raise CorpusDataError(f"mandates.yaml: {'/'.join(key)}: {error}") from error
