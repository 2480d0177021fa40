"""A service or a program of the organisation that knows who is on call: asked within bounds, and loud when it fails."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.clock import micros
from checkvalve.approvals.oncall import Bounded, OnCall, OnDuty
from checkvalve.gateway import oncall_hooks
from checkvalve.gateway.channel_secrets import signing_secrets
from checkvalve.gateway.errors import OnCallError
from checkvalve.gateway.oncall_file import Service
from checkvalve.gateway.oncall_hooks import FAILED_FOR, MAX_ANSWER, Asked, FileOnCall
from tests.gateway.channel_world import Hook, receiver
from tests.gateway.hook_secrets import secret_file
from tests.waiting import LONG

AT = 1_800_000_000_000_000
TOKEN = "bearer-of-the-organisation-0123456789"
pytestmark = pytest.mark.enable_socket  # 127.0.0.1 only


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    found = Hook(tmp_path)
    found.answers = [(200, {})] * 50
    try:
        yield found
    finally:
        found.close()


class Time:
    """A monotonic clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def asked(
    hook: Hook, folder: Path, *, private: bool = True, signed: bool = True, cache: int = 60
) -> tuple[Asked, Time]:
    if signed:
        more: dict[str, Any] = {"secret_file": secret_file(folder)}
    else:
        (folder / "token").write_text(TOKEN + "\n")
        (folder / "token").chmod(0o600)
        more = {"token_file": folder / "token"}
    service = Service(name="ops", url=hook.url, ca_file=hook.ca_file, cache=cache, **more)
    clock = Time()
    return Asked(service, ["localhost"] if private else [], clock), clock


def says(hook: Hook, value: object) -> None:
    hook.says = value if isinstance(value, bytes) else json.dumps(value).encode()


