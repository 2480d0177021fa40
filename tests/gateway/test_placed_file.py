"""What the file of channels and that of on-call have in common: it is read within bounds, and names other files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from checkvalve.gateway.channel_file import load_channels, secret_files
from checkvalve.gateway.channel_secrets import MAX_FILE
from checkvalve.gateway.errors import ChannelError, GatewayError, OnCallError
from checkvalve.gateway.oncall_file import load_oncall, oncall_secrets

pytestmark = pytest.mark.claim("C9")


@dataclass(frozen=True)
class Kind:
    setting: str
    group: str
    load: Callable[[Path], object]
    named: Callable[[Path], list[Path]]
    error: type[GatewayError]


KINDS = [
    Kind("channels", "webhook", load_channels, secret_files, ChannelError),
    Kind("oncall", "service", lambda file: load_oncall(file, 0), oncall_secrets, OnCallError),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.setting))
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"#" * MAX_FILE + b"\n", f"is over {MAX_FILE} bytes"),
        (b"# \xff\n", "is not valid TOML"),
        (f"x = {'9' * 5_000}\n".encode(), "is not valid TOML"),
        (b"x = " + b"[" * 30_000, "is not valid TOML"),
        (b"odd = 1\n", ": odd: Extra inputs"),
        (b"private_hosts = ['A B']\n", ": private_hosts.0: "),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_its_own_that_says_what_to_do(
    kind: Kind, raw: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "some.toml").write_bytes(raw)
    with pytest.raises(kind.error) as caught:
        kind.load(tmp_path / "some.toml")
    assert said in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.setting))
def test_a_file_that_is_not_there_leads_to_its_setting_and_names_nothing(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(kind.error, match="cannot be read") as caught:
        kind.load(tmp_path / "none.toml")
    assert f"`{kind.setting}`" in caught.value.remedy
    assert kind.named(tmp_path / "none.toml") == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.setting))
def test_a_file_as_long_as_one_may_be_is_read(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_bytes(b"#" * (MAX_FILE - 1) + b"\n")
    kind.load(tmp_path / "some.toml")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.setting))
def test_paths_are_relative_to_the_file_and_a_home_is_one(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file, head = tmp_path / "some.toml", f"[[{kind.group}]]\n"
    file.write_text(f'{head}secret_file = "near"\nca_file = "/far/ca"\n{head}ca_file = "~/mine"\n{head}ca_file = 1\n')
    assert kind.named(file) == [tmp_path / "near", Path("/far/ca"), tmp_path / "home/mine"]
