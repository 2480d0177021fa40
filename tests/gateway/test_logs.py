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


BROKEN = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n"
    b"xref\n0 1\n0000000000 65535 f \ntrailer << /Root 1 0 R /Size 3 >>\nstartxref\n12\n%%EOF"
)


def test_a_parser_says_nothing_of_a_strangers_file_unless_the_host_wants_it(caplog: pytest.LogCaptureFixture) -> None:
    library = logging.getLogger("pypdf")
    before = library.level
    try:
        for wanted, talks in ((logging.NOTSET, False), (logging.WARNING, True)):
            library.setLevel(wanted)
            configure_logs(Settings())
            scan_inbound(BROKEN)
            assert bool(caplog.records) == talks, wanted
    finally:
        library.setLevel(before)
