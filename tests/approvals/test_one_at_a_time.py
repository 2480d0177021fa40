"""Who waits for whom where one writer at a time is let in, and what a failing close may not do."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from checkvalve.approvals.durable import one_at_a_time
from tests.waiting import LONG


def test_the_next_one_is_let_in_though_closing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, close, left = tmp_path / "new" / "signed", os.close, list[int]()

    def fails(place: int) -> None:
        left.append(place)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "close", fails)
    with one_at_a_time(file):
        pass
    monkeypatch.undo()
    second = threading.Thread(target=_pass, args=(file,), daemon=True)
    second.start()
    second.join(LONG)
    assert not second.is_alive()
    for place in left:
        close(place)


def test_one_waits_for_the_other_and_an_error_inside_lets_go(tmp_path: Path) -> None:
    file, inside = tmp_path / "signed", threading.Event()

    def second() -> None:
        with one_at_a_time(file):
            inside.set()

    waits = threading.Thread(target=second, daemon=True)

    def first() -> None:
        with one_at_a_time(file):
            waits.start()
            assert not inside.wait(0.2)
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        first()
    waits.join(LONG)
    assert inside.is_set()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|exists"), one_at_a_time(tmp_path / "file" / "signed"):
        pass


def _pass(file: Path) -> None:
    with one_at_a_time(file):
        pass
