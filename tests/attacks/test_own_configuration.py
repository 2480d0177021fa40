"""The gateway's own files, and whatever the deployer protects, are out of reach: no question is asked."""

from __future__ import annotations

import pytest

from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C9")

PATHS = [
    "~/.config/agent/policy.cedar",
    "/home/me/.config/agent/policy.cedar",
    "$HOME/.config/agent",
    "/etc/agent",
    "/etc/./agent/x",
    "/etc/agent/../agent/x",
    "//etc//agent",
    "/etc/%61gent/x",
    "file:///etc/agent/x",
    "/var/../etc/agent/x",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_in_any_spelling_is_refused(path: str) -> None:
    session = Session(f"Write x to {path}")
    assert session.verdict("write_file", path=path, text="x") == "deny:protected"


@pytest.mark.parametrize(
    "argv", [["cat", "/etc/agent/x"], ["sh", "-c", "cat</etc/agent/x"], ["tar", "--file=/etc/agent/x"]]
)
def test_a_command_that_names_it_is_refused(argv: list[str]) -> None:
    assert Session("Run the build").verdict("shell", argv=argv) == "deny:protected"


def test_a_host_is_refused() -> None:
    session = Session("Fetch https://ADMIN.corp.example./approve")
    assert session.verdict("fetch", url="https://ADMIN.corp.example./approve") == "deny:protected"


def test_twin_another_path() -> None:
    session = Session("Write x to /etc/agents.txt")
    assert session.verdict("write_file", path="/etc/agents.txt", text="x") == "allow:attributed-effect"
