"""The README, followed literally: each command is run, and prints what stands below it.

Ids, digests of records, times and ages differ from run to run: each of the README's is tied to the one that stands in
its place, and has to be the same wherever it comes again.
"""

from __future__ import annotations

import io
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from checkvalve.gateway import cli
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.result_text import result_text
from checkvalve.gateway.settings import load_settings
from checkvalve.gateway.web_pages import Site, create_pages, open_desk
from checkvalve.gateway.web_sessions import MIN_LOOK

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ELSEWHERE = "/home/me/checkvalve"
SERVE = "checkvalve serve --review-only"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
AGE = re.compile(r"\b\d+ (?:s|min|h)\b|\bnow\b(?=  )")
COUNT = re.compile(r"\b\d+ events|, \d+ of them new|(?<=head-1 )\d+")
SECOND_KEY = re.compile(r", ML-DSA-44 [0-9a-f]{8}")
HEX = re.compile(r"\b[0-9a-f]{8}(?:[0-9a-f]{8,56}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b")
TYPED = re.compile(r"\b[0-9a-f]{6,8}\b")


def steps() -> Iterator[tuple[str, list[str]]]:
    """Yield each command of the README with the lines that it prints."""
    for block in re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        command, lines = "", list[str]()
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, lines
                command, lines = line[2:], []
            else:
                lines.append(line)
        yield command, lines


def plain(line: str, folder: Path) -> str:
    """Return a line without what differs from run to run, but for ids."""
    text = SECOND_KEY.sub("", line.replace(str(folder), ELSEWHERE))
    text = AGE.sub("AGE", COUNT.sub(" COUNT", MOMENT.sub("MOMENT", text)))
    return " ".join(text.split())


@dataclass
class Terminal:
    """A clone in a folder of its own, and what its ids are called in the README."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    names: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        """Run a command as it stands in the README, with the ids of this run; return what it prints."""
        known = TYPED.sub(lambda found: self.real(found[0]), command)
        words, _, file = known.partition(" > ")
        argv = shlex.split(words)
        if argv[0] == "export":
            name, _, value = argv[1].partition("=")
            self.monkeypatch.setenv(name, value.replace("$PWD", str(self.folder)))
            return ""
        printed = self.example(argv[1:]) if argv[0] == "python" else self.checkvalve(argv[1:])
        if file:
            (self.folder / file).write_text(printed[0], encoding="utf-8")
        return printed[1] if file else "".join(printed)

    def checkvalve(self, argv: list[str]) -> tuple[str, str]:
        self.monkeypatch.setattr(sys, "argv", ["checkvalve", *argv])
        code = cli.run(cli.app)
        said = self.capsys.readouterr()
        assert code == 0, said.err
        return said.out, said.err

    def example(self, argv: list[str]) -> tuple[str, str]:
        out = io.StringIO()
        self.monkeypatch.setattr(sys, "argv", argv)
        with redirect_stdout(out):
            runpy.run_path(str(self.folder / argv[0]), run_name="__main__")
        self.capsys.readouterr()
        return out.getvalue(), ""

    def real(self, written: str) -> str:
        """Return what an id or the start of a digest is here."""
        found = [ours for theirs, ours in self.names.items() if theirs.startswith(written)]
        return found[0][: len(written)] if found else written

    def compare(self, command: str, expected: list[str], printed: str) -> None:
        """Compare line by line, and learn the ids that are new."""
        theirs = [plain(line, self.folder) for line in expected]
        ours = [plain(line, self.folder) for line in printed.splitlines() if line.strip()]
        assert [HEX.sub("ID", line) for line in ours] == [HEX.sub("ID", line) for line in theirs], command
        for one, other in zip(theirs, ours, strict=True):
            for written, real in zip(HEX.findall(one), HEX.findall(other), strict=True):
                start = next((name for name in self.names if written.startswith(name) or name.startswith(written)), "")
                assert not start or self.names[start][: len(written)] == real[: len(start)], f"{command}: {written}"
                self.names[written] = real


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CHECKVALVE_CONFIG", "CHECKVALVE_REVIEWER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(folder)
    return Terminal(folder, monkeypatch, capsys)


def reject_in_the_browser(token: str) -> None:
    """Sign in with the token, open the question that waits, and press the button, as the README says."""
    settings = load_settings().settings
    queue = open_queue(settings)
    try:
        desk = open_desk(queue, settings, unpack=result_text)
        moment = [desk.sessions.clock()]
        desk.sessions.clock = lambda: moment[0]
        with TestClient(Site(create_pages(desk, settings)), base_url="http://127.0.0.1:8765") as browser:
            origin = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
            seal = sealed(browser.get("/review/signin").text, "/review/signin")
            browser.post("/review/signin", data={**seal, "name": "alice", "token": token}, headers=origin)
            listed = browser.get("/review").text
            assert "collector@evil.example" in listed
            (question,) = set(re.findall(r'href="(/review/items/[0-9a-f-]{36})"', listed))
            card = browser.get(question).text
            assert "An outsider, not the user, may have chosen where this goes." in card
            moment[0] += MIN_LOOK + 1
            form = {**sealed(card, f"{question}/no"), "code": "looks_like_attack", "note": "not one of us"}
            done = browser.post(f"{question}/no", data=form, headers=origin)
            assert "Rejected" in done.text
    finally:
        queue.store.close()


def sealed(page: str, action: str) -> dict[str, str]:
    """Return the hidden fields of the form that is sent to ``action``."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}"(.*?)</form>', page, re.DOTALL)
    assert form, action
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[1]))


def test_the_readme_can_be_followed_from_the_first_command_to_the_last(terminal: Terminal) -> None:
    done = []
    for command, expected in steps():
        if "pip install" in command:  # the packages are here
            continue
        if command == SERVE:
            reject_in_the_browser((terminal.folder / "alice.token").read_text(encoding="utf-8").strip())
        else:
            terminal.compare(command, expected, terminal.run(command))
        done.append(" ".join(command.split()[:3]))
    for part in ("checkvalve approvals approve", SERVE[:16], "checkvalve approvals standing", "checkvalve undo run"):
        assert any(item.startswith(part) for item in done), part
    assert done[-1] == "checkvalve audit verify"
