"""The version of a file is that of the bytes below the declared folder, and nothing else is opened."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.pins import Found, Part, Version
from checkvalve.approvals.pinspec import PinSpec
from checkvalve.graphs.pinned_files import file_version

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    (made / "sub").mkdir(parents=True)
    (made / "plan.txt").write_bytes(b"the plan")
    (made / "sub" / "deep.txt").write_bytes(b"deep")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    return made


def pin(folder: Path, **more: Any) -> PinSpec:
    return PinSpec(file="path", folder=str(folder), **more)


def why(found: Version | Found) -> str:
    assert isinstance(found, Found)
    return found.why


@pytest.mark.parametrize("path", ["plan.txt", "./plan.txt", "{folder}/plan.txt", "{folder}//plan.txt"])
def test_a_file_has_its_size_and_the_digest_of_its_bytes(folder: Path, path: str) -> None:
    found = file_version(pin(folder), path.replace("{folder}", str(folder)))
    assert found == Version("path", "file", (Part("$", "sha256:" + hashlib.sha256(b"the plan").hexdigest()),), 8)


def test_one_further_down_is_found(folder: Path) -> None:
    found = file_version(pin(folder), "sub/deep.txt")
    assert isinstance(found, Version)
    assert found.size == 4


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("../secret.txt", "outside"),
        ("sub/../../secret.txt", "outside"),
        ("{folder}/../secret.txt", "outside"),
        ("{folder}x/plan.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("/", "outside"),
        (".", "outside"),
        ("a/" * 200 + "b", "outside"),
        ("", "not_text"),
        ("plan.txt\0", "not_text"),
        (7, "not_text"),
        (["plan.txt"], "not_text"),
        (None, "not_text"),
        ("none.txt", "missing"),
        ("none/none.txt", "missing"),
        ("plan.txt/x", "missing"),
        ("sub", "special"),
    ],
)
def test_what_is_not_a_file_in_there_has_no_version(folder: Path, path: object, word: str) -> None:
    given = path.replace("{folder}", str(folder)) if isinstance(path, str) else path
    assert why(file_version(pin(folder), given)) == word


@pytest.mark.parametrize("to", ["../secret.txt", "{folder}/../secret.txt", "plan.txt", "none.txt"])
def test_no_link_is_followed_wherever_it_leads(folder: Path, to: str) -> None:
    (folder / "link").symlink_to(to.replace("{folder}", str(folder)))
    assert why(file_version(pin(folder, may_be_missing=True), "link")) == "link"


def test_no_link_on_the_way_is_followed(folder: Path) -> None:
    (folder / "way").symlink_to(folder.parent)
    assert why(file_version(pin(folder), "way/secret.txt")) == "link"


def test_a_link_that_is_put_there_between_the_look_and_the_opening_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = os.stat

    def swapped(name: Any, **more: Any) -> os.stat_result:
        found = seen(name, **more)
        if name == "plan.txt":
            (folder / "plan.txt").unlink()
            (folder / "plan.txt").symlink_to("../secret.txt")
        return found

    monkeypatch.setattr(os, "stat", swapped)
    assert why(file_version(pin(folder), "plan.txt")) == "link"


def test_a_queue_a_socket_and_a_device_are_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "fifo")
    monkeypatch.chdir(folder)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert why(file_version(pin(folder), "fifo")) == "special"
        assert why(file_version(pin(folder), "socket")) == "special"
    assert why(file_version(pin(Path("/dev")), "null")) == "special"


def test_a_queue_that_is_put_there_last_does_not_hold_anybody_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = os.stat

    def swapped(name: Any, **more: Any) -> os.stat_result:
        found = seen(name, **more)
        if name == "plan.txt":
            (folder / "plan.txt").unlink()
            os.mkfifo(folder / "plan.txt")
        return found

    monkeypatch.setattr(os, "stat", swapped)
    assert why(file_version(pin(folder), "plan.txt")) == "special"


def test_no_more_is_read_than_the_manifest_allows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(file_version(pin(folder, max_bytes=8), "plan.txt"), Version)
    assert why(file_version(pin(folder, max_bytes=7), "plan.txt")) == "too_large"
    seen = os.fstat

    def small(file: int) -> os.stat_result:
        found = seen(file)
        return os.stat_result((*found[:6], 1, *found[7:]))

    monkeypatch.setattr(os, "fstat", small)  # it grows after it was looked at
    assert why(file_version(pin(folder, max_bytes=7), "plan.txt")) == "too_large"


def test_a_file_that_changes_while_it_is_read_has_no_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, looks = os.fstat, list[int]()

    def growing(file: int) -> os.stat_result:
        looks.append(file)
        if len(looks) > 1:
            with (folder / "plan.txt").open("ab") as more:
                more.write(b"!")
        return seen(file)

    monkeypatch.setattr(os, "fstat", growing)
    assert why(file_version(pin(folder), "plan.txt")) == "moving"


def test_a_file_that_is_written_over_while_it_is_read_has_no_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as large as before, so its size says nothing."""
    seen, looks = os.fstat, list[int]()

    def rewritten(file: int) -> os.stat_result:
        looks.append(file)
        if len(looks) > 1:
            (folder / "plan.txt").write_bytes(b"the prey")
            os.utime(folder / "plan.txt", ns=(1, 1))
        return seen(file)

    monkeypatch.setattr(os, "fstat", rewritten)
    assert why(file_version(pin(folder), "plan.txt")) == "moving"


def test_a_missing_file_is_a_version_where_the_manifest_says_so(folder: Path) -> None:
    assert file_version(pin(folder, may_be_missing=True), "new/none.txt") == Version("path", "file")


def test_a_missing_folder_is_none(tmp_path: Path) -> None:
    assert why(file_version(pin(tmp_path / "no", may_be_missing=True), "x")) == "no_folder"
