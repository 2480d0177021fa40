"""What people see of a stored result: its text, whatever form it was kept in."""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from checkvalve.gateway.handover import pack
from checkvalve.gateway.result_text import result_text


def test_the_text_of_stored_messages_is_shown() -> None:
    _, record = pack(ToolMessage("It rains\x1b[2J.", tool_call_id="c1", artifact={"page": 3}))
    assert "It rains" not in str(record)
    assert result_text(record) == 'It rains\x1b[2J.\n{"page": 3}'


def test_other_results_are_shown_as_they_are() -> None:
    assert result_text("sent") == "sent"
    assert result_text({"ok": True}) == '{"ok": true}'


def test_a_damaged_record_is_said_to_be_one() -> None:
    assert "cannot be read" in result_text({"format": "langchain/1", "packed": ["!"]})
