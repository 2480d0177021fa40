"""Drafting manifests from tool schemas, and pinning them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.errors import ConfigError, ManifestError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_draft import draft
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_pin import differences, pins
from checkvalve.approvals.kit_schemas import ToolSchema, read_tools
from checkvalve.approvals.kit_words import RANK
from checkvalve.approvals.manifest import parse_manifest, schema_digest
from checkvalve.approvals.toolspec import Manifest

TEXT = {"type": "string"}


def mcp(name: str, hints: dict[str, Any] | None = None, /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "inputSchema": schema, **({"annotations": hints} if hints else {})}


def drafted(*tools: dict[str, Any]) -> Manifest:
    return parse_manifest(draft(read_tools({"tools": list(tools)}, "t"), "x"), "draft")


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("send_email", Effect.SEND), ("sendMessage", Effect.SEND), ("delete-file", Effect.DELETE),
        ("pay_bill", Effect.PAY),
        ("send_money", Effect.PAY), ("create_event", Effect.WRITE), ("run_shell", Effect.EXECUTE),
        ("list_files", Effect.READ), ("update_password", Effect.CONFIGURE), ("frobnicate", Effect.SEND),
        ("cancel_booking", Effect.DELETE), ("remember_fact", Effect.REMEMBER), ("share_document", Effect.SEND),
    ],
)  # fmt: skip
def test_the_name_gives_the_effect(name: str, effect: Effect) -> None:
    assert drafted(mcp(name)).tools[name].effect is effect


@pytest.mark.parametrize("name", ["send_email", "delete_file", "frobnicate", "pay_bill", "run_code"])
def test_a_hint_of_the_server_never_relaxes(name: str) -> None:
    plain = drafted(mcp(name)).tools[name]
    hinted = drafted(mcp(name, {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False})).tools[name]
    assert hinted.effect is plain.effect


def test_a_hint_of_the_server_may_warn() -> None:
    assert drafted(mcp("get_all", {"readOnlyHint": False})).tools["get_all"].effect is Effect.WRITE
    assert drafted(mcp("get_all", {"destructiveHint": True})).tools["get_all"].effect is Effect.DELETE
    assert drafted(mcp("get_all", {"openWorldHint": True})).tools["get_all"].leaves_domain
    assert drafted(mcp("fetch_page", {"openWorldHint": False}, url=TEXT)).tools["fetch_page"].leaves_domain


def test_arguments_get_roles_and_kinds() -> None:
    spec = drafted(
        mcp(
            "send_payment", recipient=TEXT, amount={"type": "number"}, subject=TEXT, password=TEXT,
            recurring={"type": "boolean"}, invoice_id=TEXT, reply={"type": "string", "format": "email"}, thing=TEXT,
        )
    ).tools["send_payment"]  # fmt: skip
    roles = {name: (item.role, item.kind) for name, item in spec.args.items()}
    assert roles == {
        "recipient": (Role.TARGET, "account"),
        "amount": (Role.AMOUNT, "number"),
        "subject": (Role.CONTENT, "text"),
        "password": (Role.CREDENTIAL, "text"),
        "recurring": (Role.CONTROL, "text"),
        "invoice_id": (Role.SELECTOR, "id:invoice"),
        "reply": (Role.TARGET, "email"),
        "thing": (Role.TARGET, "name"),
    }
    assert spec.result == ()
    assert spec.asks


def test_lists_alternatives_and_objects_are_looked_into() -> None:
    spec = drafted(
        mcp(
            "create_event",
            participants={"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]},
            place={"type": "object", "properties": {"url": TEXT, "notes": TEXT}},
            level={"type": ["string", "null"], "enum": ["low", "high"]},
            number={"type": ["integer", "null"]},
        )
    ).tools["create_event"]
    assert (spec.args["participants"].role, spec.args["participants"].kind) == (Role.TARGET, "email")
    assert spec.args["place"].fields["url"].role is Role.TARGET
    assert spec.args["place"].fields["notes"].role is Role.CONTENT


def test_every_line_says_how_sure_it_is() -> None:
    text = draft(read_tools([mcp("send_email", to=TEXT, x=TEXT)], "t"), "x")
    body = [line for line in text.splitlines() if line.startswith("    ") and not line.strip().endswith(":")]
    assert body
    assert all(any(f"# {sure}: " in line for sure in ("high", "medium", "low")) for line in body)


def test_every_form_of_schemas_is_read() -> None:
    schema = {"type": "object", "properties": {"to": TEXT}}
    for value in (
        {"jsonrpc": "2.0", "result": {"tools": [{"name": "a", "inputSchema": schema}]}},
        {"tools": [{"name": "a", "input_schema": schema}]},
        [{"type": "function", "function": {"name": "a", "parameters": schema}}],
        [{"type": "function", "name": "a", "parameters": schema}],
    ):
        (tool,) = read_tools(value, "t")
        assert (tool.name, list(tool.arguments)) == ("a", ["to"])


def test_openapi_operations_are_tools() -> None:
    body = {"$ref": "#/components/schemas/Mail"}
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/mails/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
                "get": {"operationId": "getMail"},
                "delete": {"summary": "Remove"},
                "post": {
                    "operationId": "getCopy",
                    "requestBody": {"content": {"application/json": {"schema": body}}},
                },
            }
        },
        "components": {"schemas": {"Mail": {"type": "object", "required": ["to"], "properties": {"to": TEXT}}}},
    }
    found = {tool.name: tool for tool in read_tools(document, "t")}
    assert set(found) == {"getMail", "delete_mails_id", "getCopy"}
    assert list(found["getCopy"].arguments) == ["id", "to"]
    manifest = parse_manifest(draft(list(found.values()), "x"), "d")
    assert manifest.tools["getMail"].effect is Effect.READ
    assert manifest.tools["delete_mails_id"].effect is Effect.DELETE
    assert manifest.tools["getCopy"].effect is Effect.WRITE  # a POST that calls itself a read


@pytest.mark.parametrize(
    "value",
    [
        None, {}, [], {"tools": []}, {"tools": [{}]}, [{"name": ""}], [{"name": "a", "inputSchema": 1}], "x",
        [{"name": "a"}, {"name": "a"}], {"paths": {"/": 1}}, {"paths": {"/": {"get": {"parameters": [{"$ref": "x"}]}}}},
    ],
)  # fmt: skip
def test_what_is_no_tool_schema_is_an_error(value: Any) -> None:
    with pytest.raises(ConfigError):
        read_tools(value, "t")


@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(lambda text: text.strip()),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
)
def test_a_draft_loads_whatever_things_are_called(name: str, argument: str) -> None:
    tools = read_tools([mcp(name, None, **{argument: TEXT})], "t")
    text = draft(tools, name)
    assert all(char.isprintable() or char == "\n" for char in text)
    manifest = parse_manifest(text, "d")
    (spec,) = manifest.tools.values()
    assert spec.name == name.strip()
    assert [found.strip() for found in spec.args] == [argument.strip()]


def test_a_server_is_a_part_of_the_key() -> None:
    manifest = parse_manifest(draft(read_tools([mcp("get_x")], "t"), "x", server="mail"), "d")
    assert manifest.find("get_x", "mail") is not None
    assert manifest.find("get_x") is None


def test_a_draft_of_plain_tools_has_no_errors_to_find() -> None:
    tools = read_tools(
        [mcp("send_email", to=TEXT, body=TEXT), mcp("delete_file", file_id=TEXT), mcp("fetch_url", url=TEXT)], "t"
    )
    found = lint_manifest(draft(tools, "x"), "d", tools)
    assert [item for item in found if item.level == "error"] == []


def test_every_effect_has_a_rank() -> None:
    assert set(RANK) == set(Effect)


MANIFEST = """\
name: x  # a comment that stays
tools:
  send_mail:   # and this one

    effect: send
    args:
      to: {role: target}
  bare:
  flow: {effect: read}
