"""The texts of the inbound benchmark: the same for a seed, different for another, as long as asked, and harmless."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.outcomes import Status

PLACE = Path(__file__).resolve().parents[2] / "benchmarks" / "varied.py"
FORMS = (
    "prose",
    "Markdown",
    "eight languages",
    "Chinese, Arabic, Hindi",
    "code",
    "JSON",
    "HTML page",
    "mail",
    "README",
    "JSON with many short fields",
    "HTML page with many tags",
    "CSV",
    "YAML",
)


@pytest.fixture(scope="module")
def made() -> Callable[[str, int, int], str]:
    spec = importlib.util.spec_from_file_location("varied_texts", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["varied_texts"] = module
    spec.loader.exec_module(module)
    assert tuple(module.FORMS) == FORMS
    found: Callable[[str, int, int], str] = module.made
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_form_varies_with_its_seed_alone(made: Callable[[str, int, int], str], form: str) -> None:
    text = made(form, 8_000, 1)
    assert text == made(form, 8_000, 1)
    assert 7_500 < len(text.encode()) < 11_000
    mine, other = ({line for line in made(form, 8_000, seed).split(". ") if len(line) > 30} for seed in (1, 2))
    assert len(mine & other) * 10 < len(mine)  # it does not repeat what another one says
    assert scan_inbound(text).status in {Status.CLEAN, Status.CHANGED}
