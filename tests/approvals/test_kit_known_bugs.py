"""The bugs that were found in the published policies of another system, planted here one by one: the kit names each."""

# ruff: noqa: ISC004  # a planted manifest is one text
from __future__ import annotations

import importlib.resources

import pytest

from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_rules import lint_policy
from checkvalve.approvals.kit_schemas import ToolSchema

SCHEMA = importlib.resources.files("checkvalve.approvals").joinpath("default.cedarschema").read_text("utf-8")


def policy(action: str, condition: str) -> str:
    head = '@id("rule")\n@decision("allow")\n'
    return f'{head}permit (principal, action == Action::"{action}", resource)\nwhen {{ {condition} }};\n'


def tool(name: str, *arguments: str) -> ToolSchema:
    return ToolSchema(name, {"properties": {argument: {"type": "string"} for argument in arguments}})


SCHEMAS = (
    tool("delete_email", "email_id"),
    tool("add_participants", "event_id", "participants"),
    tool("reserve_car_rental", "company", "start_time", "end_time"),
    tool("reserve_restaurant", "restaurant", "start_time"),
    tool("get_hotel_reviews", "hotel"),
    tool("reschedule_event", "event_id", "new_start"),
    tool("share_file", "file_id", "email"),
    tool("send_email", "recipients", "body"),
)


@pytest.mark.parametrize(
    ("bug", "text", "code", "word"),
    [
        ("a: denied when the id is trusted", policy("delete", "!context.selectors_ok && context.asked"),
         "inverted", "not selectors_ok"),
        ("b: says participants, and tests only the event", policy("write", "context.selectors_ok && context.asked"),
         "unguarded", "not targets_ok"),
        ("e: never checks which event", policy("write", "context.targets_ok && context.readers_ok"),
         "unguarded", "not selectors_ok"),
        ("f: a trusted recipient gets any body", policy("send", "context.targets_ok && context.asked"),
         "unguarded", "not readers_ok"),
        ("f: links too", policy("send", "context.targets_ok && context.asked && context.readers_ok"),
         "unguarded", "not links_ok"),
    ],
)  # fmt: skip
def test_planted_in_a_policy(bug: str, text: str, code: str, word: str) -> None:
    found = [item for item in lint_policy(text, SCHEMA, "p.cedar") if item.level == "error" and item.code == code]
    assert any(word in item.message for item in found), bug
    assert all(item.line == 1 and item.remedy for item in found)


@pytest.mark.parametrize(
    ("bug", "tools", "code", "field"),
    [
        ("a: nothing suffices for the id", "  delete_email:\n    effect: delete\n    args:\n"
         "      email_id: {role: selector, kind: 'id:email', accepts: []}\n", "contradiction", "email_id"),
        ("b: participants nobody checks", "  add_participants:\n    effect: write\n    args:\n"
         "      event_id: {role: selector, kind: 'id:event'}\n      participants: {role: content}\n",
         "content-is-target", "participants"),
        ("b: participants nobody declared", "  add_participants:\n    effect: write\n    args:\n"
         "      event_id: {role: selector, kind: 'id:event'}\n", "undeclared-argument", "add_participants"),
        ("c: the fields of the other tool", "  reserve_car_rental:\n    effect: pay\n    args:\n"
         "      restaurant: {role: target}\n      start_time: {role: content}\n", "other-tools-argument", "restaurant"),
        ("c: and the other way round", "  reserve_restaurant:\n    effect: pay\n    args:\n"
         "      company: {role: target}\n      end_time: {role: content}\n", "other-tools-argument", "end_time"),
        ("d: reviews are the user's", "  get_hotel_reviews:\n    effect: read\n    result:\n      - {path: '**', "
         "writable_by: owner, evidence: the travel agency keeps this list itself}\n", "stranger-field", "result.0"),
        ("e: any event is moved", "  reschedule_event:\n    effect: write\n    args:\n"
         "      event_id: {role: content}\n      new_start: {role: content}\n", "content-is-target", "event_id"),
        ("e: any file is shared", "  share_file:\n    effect: send\n    args:\n      file_id: {role: content}\n"
         "      email: {role: target, kind: email}\n", "content-is-target", "file_id"),
    ],
)  # fmt: skip
def test_planted_in_a_manifest(bug: str, tools: str, code: str, field: str) -> None:
    found = lint_manifest("name: planted\ntools:\n" + tools, "m.yaml", SCHEMAS)
    assert any(item.code == code and field in item.field and item.remedy for item in found), (bug, found)
