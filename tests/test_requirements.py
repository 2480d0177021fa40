"""The claims manifest, both ways: claims against tests, and the pages that are made from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import CLAIMS, SURFACES, Claim, Status

TESTS = Path(__file__).parent
CLAIM_IDS = {claim.id for claim in CLAIMS}
MUST_HAVE_TESTS = {"C2", "C3", "C4", "C5", "C9"}
LATER = {"agentdojo", "localmodel", "nightly"}
"""Marks of tests that `make test` leaves out."""


def _ids_of(node: ast.expr) -> Iterator[str]:
    """Yield the ids in ``pytest.mark.claim(...)``, alone or in a list of marks."""
    if isinstance(node, ast.List | ast.Tuple):
        for element in node.elts:
            yield from _ids_of(element)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.claim":
        for argument in node.args:
            assert isinstance(argument, ast.Constant), "write claim ids as plain strings"
            yield str(argument.value)


def _is_for_later(node: ast.expr) -> bool:
    """Say whether a mark, alone or in a list, puts the test off."""
    if isinstance(node, ast.List | ast.Tuple):
        return any(_is_for_later(element) for element in node.elts)
    return ast.unparse(node).partition("(")[0].removeprefix("pytest.mark.") in LATER


def _module_marks(tree: ast.Module) -> list[ast.expr]:
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]
    ]


def claims_by_test(*, at_once: bool = False) -> dict[str, set[str]]:
    """Return the claim ids of every test under ``tests``, read from the source, so that nothing is run or skipped.

    With ``at_once``, only of the tests that `make test` runs.
    """
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        marks = _module_marks(tree)
        of_module = {name for mark in marks for name in _ids_of(mark)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert not any(list(_ids_of(mark)) for mark in node.decorator_list), (
                    f"{path.name}:{node.lineno}: mark the tests or the module, not the class"
                )
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                if at_once and any(_is_for_later(mark) for mark in [*marks, *node.decorator_list]):
                    continue
                own = {name for mark in node.decorator_list for name in _ids_of(mark)}
                found[f"{path.relative_to(TESTS)}::{node.name}"] = own | of_module
    return found


TESTED = claims_by_test()
TESTED_AT_ONCE = claims_by_test(at_once=True)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_has_tests_or_says_why_not(claim: Claim) -> None:
    tests = [name for name, ids in TESTED.items() if claim.id in ids]
    if claim.status is Status.NOT_YET:
        assert claim.note, f"{claim.id} is not held: say what is missing"
    else:
        assert tests, f"{claim.id} is {claim.status} but no test carries pytest.mark.claim({claim.id!r})"
    assert (claim.status is Status.PARTLY) <= bool(claim.note), "a claim that is held in part says which part"


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.status is not Status.NOT_YET], ids=lambda c: c.id)
def test_a_claim_is_tested_in_every_run(claim: Claim) -> None:
    at_once = [name for name, ids in TESTED_AT_ONCE.items() if claim.id in ids]
    assert at_once, f"every test of {claim.id} is put off: give it a short form that `make test` runs"


def test_what_is_put_off_is_what_the_makefile_leaves_out(root: Path) -> None:
    make = (root / "Makefile").read_text(encoding="utf-8")
    assert f'-m "{" and ".join(f"not {mark}" for mark in sorted(LATER))}"' in make
    later = set(TESTED) - set(TESTED_AT_ONCE)
    assert "corpora/test_agentdojo_run.py::test_all_pairs_meet_the_published_numbers" in later
    assert "crash/test_cycles.py::test_a_thousand_kills" in later
    assert len(later) < len(TESTED) / 20


def test_the_claims_of_this_release_are_not_put_off() -> None:
    put_off = {claim.id for claim in CLAIMS if claim.status is Status.NOT_YET}
    assert not put_off & MUST_HAVE_TESTS


def test_every_mark_names_a_known_claim() -> None:
    unknown = {name: ids - CLAIM_IDS for name, ids in TESTED.items() if ids - CLAIM_IDS}
    assert not unknown


def test_every_attack_test_names_its_claim() -> None:
    attacks = {name: ids for name, ids in TESTED.items() if name.startswith("attacks/")}
    assert attacks, "the attacks are gone"
    assert not [name for name, ids in attacks.items() if not ids]


def test_ids_are_unique_and_sources_exist(root: Path) -> None:
    assert len(CLAIM_IDS) == len(CLAIMS)
    for claim in CLAIMS:
        for source in claim.source.split(", "):
            assert (root / source).is_file(), f"{claim.id}: {source} is missing"


def test_surfaces_are_known_and_held_claims_cover_one() -> None:
    for claim in CLAIMS:
        assert set(claim.surfaces) <= set(SURFACES)
        assert (claim.status is Status.NOT_YET) or "yes" in claim.surfaces.values()
