"""The commands of ``docs/audit.md``, one after the other as they stand there, over a log with everything in it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from checkvalve.approvals.store import Store
from checkvalve.gateway import cli
from tests.approvals.made import fill

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.claim("C5")
def test_the_commands_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text("database_url = 'sqlite:///a.db'\n")
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        fill(store)
    monkeypatch.chdir(tmp_path)
    assert len(LINES) >= 10
    for line in LINES:
        command, _, target = line.partition(" > ")
        words = shlex.split(command)
        assert words[0] == "checkvalve"
        monkeypatch.setattr("sys.argv", ["checkvalve", "--config", str(tmp_path / "c.toml"), *words[1:]])
        code = cli.run(cli.app)
        out = capsys.readouterr()
        assert code == 0, (line, out)
        if target:
            (tmp_path / target).write_text(out.out)
    assert {"log.pub", "log.jsonl", "receipt.json"} <= {path.name for path in tmp_path.iterdir()}
