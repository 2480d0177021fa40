"""The documentation against the code: generated parts are up to date, and nothing public is left out."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
GENERATED = ["README.md", *(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").glob("*.md")))]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", GENERATED)
def test_generated_parts_are_up_to_date(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate_docs.py", "--check", page],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nrun `make docs` and read the difference"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert not [target for target in targets if target and not (page.parent / target).exists()]


def test_every_picture_is_shown_says_what_is_to_be_seen_and_is_small() -> None:
    files = {file.stem: file for file in (ROOT / "docs/screenshots").glob("*.png")}
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    shown = [found for text in texts for found in re.findall(r"!\[([^\]]*)\]\(screenshots/([\w-]+)\.png\)", text)]
    assert {name for _, name in shown} == set(files)
    assert not [name for alt, name in shown if len(alt.split()) < 4], "an alt text says what is to be seen"
    assert not [name for name, file in files.items() if file.stat().st_size > 300_000]


def test_every_rule_of_the_default_policy_is_explained() -> None:
    page = read("docs/policy.md")
    rules = re.findall(r'@id\("([^"]+)"\)', read("approvals/default.cedar"))
    assert rules
    assert not [rule for rule in rules if f"`{rule}`" not in page]


def test_every_fact_is_explained() -> None:
    page = read("docs/policy.md")
    facts = re.findall(r"^  (\w+)\??: ", read("approvals/default.cedarschema"), re.MULTILINE)
    assert facts
    assert not [fact for fact in facts if f"`{fact}`" not in page]


def test_every_state_of_a_call_is_explained() -> None:
    from checkvalve.approvals.records import State

    page = read("docs/approvals.md")
    assert not [state for state in State if f"`{state}`" not in page]


def test_the_index_leads_to_every_page() -> None:
    index = read("docs/index.md")
    pages = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md"]
    assert not [name for name in pages if f"({name})" not in index]
    assert not [page.name for page in (ROOT / "docs" / "adr").glob("*.md") if f"(adr/{page.name})" not in index]


def test_a_threat_page_says_what_it_does_not_protect_against() -> None:
    assert "## What this does not protect against" in read("docs/threat-model.md")


def test_the_readme_shows_its_two_commands_first() -> None:
    readme = read("README.md")
    assert -1 < readme.index("make demo") < readme.index("make test")
    assert "<!-- made: file examples/langchain_agent.py -->" in readme


def test_paths_in_the_map_of_concepts_exist() -> None:
    names = re.findall(r"`((?:filters|approvals|graphs|gateway|corpora)/[\w/.]+)`", read("docs/dataflow.md"))
    assert names
    assert not [name for name in names if not (ROOT / name).exists()]


def blocks(language: str) -> list[tuple[str, str]]:
    """Return every fenced block of a language, with its page."""
    found = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [(page.name, block) for page in PAGES for block in found.findall(page.read_text(encoding="utf-8"))]


def test_manifests_in_the_documentation_load() -> None:
    from checkvalve.approvals.manifest import parse_manifest
    from checkvalve.approvals.review_rules import parse_review_rules

    rules = "everywhere:"  # a page on who has to say yes shows another kind of file
    manifests = [(name, block) for name, block in blocks("yaml") if rules not in block]
    assert manifests
    for name, block in manifests:
        assert parse_manifest(block, name).tools
    for name, block in blocks("yaml"):
        if (name, block) not in manifests:
            parse_review_rules(block, name)


def test_settings_in_the_documentation_are_settings() -> None:
    from checkvalve.gateway.settings import Settings

    assert blocks("toml")
    for _, block in blocks("toml"):
        Settings.model_validate(tomllib.loads(block))


def test_commands_in_the_documentation_exist() -> None:
    known = set(re.findall(r"^#+ `(checkvalve[^`]*)`$", read("docs/cli.md"), re.MULTILINE))
    wrong = []
    for page in PAGES:
        for line in re.findall(
            r"(checkvalve (?:approvals|audit|corpus|decide|policy|doctor)[a-z ]*)", page.read_text(encoding="utf-8")
        ):
            words = line.split()
            if not any(" ".join(words[:size]) in known for size in range(2, len(words) + 1)):
                wrong.append(f"{page.name}: {line}")
    assert not wrong
