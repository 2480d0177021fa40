"""The command line: exit codes, two-line errors, and plug-ins that cannot break it."""

from __future__ import annotations

import importlib.metadata
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from checkvalve.gateway import cli
from tests.gateway.world import World

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: World) -> Run:
    monkeypatch.setenv("HOME", str(place.folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def call(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["checkvalve", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = cli.run(cli.app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def install(monkeypatch: pytest.MonkeyPatch, **found: Any) -> None:
    class Point(importlib.metadata.EntryPoint):
        def load(self) -> Any:
            value = found[self.name]
            if isinstance(value, Exception):
                raise value
            return value

    points = [Point(name=name, value=f"{name}.pkg:app", group=cli.ENTRY_POINTS) for name in found]
    monkeypatch.setattr(cli, "_plugins", lambda: {point.name: point for point in points})


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"checkvalve {importlib.metadata.version('checkvalve')}\n", "")


def test_help_names_every_command(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for name in ("approvals", "audit", "decide", "manifest", "policy", "config"):
        assert name in out


def test_decide_prints_a_verdict_and_exits_0_whatever_it_is(run: Run, place: World) -> None:
    case = {"task": "x", "call": {"tool": "rm", "args": {}}}
    code, out, err = run("decide", "--manifest", str(place.folder / "manifest.yaml"), stdin=json.dumps(case))
    assert (code, err) == (0, "")
    assert set(json.loads(out)) == {"verdict", "rule", "reason", "remedy", "arguments"}
    assert json.loads(out)["verdict"] == "deny"


@pytest.mark.parametrize(
    "args",
    [
        ("decide", "--manifest", "{folder}/manifest.yaml"),
        ("decide", "--manifest", "{folder}/nothing.yaml"),
        ("manifest", "check", "{folder}/bad.yaml"),
        ("policy", "check", "{folder}/bad.cedar"),
        ("--config", "{folder}/bad.toml", "config", "show"),
        ("--config", "{folder}/nothing.toml", "approvals", "list"),
        ("--config", "{folder}/corrupt.toml", "audit", "verify"),
    ],
)
def test_what_cannot_be_used_is_two_lines_and_exit_code_2(args: tuple[str, ...], run: Run, place: World) -> None:
    (place.folder / "bad.yaml").write_text("version: 1\nname: x\ntools: {a: {efect: read}}\n")
    (place.folder / "bad.cedar").write_text('@id("x") permit (principal, action, resource);')
    (place.folder / "bad.toml").write_text("modee = 1")
    (place.folder / "corrupt.toml").write_text("database_url = 'sqlite:///corrupt.db'")
    (place.folder / "corrupt.db").write_bytes(b"not a database" * 100)
    code, _, err = run(*[arg.format(folder=place.folder) for arg in args], stdin="nonsense")
    assert code == cli.UNUSABLE
    assert "Traceback" not in err
    assert err.strip()
    if args[-1] != "verify":  # that one speaks through its own command
        assert err.startswith("error: ")
        assert "\n   do: " in err


def test_the_parts_of_a_deployment_can_be_checked(run: Run, place: World) -> None:
    assert run("manifest", "check", str(place.folder / "manifest.yaml"))[1].startswith("ok: 6 tools, sha256:")
    assert run("policy", "check")[1].startswith("ok: sha256:")
    assert json.loads(run("manifest", "schema")[1])["properties"]["tools"]
    code, out, _ = run("--config", str(place.config), "config", "show", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["manifest"] == {
        "value": str(place.folder / "manifest.yaml"),
        "origin": "file",
    }
    assert "log_level = " in run("--config", str(place.config), "config", "show")[1]


def test_config_show_lists_what_was_set_first_and_says_what_cannot_work(
    run: Run, place: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKVALVE_PROFILE", "strickt")
    monkeypatch.setenv("CHECKVALVE_MANIFEST", str(place.folder / "none.yaml"))
    code, out, err = run("--config", str(place.config), "config", "show")
    assert code == 0
    origins = [line.rpartition("  (")[2] for line in out.splitlines()[1:]]
    assert origins == sorted(origins, key=lambda origin: origin == "default)")
    assert "problem: profile: there is no 'strickt'; use one of: strict, contacts" in err
    assert f"problem: manifest: there is no file {place.folder / 'none.yaml'}" in err


def test_the_queue_is_reached_through_the_settings(run: Run, place: World) -> None:
    code, _, err = run("--config", str(place.config), "approvals", "list")
    assert (code, err.startswith("error: there is no database at")) == (2, True)
    assert not (place.folder / "gate.db").exists()
    assert run("--config", str(place.config), "approvals", "reviewer", "add", "ann")[0] == 0
    assert run("--config", str(place.config), "approvals", "list", "--json")[:2] == (0, "[]\n")


def test_a_no_of_the_queue_is_1_and_a_missing_database_is_2(run: Run, place: World) -> None:
    explain = ("--config", str(place.config), "policy", "explain", "ff")
    assert run(*explain)[0] == 2
    assert run("--config", str(place.config), "approvals", "reviewer", "add", "ann")[0] == 0
    code, _, err = run(*explain)
    assert (code, "this id is too short" in err) == (1, True)


def test_a_plugin_brings_its_commands(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = typer.Typer(help="Extra things.")

    @plugin.command()
    def hello() -> None:
        typer.echo("hello from the plug-in")

    @plugin.command()
    def other() -> None:
        """Be another one."""

    install(monkeypatch, extra=plugin)
    assert run("extra", "hello") == (0, "hello from the plug-in\n", "")
    assert "Extra things" in run("--help")[1]


@pytest.mark.parametrize("fault", [ImportError("no module"), ZeroDivisionError(), "not an app"])
def test_a_broken_plugin_is_named_and_in_nobodys_way(fault: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, broken=fault)
    assert run("--version")[0] == 0
    code, out, _ = run("--help")
    assert code == 0
    assert "cannot be loaded" in out
    code, _, err = run("broken", "do", "--it")
    assert code == cli.UNUSABLE
    assert "broken.pkg:app" in err
    assert "no module" not in err


def test_a_plugin_cannot_take_the_place_of_a_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = typer.Typer()

    @plugin.command()
    def show() -> None:
        typer.echo("stolen")

    install(monkeypatch, config=plugin)
    assert "stolen" not in run("config", "show")[1]


def test_an_interrupt_and_a_closed_pipe_leave_quietly() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert cli.run(interrupted) == 130


def test_the_command_runs_as_a_module_too() -> None:
    assert (Path(cli.__file__).parent / "__main__.py").is_file()
