"""The command that serves the review pages: the one-time link of the first start, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from checkvalve.gateway.app import open_queue
from checkvalve.gateway.settings import load_settings

pytestmark = [pytest.mark.enable_socket, pytest.mark.claim("C4")]  # 127.0.0.1 only


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "checkvalve.gateway", "--config", str(folder / "checkvalve.toml"), *words]


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[list[str]]:
    """Run the command until it says that it serves; give what it has said, and all it said at the end."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    process = subprocess.Popen(
        command(folder, "serve", "--port", "0", *words), env=env, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    said: list[str] = []
    try:
        for line in process.stderr:
            said.append(line.strip())
            if "/setup/" in line:
                break
        yield said
    finally:
        process.send_signal(signal.SIGTERM)
        said += (process.communicate(timeout=300)[1] or "").splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = {"database_url": "sqlite:///gate.db"}
    text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in lines.items())
    (tmp_path / "checkvalve.toml").write_text(text)
    return tmp_path


def test_the_first_start_prints_a_link_that_makes_one_reviewer(folder: Path) -> None:
    browser: Any = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with serving(folder, "--review-only") as said:
        link = said[-1]
        assert link.startswith("http://127.0.0.1:")
        browser.open(link, timeout=60).read()  # looking uses nothing up
        page = browser.open(link, timeout=60).read().decode()
        seal = re.search(r'name="seal" value="([^"]+)"', page)
        assert seal
        data = urllib.parse.urlencode({"seal": seal[1], "name": "boss"}).encode()
        made = browser.open(link, data, timeout=60).read().decode()
        token = re.search(r"cvr_[0-9a-f]{16}_[\w-]+", made)
        assert token
        queue = browser.open(link.partition("/setup/")[0], timeout=60).read().decode()
        assert "Nothing waits" in queue  # signed in already
        with pytest.raises(urllib.error.HTTPError, match="410"):
            browser.open(link, timeout=60)
        health = urllib.request.urlopen(f"{link.partition('/review')[0]}/healthz", timeout=60).read()
        assert json.loads(health) == {"status": "ok"}
    assert not [line for line in said if token[0] in line or "Traceback" in line]
    queue_of = open_queue(load_settings(folder / "checkvalve.toml", {"HOME": str(folder)}).settings, create=False)
    with queue_of.store:
        assert [entry.name for entry in queue_of.reviewers.list()] == ["boss"]
        assert queue_of.reviewers.authenticate(token[0]).name == "boss"


def test_where_there_is_a_reviewer_no_link_is_printed(folder: Path) -> None:
    queue = open_queue(load_settings(folder / "checkvalve.toml", {"HOME": str(folder)}).settings)
    with queue.store:
        queue.reviewers.add("boss")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    process = subprocess.Popen(
        command(folder, "serve", "--port", "0", "--review-only"), env=env, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    first = ""
    while "serving the review pages" not in first and (line := process.stderr.readline()):
        first += line
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=300)[1]
    assert "serving the review pages" in first
    assert "/setup/" not in first + rest


def test_a_reviewers_token_in_the_environment_is_refused(folder: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKVALVE_REVIEWER_TOKEN": "cvr_x_y"}
    done = subprocess.run(
        command(folder, "serve", "--review-only"), env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert "CHECKVALVE_REVIEWER_TOKEN is set" in done.stderr


def test_a_wider_address_has_to_be_meant(folder: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(
        command(folder, "serve", "--review-only", "--host", "0.0.0.0"),
        env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--exposed" in done.stderr