def test_a_service_is_asked_with_a_signature_and_its_answer_is_kept_for_a_while(hook: Hook, tmp_path: Path) -> None:
    ask, clock = asked(hook, tmp_path)
    says(hook, {"people": ["ann", "ben"]})
    assert ask("ops", AT) == OnDuty(("ann", "ben"))
    says(hook, {"people": ["cem"]})
    clock.now += 59
    assert ask("ops", AT) == OnDuty(("ann", "ben"))
    clock.now += 1
    assert ask("ops", AT) == OnDuty(("cem",))
    (_, told, body), _ = hook.got
    assert receiver().verified(oncall_secrets(ask), told, body, AT // 1_000_000)["oncall"] == "ops"
    assert json.loads(body)["at"] == "2027-01-15T08:00:00.000000Z"


def oncall_secrets(ask: Asked) -> list[bytes]:
    assert ask.service.secret_file is not None
    return signing_secrets(ask.service.secret_file)


def test_a_bearer_token_comes_from_its_file_and_until_ends_an_answer_early(hook: Hook, tmp_path: Path) -> None:
    ask, _ = asked(hook, tmp_path, signed=False)
    says(hook, {"people": ["ann"], "until": "2027-01-15T08:00:10Z"})
    assert ask("ops", AT).until == AT + 10_000_000
    says(hook, {"people": ["ben"]})
    assert ask("ops", AT + 9_999_999).people == ("ann",)
    assert ask("ops", AT + 10_000_000).people == ("ben",)
    assert hook.got[0][1]["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.claim("C9")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b'"ann"', b"{}", b'{"people": "ann"}', b'{"people": [1]}', b'{"people": ["\\u200b"]}',
        b'{"people": ["ann"], "may": "approve"}', b'{"people": ["ann"], "people": ["ben"]}',
        b'{"people": ["ann"], "until": "soon"}', b'{"people": ["ann"], "until": "2027-01-15T09:00:00"}',
        b'{"people": ["ann"], "until": "2027-01-15T07:59:59Z"}', b"\xff",
        b'{"people": ["ann"], "until": "9999-12-31T23:59:59-12:00"}',
        b'{"people": ["ann"], "until": "2037-02-01T00:00:00Z"}',
        b'{"people": ["ann"], "until": "0001-01-01T00:00:00+14:00"}',
        json.dumps({"people": [f"p{number}" for number in range(11)]}).encode(),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_failure(hook: Hook, tmp_path: Path, body: bytes) -> None:
    ask, _ = asked(hook, tmp_path)
    says(hook, body)
    assert ask("ops", AT) == OnDuty(failed="bad_answer")


@pytest.mark.claim("C9")
def test_a_failure_is_a_word_and_the_service_is_left_alone_for_a_moment(hook: Hook, tmp_path: Path) -> None:
    ask, clock = asked(hook, tmp_path)
    says(hook, {"people": []})
    assert ask("ops", AT) == OnDuty(failed="nobody")
    hook.answers = [(503, {}), (302, {"Location": "https://elsewhere.example/"}), (200, {})]
    words: list[str] = []
    for _ in range(3):
        clock.now += FAILED_FOR
        says(hook, b"x" * (MAX_ANSWER + 1) if len(words) == 2 else {"people": ["ann"]})
        words.append(ask("ops", AT).failed)
        ask("ops", AT)
    assert words == ["status_503", "status_302", "too_long"]
    assert len(hook.got) == 4
    (tmp_path / "hook.secret").unlink()
    clock.now += FAILED_FOR
    assert ask("ops", AT).failed == "no_secret"
    assert len(hook.got) == 4


@pytest.mark.claim("C9")
def test_this_machine_is_asked_only_where_the_file_says_so(hook: Hook, tmp_path: Path) -> None:
    ask, _ = asked(hook, tmp_path, private=False)
    assert ask("ops", AT).failed == "private_address"
    assert hook.got == []


@pytest.mark.claim("C9")
def test_a_service_that_says_nothing_is_left(hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oncall_hooks, "WITHIN", 0.2)
    ask, _ = asked(hook, tmp_path)
    hook.speaks.clear()
    assert ask("ops", AT).failed == "timeout"


def test_a_program_answers_in_time_or_is_left_and_not_asked_again_meanwhile() -> None:
    goes_on, begun, calls = threading.Event(), threading.Event(), list[str]()

    def slow(name: str, at: datetime) -> list[str]:
        calls.append(name)
        begun.set()
        goes_on.wait(LONG)
        return [str(at.tzinfo)]

    known, bounded = OnCall(), Bounded(slow, deadline=0.05)
    known.hooks["pager"] = bounded
    assert known.who("pager", AT) == OnDuty(failed="timeout")
    assert begun.wait(LONG)
    assert known.who("pager", AT) == OnDuty(failed="timeout")
    assert calls == ["pager"]
    goes_on.set()
    assert bounded._running is not None
    bounded._running.join(LONG)
    patient = Bounded(slow)
    known.hooks["pager"] = patient
    assert known.who("pager", AT) == OnDuty(("UTC",))


@pytest.mark.claim("C9")
@pytest.mark.parametrize("value", ["ann", [""], [3], ["ann"] * 11, None, {"people": 1}])
def test_whatever_a_program_returns_or_raises_is_an_answer_or_a_failure(value: Any) -> None:
    known = OnCall()
    known.add("pager", lambda name, at: value)
    assert known.who("pager", AT).failed in {"bad_answer", "hook_error"}

    def broken(name: str, at: datetime) -> list[str]:
        raise RuntimeError("no network")

    known.add("pager", broken)
    assert known.who("pager", AT) == OnDuty(failed="hook_error")
    assert known.who("other", AT) == OnDuty(failed="no_hook")


def test_an_installed_entry_point_is_a_program_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("pager", f"{__name__}:on_call", oncall_hooks.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: [point] if "oncall" in group else [])
    file = tmp_path / "oncall.toml"
    file.write_text('[[program]]\nname = "night"\nentry = "pager"\n')
    found = FileOnCall(file, lambda: AT)
    assert found.who("night", AT) == OnDuty(("ann of night at 2027-01-15",))
    file.write_text('[[program]]\nname = "night"\nentry = "pager2"\n')
    with pytest.raises(OnCallError, match="there is no entry point 'pager2'"):
        found.load()


def on_call(name: str, at: datetime) -> list[str]:
    assert at.tzinfo is UTC
    return [f"ann of {name} at {at:%Y-%m-%d}"]


@pytest.mark.claim("C9")
def test_a_program_is_not_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may be able to write there; whatever is imported is looked for elsewhere, and the path is put back."""
    (tmp_path / "planted_oncall.py").write_text("def on_call(name, at):\n    return ['mallory']\n")
    monkeypatch.chdir(tmp_path)
    path = ["", ".", str(tmp_path), *sys.path]
    monkeypatch.setattr(sys, "path", list(path))
    point = importlib.metadata.EntryPoint("pager", "planted_oncall:on_call", oncall_hooks.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: [point] if "oncall" in group else [])
    (tmp_path / "oncall.toml").write_text('[[program]]\nname = "night"\nentry = "pager"\n')
    with pytest.raises(OnCallError, match=r"cannot be loaded \(ModuleNotFoundError\)"):
        FileOnCall(tmp_path / "oncall.toml", lambda: AT).load()
    assert sys.path == path


def test_a_clock_in_microseconds_is_the_moment_that_a_program_gets() -> None:
    assert micros(datetime(2027, 1, 15, 8, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) == AT
