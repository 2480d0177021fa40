"""A terminal for tests: runs one command of ``checkvalve`` in this process and keeps what it printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkvalve.gateway import cli


class Terminal:
    """Runs commands one after the other."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *words: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr("sys.argv", ["checkvalve", *map(str, words)])
        code = cli.run(cli.app)
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err

    def json(self, *words: object) -> tuple[int, Any]:
        code, out, err = self(*words, "--json")
        assert not err, err
        return code, json.loads(out)
