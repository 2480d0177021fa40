"""Files and paths that cannot be used are an error of the settings, in the file as in a variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.settings import MAX_FILE_BYTES, load_settings

NOBODY = "~nobody-of-this-machine/x"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"#" * MAX_FILE_BYTES + b"\n", f"is over {MAX_FILE_BYTES} bytes"),
        (b"# \xff\n", "is not valid TOML"),
        (f"decide_within = {'9' * 5_000}\n".encode(), "is not valid TOML"),
    ],
)
def test_a_file_of_settings_that_cannot_be_used_says_so(raw: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_bytes(raw)
    with pytest.raises(SettingsError, match=said) as caught:
        load_settings(file, {"HOME": str(tmp_path)})
    assert str(file) in str(caught.value)
    assert caught.value.remedy


def test_a_file_of_settings_as_long_as_one_may_be_is_read(tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_bytes(b"#" * (MAX_FILE_BYTES - 1) + b"\n")
    load_settings(tmp_path / "some.toml", {"HOME": str(tmp_path)})


PATHS = [
    ("manifest", NOBODY),
    ("agent_workdir", "a\0b"),
    ("channels", "a\0b"),
    ("database_url", f"sqlite:///{NOBODY}"),
    ("tools", f"{NOBODY}.py"),
    ("reader", f"recorded:{NOBODY}"),
]


@pytest.mark.parametrize(("name", "value"), PATHS, ids=[name for name, _ in PATHS])
@pytest.mark.parametrize("place", ["file", "variable"])
def test_what_is_no_path_is_named_with_its_setting(name: str, value: str, place: str, tmp_path: Path) -> None:
    file, environment = tmp_path / "some.toml", {"HOME": str(tmp_path)}
    spelled = value.replace("\0", "\\u0000")
    file.write_text(f'{name} = "{spelled}"\n' if place == "file" else "")
    if place == "variable":
        environment[f"CHECKVALVE_{name.upper()}"] = value
    with pytest.raises(SettingsError, match="is no path of a file") as caught:
        load_settings(file, environment)
    assert (f"{file}: {name}" if place == "file" else f"CHECKVALVE_{name.upper()}") in str(caught.value)
    assert "whole path" in caught.value.remedy


def test_a_file_of_settings_in_a_home_of_nobody_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--config: .*is no path of a file"):
        load_settings(Path(NOBODY), {"HOME": str(tmp_path)})
