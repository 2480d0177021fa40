"""The files that a gateway decides by: each is read once, and what is used is what was digested.

Guarantees: a part is parsed from the very text whose digest is compared with what was adopted, so a file that is
replaced between two looks changes nothing; a file that cannot be used is named before anything is compared.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.config_file import config_bytes
from checkvalve.approvals.errors import ConfigError, ManifestError, PolicyError, ReviewRulesError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import MAX_POLICY_BYTES, Policy, parse_policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.review_rules import ReviewRules, parse_review_rules
from checkvalve.approvals.rulesets import RuleText, setting_in, settings_text
from checkvalve.approvals.store import Store
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES
from checkvalve.approvals.toolspec import Manifest
from checkvalve.gateway.adoption_settings import CONTENT, DECIDING, SIGN_IN
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.outbound import values_mark
from checkvalve.gateway.settings import Settings

PACKAGED: Final = "(packaged)"
_SCHEMA: Final = "default.cedarschema"
_POLICY: Final = "default.cedar"


@dataclass(frozen=True)
class RuleFiles:
    """What decides calls, with the texts it was made of."""

    manifest: Manifest
    policy: Policy
    texts: tuple[RuleText, ...]


def rule_files(settings: Settings) -> RuleFiles:
    """Return manifest and policy of these settings, each read once.

    Raises:
        SettingsError: no manifest is set.
        ConfigError: a file cannot be used.
    """
    manifest, policy, schema = manifest_text(settings), policy_text(settings.policy), schema_text()
    return RuleFiles(
        parse_manifest(manifest.text.encode(), manifest.file),
        parse_policy(policy.text, schema.text, name=policy.file, schema_name=schema.file),
        (manifest, policy, schema, deciding_settings(settings)),
    )


def review_file(path: Path | None) -> tuple[ReviewRules, RuleText]:
    """Return the review rules in a file, read once; without one, the defaults and an empty text.

    Raises:
        ReviewRulesError, ManifestError: it cannot be used.
    """
    text = review_text(path)
    return (parse_review_rules(text.text.encode(), text.file) if path else ReviewRules()), text


def load_adopted(adopted: Adopted, store: Store, at: int, texts: Iterable[RuleText]) -> None:
    """Note what this process decides by, and make sure that it is in force.

    Raises:
        NotAdoptedError: it is not.
        StoreCorruptError: the record of what was adopted is not what the log says.
    """
    adopted.load(texts)
    with store.read() as connection:
        adopted.require(connection, at)


def check_texts(texts: Mapping[str, RuleText]) -> None:
    """Make sure that texts can be used.

    Raises:
        ConfigError: one of them cannot.
    """
    for part in ("manifest", "review"):
        if part in texts and texts[part].text:
            read = parse_manifest if part == "manifest" else parse_review_rules
            read(texts[part].text.encode(), texts[part].file)
    if "policy" in texts:
        schema = texts.get("schema") or schema_text()
        parse_policy(texts["policy"].text, schema.text, name=texts["policy"].file, schema_name=schema.file)


def manifest_text(settings: Settings) -> RuleText:
    """Return the manifest's text.

    Raises:
        SettingsError: none is set.
        ManifestError: it cannot be read.
    """
    if settings.manifest is None:
        raise SettingsError("no manifest is set", "name the YAML file that declares the agent's tools: manifest = ...")
    return read_part("manifest", settings.manifest)


def policy_text(path: Path | None) -> RuleText:
    """Return the policy's text, the packaged one's without a path."""
    return _packaged("policy", _POLICY) if path is None else read_part("policy", path)


def schema_text() -> RuleText:
    """Return the text of the schema that the policy is checked against: always the packaged one."""
    return _packaged("schema", _SCHEMA)


def review_text(path: Path | None) -> RuleText:
    """Return the text of the review rules; without a path an empty one, which stands for the defaults."""
    return RuleText("review", "", "(none: the defaults)") if path is None else read_part("review", path)


def deciding_settings(settings: Settings) -> RuleText:
    """Return the settings that decide and are not at their defaults, a line for each.

    Raises:
        SettingsError: the file of values that never leave cannot be used.
    """
    fields, values = Settings.model_fields, settings.model_dump(mode="json", include=set(DECIDING))
    said = {name: value for name, value in values.items() if value != fields[name].default}
    if mark := values_mark(settings):
        said[CONTENT] = mark
    return RuleText("settings", settings_text(said), "(file and environment)")


def sign_in_counts(queue: Queue, settings: Settings) -> bool:
    """Say whether people may come in by these settings of an organisation's sign-in: those in force are the same.

    Else whoever can write the settings could name a sign-in of their own, and be the second person. Where nothing is in
    force, they count as they are.

    Raises:
        StoreCorruptError: the record of what was adopted is not what the log says.
    """
    current = queue.rule_changes.current()
    if current is None:
        return True
    adopted, mine = queue.rule_changes.texts(current)["settings"], deciding_settings(settings).text
    return all(setting_in(adopted, name) == setting_in(mine, name) for name in SIGN_IN)


def read_part(part: str, path: Path) -> RuleText:
    """Return the text of one file.

    Raises:
        ManifestError, PolicyError, ReviewRulesError: it cannot be read, is too long, or is not UTF-8.
    """
    kind, limit = _KINDS[part]
    remedy = "give the path of a readable file" if part != "review" else "check the setting `review_rules`"
    found = config_bytes(path, limit, kind, remedy=remedy)
    if len(found) > limit:
        raise kind(f"larger than {limit} bytes", file=str(path), remedy="split it, one for each agent")
    try:
        return RuleText(part, found.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        line = found[: error.start].count(b"\n") + 1
        raise kind("not UTF-8", file=str(path), line=line, remedy="save the file as UTF-8") from None


_KINDS: Final[Mapping[str, tuple[type[ConfigError], int]]] = {
    "manifest": (ManifestError, MAX_YAML_BYTES),
    "policy": (PolicyError, MAX_POLICY_BYTES),
    "review": (ReviewRulesError, MAX_YAML_BYTES),
}


def _packaged(part: str, name: str) -> RuleText:
    found = importlib.resources.files("checkvalve.approvals").joinpath(name).read_bytes()
    return RuleText(part, found.decode("utf-8"), f"{name} {PACKAGED}")


__all__ = [
    "RuleFiles", "check_texts", "deciding_settings", "load_adopted", "manifest_text", "policy_text",
    "read_part", "review_file", "review_text", "rule_files", "schema_text", "sign_in_counts",
]  # fmt: skip
