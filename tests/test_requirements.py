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


def _ids_of(node: ast.expr) -> Iterator[str]:
    """Yield the ids in ``pytest.mark.claim(...)``, alone or in a list of marks."""
    if isinstance(node, ast.List | ast.Tuple):
        for element in node.elts:
            yield from _ids_of(element)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.claim":
        for argument in node.args:
            assert isinstance(argument, ast.Constant), "write claim ids as plain strings"
            yield str(argument.value)


def _module_ids(tree: ast.Module) -> set[str]:
    return {
        name
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]
        for name in _ids_of(node.value)
    }


def claims_by_test() -> dict[str, set[str]]:
    """Return the claim ids of every test under ``tests``, read from the source, so that nothing is run or skipped."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_module = _module_ids(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert not any(list(_ids_of(mark)) for mark in node.decorator_list), (
                    f"{path.name}:{node.lineno}: mark the tests or the module, not the class"
                )
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                own = {name for mark in node.decorator_list for name in _ids_of(mark)}
                found[f"{path.relative_to(TESTS)}::{node.name}"] = own | of_module
    return found


TESTED = claims_by_test()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_has_tests_or_says_why_not(claim: Claim) -> None:
    tests = [name for name, ids in TESTED.items() if claim.id in ids]
    if claim.status is Status.NOT_YET:
        assert claim.note, f"{claim.id} is not held: say what is missing"
    else:
        assert tests, f"{claim.id} is {claim.status} but no test carries pytest.mark.claim({claim.id!r})"
    assert (claim.status is Status.PARTLY) <= bool(claim.note), "a claim that is held in part says which part"


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
