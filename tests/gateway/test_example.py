"""The example in the README is a program, and it shows what it says."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "langchain_agent.py"


def test_the_example_stops_the_theft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    state = main(str(tmp_path))
    out = capsys.readouterr().out
    assert "search_notes: allow" in out
    assert "send_mail: review (untrusted-target), now pending" in out
    assert "sent so far: []" in out
    assert state["__interrupt__"]


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['langchain.agents.middleware'] = None\n"
        "try:\n    import checkvalve.gateway.langchain\n"
        "except Exception as error:\n    print(type(error).__name__, '|', error, '|', error.remedy)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "MissingExtraError | LangChain is not installed | pip install 'checkvalve[langchain]'\n"
