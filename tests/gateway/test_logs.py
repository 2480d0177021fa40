"""Logs say what was decided and nothing of the content."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest

from checkvalve.filters.inbound import scan_inbound
from checkvalve.gateway.logs import configure_logs, get_logger
from checkvalve.gateway.settings import Settings


def test_json_goes_to_standard_error_without_content(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="json"))
    get_logger().info("call.decided", tool="send_mail", verdict="deny", args={"to": "x@y"}, result="secret")
    captured = capsys.readouterr()
    assert captured.out == ""
    line = json.loads(captured.err)
    assert (line["event"], line["tool"], line["verdict"]) == ("call.decided", "send_mail", "deny")
    assert line["withheld"] == ["args", "result"]
    assert "secret" not in captured.err
    assert "x@y" not in captured.err


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_name_from_a_model_cannot_forge_a_line_or_steer_the_terminal(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(Settings.model_validate({"log_format": form}))
    get_logger().info("call.decided", tool="x\n2026 call.decided verdict=allow\x1b[2J\u202e" + "a" * 5000)
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "\x1b[2J" not in err
    assert "\u202e" not in err
    assert len(err) < 1000


def test_what_is_below_the_level_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_level="error"))
    get_logger().warning("call.decided")
    assert capsys.readouterr().err == ""


def test_a_closed_output_stops_nothing_and_a_new_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads go on when the stream that they logged to is gone; who puts another one there hears the rest."""
    first, second = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", first)
    configure_logs(Settings(log_format="json"))
    get_logger().info("call.decided", tool="one")
    assert json.loads(first.getvalue())["tool"] == "one"
    first.close()
    get_logger().info("call.decided", tool="lost")
    monkeypatch.setattr(sys, "stderr", second)
    get_logger().info("call.decided", tool="two")
    assert json.loads(second.getvalue())["tool"] == "two"


def test_a_pipe_that_nobody_reads_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Broken())
    configure_logs(Settings(log_format="json"))
    get_logger().error("call.decided", tool="one")


def test_a_parser_says_nothing_of_a_strangers_file_unless_the_host_wants_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 9 0 R >>\nendobj\ntrailer << /Root 1 0 R >>\nstartxref\n9\n%%EOF"
    )
    library = logging.getLogger("pypdf")
    monkeypatch.setattr(library, "level", logging.NOTSET)
    configure_logs(Settings())
    assert scan_inbound(broken).reason == "broken-document"
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(library, "level", logging.ERROR)
    configure_logs(Settings())
    assert library.level == logging.ERROR
