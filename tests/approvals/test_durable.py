"""A line that is appended is there whole, or not at all and an error says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkvalve.approvals.durable import append_line


def test_a_line_that_the_system_takes_in_parts_is_there_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda place, data: write(place, data[:3]))
    for line in ("first line\n", "second line\n"):
        append_line(tmp_path / "anchor", line)
    assert (tmp_path / "anchor").read_text() == "first line\nsecond line\n"


def test_a_disk_that_is_full_in_the_middle_of_a_line_leaves_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, file = os.write, tmp_path / "anchor"
    append_line(file, "first line\n")

    def full(place: int, data: bytes) -> int:
        if len(data) < len("second line\n"):
            raise OSError(28, "No space left on device")
        return write(place, data[:3])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        append_line(file, "second line\n")
    monkeypatch.undo()
    append_line(file, "third line\n")
    assert file.read_text() == "first line\nthird line\n"