"""


def tool(name: str, **properties: Any) -> ToolSchema:
    return ToolSchema(name, {"type": "object", "properties": properties})


def test_pins_go_in_and_nothing_else_changes() -> None:
    tools = [tool("send_mail", to=TEXT), tool("bare")]
    found, text = pins(MANIFEST, "m", tools)
    assert [(item.tool, item.state) for item in found] == [
        ("send_mail", "pinned"),
        ("bare", "pinned"),
        ("flow", "missing"),
    ]
    manifest = parse_manifest(text, "m")
    assert manifest.tools["send_mail"].schema_digest == schema_digest(tools[0].schema)
    assert [line for line in text.splitlines() if "schema_digest" not in line] == MANIFEST.splitlines()
    again, same = pins(text, "m", tools)
    assert same == text
    assert [item.state for item in again] == ["unchanged", "unchanged", "missing"]


def test_a_changed_schema_shows_what_changed() -> None:
    old = [tool("send_mail", to={"type": "string", "description": "who"}), tool("bare")]
    new = [tool("send_mail", to={"type": "string", "description": "whom"}, bcc=TEXT), tool("bare")]
    _, text = pins(MANIFEST, "m", old)
    found, newer = pins(text, "m", new, old)
    assert found[0].state == "changed"
    assert found[0].semantic == ('properties.bcc: new, {"type": "string"}',)
    assert found[0].wording == ("properties.to.description: reworded",)
    assert parse_manifest(newer, "m").tools["send_mail"].schema_digest == schema_digest(new[0].schema)
    assert newer.count("schema_digest") == 2


def test_wording_breaks_no_pin() -> None:
    semantic, wording = differences(
        {"title": "A", "required": ["a", "b"], "properties": {"title": TEXT}},
        {"required": ["b", "a"], "properties": {"title": {**TEXT, "description": "x"}}},
    )
    assert semantic == ()
    assert len(wording) == 3
    assert differences({"properties": {"title": TEXT}}, {"properties": {}})[0]


def test_a_tool_in_flow_style_and_a_schema_that_cannot_be_pinned() -> None:
    with pytest.raises(ManifestError, match="flow style"):
        pins(MANIFEST, "m", [tool("flow")])
    found, text = pins(MANIFEST, "m", [ToolSchema("bare", {"$ref": "http://elsewhere.example"})])
    assert (found[1].state, text) == ("unusable", MANIFEST)


def test_a_shipped_schema_that_is_another_one_is_not_pinned_over() -> None:
    text = "name: x\ntools:\n  a:\n    input_schema: {type: object, properties: {to: {type: string}}}\n"
    found, new = pins(text, "m", [tool("a", other=TEXT)])
    assert (found[0].state, new) == ("unusable", text)
    assert found[0].semantic
