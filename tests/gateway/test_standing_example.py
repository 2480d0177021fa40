"""The example of the page about standing rules is a program, and it shows what the page says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "standing_rule.py"


def test_the_second_mail_goes_by_the_rule_and_the_third_is_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = runpy.run_path(str(EXAMPLE))
    assert known["main"](tmp_path) == ["untrusted-target", "standing", "untrusted-target"]
    assert known["SENT"] == ["desk@partner.example", "desk@partner.example"]
    assert "would have let through 1, refused by people 0" in capsys.readouterr().out
