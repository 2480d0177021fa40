"""The example of a pipeline inside a bigger graph is a program, and it does what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pipeline_embedded.py"


def test_the_bigger_graph_pauses_with_the_pipeline_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = runpy.run_path(str(EXAMPLE))["main"](str(tmp_path))
    out = capsys.readouterr().out
    assert "the bigger graph waits for {'approval_id': '" in out
    assert "send_mail: allow (attributed-effect), now succeeded" in out
    assert "send_mail: review (untrusted-target), now pending" in out
    assert state["delivered"].startswith("Ann knows")
    assert "inbox" not in str({key: value for key, value in state.items() if key not in {"order", "task", "delivered"}})


def test_the_pipeline_in_a_program_waits_and_goes_on_with_what_is_on_disk(tmp_path: Path) -> None:
    program = runpy.run_path(str(EXAMPLE.with_name("pipeline_in_code.py")))
    asked = program["work"](tmp_path, program["TASK"])
    assert (asked.status, len(asked.waiting)) == ("waiting", 1)
    assert program["work"](tmp_path) == asked
