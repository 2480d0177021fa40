"""Settings: one frozen object, nothing unknown, nothing from the working folder or the agent's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from checkvalve.gateway.app import build
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.places import checkpoint_place, database_file, own_files, refuse_agent_folder, tokens_file
from checkvalve.gateway.settings import Settings, load_settings, shown


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_file_everything_has_its_default(home: dict[str, str]) -> None:
    loaded = load_settings(None, home)
    assert loaded.file is None
    assert loaded.settings.mode == "enforce"
    assert database_file(loaded.settings) == Path(home["HOME"]) / ".local/share/checkvalve/checkvalve.db"
    assert set(loaded.origins.values()) == {"default"}


def test_the_environment_wins_over_the_file_and_the_origin_is_known(tmp_path: Path, home: dict[str, str]) -> None:
    file = write(tmp_path / "c.toml", 'mode = "observe"\nprofile = "strict"\nlog_level = "error"')
    loaded = load_settings(file, {**home, "CHECKVALVE_LOG_LEVEL": "debug"})
    assert (loaded.settings.mode, loaded.settings.log_level) == ("observe", "debug")
    assert loaded.origins["mode"] == "file"
    assert loaded.origins["log_level"] == "CHECKVALVE_LOG_LEVEL"


def test_paths_in_the_file_are_relative_to_the_file(tmp_path: Path, home: dict[str, str]) -> None:
    file = write(tmp_path / "etc" / "c.toml", 'manifest = "tools.yaml"\ndatabase_url = "sqlite:///data/gate.db"')
    settings = load_settings(file, home).settings
    assert settings.manifest == tmp_path / "etc" / "tools.yaml"
    assert database_file(settings) == tmp_path / "etc" / "data" / "gate.db"


def test_the_users_configuration_folder_is_the_default_place(tmp_path: Path, home: dict[str, str]) -> None:
    write(tmp_path / "xdg" / "checkvalve" / "config.toml", 'mode = "observe"')
    env = {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load_settings(None, env).settings.mode == "observe"
    assert load_settings(None, {**home, "XDG_CONFIG_HOME": "relative"}).settings.mode == "enforce"


def test_nothing_is_read_from_the_working_folder(
    tmp_path: Path, home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("checkvalve.toml", "config.toml", "checkvalve/config.toml", ".checkvalve.toml", ".env"):
        write(tmp_path / "work" / name, 'mode = "observe"\nCHECKVALVE_MODE=observe')
    monkeypatch.chdir(tmp_path / "work")
    assert load_settings(None, home).settings.mode == "enforce"


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("mod = 'observe'", "unknown key 'mod'", "mode"),
        ("Policy = 'x'", "unknown key 'Policy'", "policy"),
        ("[mode]\nx = 1", "mode", ""),
        ("mode = 'watch'", "mode", ""),
        ("decide_within = -1", "decide_within", ""),
        ("wait_for_review = nan", "wait_for_review", ""),
        ("mode = ", "not valid TOML", ""),
        ("mode = 'a'\nmode = 'b'", "not valid TOML", ""),
        ("database_url = 'here'", "no database URL", ""),
        ("x = " + "[" * 5000, "not valid TOML", ""),
        ("#" + "x" * 300_000, "over 262144 bytes", ""),
    ],
)
def test_a_wrong_file_is_named_with_the_key(
    text: str, message: str, remedy: str, tmp_path: Path, home: dict[str, str]
) -> None:
    file = write(tmp_path / "c.toml", text)
    with pytest.raises(SettingsError, match=r"c\.toml") as caught:
        load_settings(file, home)
    assert message in str(caught.value)
    assert remedy in caught.value.remedy
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("CHECKVALVE_MODUS", "x", "CHECKVALVE_MODE"),
        ("CHECKVALVE_MANIFESTS", "/x", "CHECKVALVE_MANIFEST"),
        ("CHECKVALVE_Mode", "observe", "CHECKVALVE_MODE"),
        ("CHECKVALVE_MANIFEST", "relative.yaml", "absolute"),
        ("CHECKVALVE_DATABASE_URL", "sqlite:///relative.db", "absolute"),
        ("CHECKVALVE_CONFIG", "relative.toml", "absolute"),
        ("CHECKVALVE_CONFIG", "/nowhere/at/all.toml", "exists"),
        ("CHECKVALVE_MODE", "watch", "did you mean"),
        ("CHECKVALVE_PORT", "x", "config show"),
    ],
)
def test_a_wrong_variable_is_named_with_the_nearest_known(
    variable: str, value: str, remedy: str, home: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match=variable) as caught:
        load_settings(None, {**home, variable: value})
    assert remedy in caught.value.remedy


def test_an_empty_variable_and_the_reviewers_token_are_no_settings(home: dict[str, str]) -> None:
    loaded = load_settings(None, {**home, "CHECKVALVE_POLICY": "", "CHECKVALVE_REVIEWER_TOKEN": "cvr_secret"})
    assert loaded.settings.policy is None
    assert "cvr_secret" not in repr(loaded)


@pytest.mark.parametrize("what", ["settings", "manifest", "policy", "database", "link"])
def test_nothing_of_ours_may_lie_in_the_agents_folder(what: str, tmp_path: Path, home: dict[str, str]) -> None:
    work, safe = tmp_path / "work", tmp_path / "safe"
    work.mkdir()
    places = {name: safe / f"{name}.x" for name in ("settings", "manifest", "policy", "database")}
    if what == "link":
        write(safe / "manifest.yaml", "")
        (work / "link.yaml").symlink_to(safe / "manifest.yaml")
        places["manifest"] = work / "link.yaml"
    else:
        places[what] = work / "sub" / ".." / f"{what}.x"
    text = (
        f"agent_workdir = '{work}'\nmanifest = '{places['manifest']}'\npolicy = '{places['policy']}'\n"
        f"database_url = 'sqlite:///{places['database']}'"
    )
    (work / "sub").mkdir()
    file = write(places["settings"], text)
    with pytest.raises(SettingsError, match="working folder") as caught:
        load_settings(file, home)
    assert "move it" in caught.value.remedy


def test_settings_are_frozen_and_a_password_is_not_shown() -> None:
    settings = Settings(database_url="postgresql://gate:hunter2@db/gate")
    with pytest.raises(ValidationError):
        settings.mode = "observe"  # type: ignore[misc]  # that is what is tested
    assert "hunter2" not in str(shown(settings))


def test_by_default_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CHECKVALVE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CHECKVALVE_PROFILE", "strict")
    assert load_settings().origins["profile"] == "CHECKVALVE_PROFILE"


def test_what_a_pipeline_is_made_of_lies_relative_to_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "checkvalve.toml"
    file.parent.mkdir()
    file.write_text(
        "database_url = 'sqlite:///data/gate.db'\nmanifest = 'm.yaml'\ntools = 'mine.py:TOOLS'\n"
        "reader = 'scripted:reader.jsonl'\nactor = 'openai:gpt-5'\ncheckpoint_url = 'sqlite:///r.db'\n"
    )
    settings = load_settings(file, {"HOME": str(tmp_path)}).settings
    assert settings.tools == f"{file.parent / 'mine.py'}:TOOLS"
    assert settings.reader == f"scripted:{file.parent / 'reader.jsonl'}"
    assert settings.actor == "openai:gpt-5"
    assert checkpoint_place(settings) == file.parent / "r.db"
    assert tokens_file(settings) == file.parent / "data" / "api-tokens.json"
    assert set(own_files(settings, file)) == {
        "settings file", "manifest", "database", "runs", "file of API tokens", "tools", "reader",
        "key of the audit log", "public key of the audit log", "last signed checkpoint",
    }  # fmt: skip


def test_paused_runs_live_beside_the_database_by_default(tmp_path: Path) -> None:
    settings = load_settings(None, {"HOME": str(tmp_path)}).settings
    assert checkpoint_place(settings) == tmp_path / ".local/share/checkvalve/runs.db"


def test_on_a_server_the_places_of_runs_and_tokens_have_to_be_named() -> None:
    settings = Settings(database_url="postgresql+psycopg://db/gate")
    with pytest.raises(SettingsError, match="checkpoint_url"):
        checkpoint_place(settings)
    with pytest.raises(SettingsError, match="api_tokens"):
        tokens_file(settings)
    named = Settings(
        database_url="postgresql+psycopg://db/gate",
        checkpoint_url="postgresql+psycopg://u:hunter2@db/runs",
        api_tokens=Path("/etc/tokens.json"),
    )
    assert checkpoint_place(named) == named.checkpoint_url
    assert tokens_file(named) == Path("/etc/tokens.json")
    assert "hunter2" not in str(shown(named))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CHECKVALVE_TOOLS", "./mine.py"),
        ("CHECKVALVE_READER", "scripted:reader.jsonl"),
        ("CHECKVALVE_CHECKPOINT_URL", "sqlite:///runs.db"),
        ("CHECKVALVE_API_TOKENS", "tokens.json"),
    ],
)
def test_a_relative_place_in_a_variable_is_refused(variable: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="relative"):
        load_settings(None, {"HOME": str(tmp_path), variable: value})


@pytest.mark.parametrize(
    "line",
    ["tools = 'desk/mine.py'", "reader = 'gguf:desk/m.gguf'", "api_tokens = 'desk/t'", "checkpoint_url = 'sqlite:///desk/r.db'"],
)  # fmt: skip
def test_nothing_of_a_pipeline_may_lie_where_the_agent_writes(line: str, tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "c.toml").write_text(f"agent_workdir = 'desk'\n{line}\n")
    with pytest.raises(SettingsError, match="working folder"):
        load_settings(tmp_path / "c.toml", {"HOME": str(tmp_path)})


def test_no_link_on_the_way_may_lie_where_the_agent_writes(tmp_path: Path) -> None:
    work, safe = tmp_path / "work", tmp_path / "safe"
    (work / "deep").mkdir(parents=True)
    write(safe / "manifest.yaml", "")
    (work / "hop").symlink_to(safe)  # a folder the agent can point elsewhere
    (tmp_path / "outer").symlink_to(work / "hop")
    (tmp_path / "down").symlink_to(work / "deep")
    (tmp_path / "desk").symlink_to(work)
    for manifest in (
        tmp_path / "outer" / "manifest.yaml",
        tmp_path / "down" / ".." / "manifest.yaml",  # up from where the link leads, not from where it stands
        safe / ".." / "work" / "deep" / ".." / ".." / "work" / "m.yaml",
    ):
        for folder in (work, tmp_path / "desk", work / "deep" / ".."):
            with pytest.raises(SettingsError, match="working folder"):
                refuse_agent_folder(Settings(agent_workdir=folder, manifest=manifest), None)
    refuse_agent_folder(Settings(agent_workdir=work, manifest=safe / "manifest.yaml"), None)
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(SettingsError, match="too many links"):
        refuse_agent_folder(Settings(agent_workdir=work, manifest=tmp_path / "round" / "m.yaml"), None)


def test_settings_made_by_hand_are_checked_when_a_gateway_is_built(tmp_path: Path) -> None:
    manifest = write(tmp_path / "desk" / "m.yaml", "version: 1\ntools: {}\n")
    made = Settings(agent_workdir=tmp_path / "desk", manifest=manifest, database_url=f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(SettingsError, match="working folder"):
        build(made)


def test_a_wrong_word_is_answered_with_the_right_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="CHECKVALVE_MODE: 'observ' is not one of observe, enforce") as wrong:
        load_settings(None, {"HOME": str(tmp_path), "CHECKVALVE_MODE": "observ"})
    assert wrong.value.remedy == "did you mean observe?"
    with pytest.raises(SettingsError, match="CHECKVALVE_PORT: this should be a valid integer"):
        load_settings(None, {"HOME": str(tmp_path), "CHECKVALVE_PORT": "many"})


@pytest.mark.parametrize("level", ["info", "debug"])
def test_the_start_is_one_short_line_and_digests_are_for_debugging(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str
) -> None:
    manifest = write(tmp_path / "m.yaml", "version: 1\nname: n\ntools: {}\n")
    url = f"sqlite:///{tmp_path}/x.db"
    build(Settings.model_validate({"manifest": manifest, "database_url": url, "log_level": level})).close()
    said = capsys.readouterr().err
    assert "gateway ready" in said
    assert ("sha256:" in said) == (level == "debug")
    assert max(len(line) for line in said.splitlines() if "ready" in line) < 100


@pytest.mark.claim("C4")
def test_no_gateway_starts_where_its_tools_could_read_a_reviewers_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write(tmp_path / "m.yaml", "version: 1\ntools: {}\n")
    made = Settings(manifest=manifest, database_url=f"sqlite:///{tmp_path}/x.db")
    monkeypatch.setenv("CHECKVALVE_REVIEWER_TOKEN", "cvr_secret")
    with pytest.raises(SettingsError, match="CHECKVALVE_REVIEWER_TOKEN") as caught:
        build(made)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "x.db").exists()
