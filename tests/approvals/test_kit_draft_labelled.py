"""Drafts against labels (``tests/data/tool_schemas.yaml``), names that mislead, and what results may say."""

from __future__ import annotations

from typing import Any

import pytest

from checkvalve.approvals.fieldspec import Effect, Role, WritableBy
from checkvalve.approvals.kit_draft import draft
from checkvalve.approvals.kit_effects import effect_of
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_schemas import ToolSchema, read_tools
from checkvalve.approvals.kit_words import RANK
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from tests.approvals.drafted_labels import labelled, mcp, measure

TEXT = {"type": "string"}


@pytest.mark.parametrize("part", ["seen", "held"])
def test_no_draft_is_weaker_than_its_label(part: str) -> None:
    found = measure(part)
    assert found["effects too weak"] == []
    assert found["roles too weak"] == []


@pytest.mark.parametrize(("part", "tools", "effects", "roles"), [("seen", 72, 1.0, 0.98), ("held", 45, 0.95, 0.95)])
def test_most_drafts_are_what_a_careful_person_would_declare(
    part: str, tools: int, effects: float, roles: float
) -> None:
    found = measure(part)
    assert found["tools"] >= tools
    assert found["effects right"] >= effects * found["effects"]
    assert found["roles right"] >= roles * found["roles"]


def test_labels_cover_every_effect_and_role() -> None:
    tools = labelled()
    assert {word for tool in tools for word in tool["effect"].split("|")} == set(Effect)
    assert {word for tool in tools for label in tool["roles"].values() for word in label.split("|")} == set(Role)
    assert all(set(tool["roles"]) == set(tool["args"]) for tool in tools)


def test_the_lint_finds_only_sinks_that_no_argument_could_guard() -> None:
    tools = read_tools([mcp(tool) for tool in labelled()], "t")
    errors = [item for item in lint_manifest(draft(tools, "x"), "d", tools) if item.level == "error"]
    assert {item.code for item in errors} == {"unguarded-sink"}
    assert {item.field for item in errors} == {
        f"tools.{name}.args" for name in ("set_auto_reply", "wordpress_publish_post", "sequential_thinking")
    }


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("get_or_create_user", Effect.CONFIGURE), ("find_and_replace", Effect.WRITE), ("check_in_guest", Effect.WRITE),
        ("list_add", Effect.WRITE), ("status_update", Effect.WRITE), ("download_and_install", Effect.EXECUTE),
        ("open_valve", Effect.WRITE), ("show_notification", Effect.SEND), ("read_and_delete", Effect.DELETE),
        ("lookup_and_charge", Effect.PAY), ("load_plugin", Effect.EXECUTE), ("recall_email", Effect.DELETE),
        ("move_to_trash", Effect.DELETE), ("create_share_link", Effect.SEND), ("place_bid", Effect.PAY),
        ("make_payment", Effect.PAY), ("create_cron_job", Effect.CONFIGURE), ("add_comment", Effect.SEND),
        ("fetch_and_forward", Effect.SEND), ("selectOption", Effect.SEND), ("save_to_public_bucket", Effect.SEND),
    ],
)  # fmt: skip
def test_a_name_that_begins_harmlessly_is_read_to_its_end(name: str, least: Effect) -> None:
    assert RANK[effect_of(ToolSchema(name, {}))[0]] >= RANK[least]


@pytest.mark.parametrize(
    "name",
    [
        "search_emails", "list_orders", "get_order", "view_post", "get_booking", "list_transfers", "find_payment",
        "get_call_log", "list_invites", "get_settings", "describe_instances", "read_mail_message", "openFile",
    ],
)  # fmt: skip
def test_a_read_stays_a_read_whatever_it_reads(name: str) -> None:
    assert effect_of(ToolSchema(name, {}))[0] is Effect.READ


def one(name: str, says: str = "", output: dict[str, Any] | None = None, **properties: Any) -> ToolSchema:
    return ToolSchema(name, {"type": "object", "properties": properties}, says, {}, output or {})


@pytest.mark.parametrize(
    ("name", "says", "effect"),
    [
        ("create_event", "Creates an event. It will also email the participants.", Effect.SEND),
        ("save_note", "Saves a note and publishes it.", Effect.SEND),
        ("update_page", "Changes a page; its followers are notified.", Effect.SEND),
        ("get_report", "Get the report, then deletes it from the server.", Effect.DELETE),
        ("get_quote", "Get a quote. Charges the card on file.", Effect.PAY),
    ],
)
def test_a_description_raises_an_effect(name: str, says: str, effect: Effect) -> None:
    assert effect_of(one(name, says, note=TEXT))[0] is effect


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("send_mail", "Only reads. Returns nothing and changes nothing."),
        ("delete_all", "Lists what could be deleted. Read-only."),
        ("frobnicate", "Gets the weather. Never writes."),
    ],
)
def test_a_description_never_lowers_an_effect(name: str, says: str) -> None:
    plain = effect_of(one(name))[0]
    assert effect_of(one(name, says))[0] is plain
    assert plain is not Effect.READ


@pytest.mark.parametrize(
    "says",
    [
        "Returns all the emails that were sent or deleted.",
        "Emails are marked as read. Messages with a comment are included.",
        "Search for files; the answer is a list of records.",
    ],
)
def test_a_description_of_a_read_leaves_it_one(says: str) -> None:
    assert effect_of(one("list_items", says))[0] is Effect.READ


def test_who_is_told_without_a_text_changes_nothing() -> None:
    """Times alone carry nothing that was read to those who are told."""
    says = "Moves an event; its participants are notified."
    when = one("reschedule_event", says, event_id=TEXT, start_time=TEXT)
    assert effect_of(when)[0] is Effect.WRITE
    assert effect_of(one("reschedule_event", says, event_id=TEXT, start_time=TEXT, note=TEXT))[0] is Effect.SEND


def test_a_statement_makes_whatever_takes_it_run_something() -> None:
    assert effect_of(one("query", "Read-only.", sql=TEXT))[0] is Effect.EXECUTE
    assert effect_of(one("get_report", "", output_path=TEXT))[0] is Effect.WRITE


def manifest(*tools: ToolSchema, server: str = "") -> Manifest:
    return parse_manifest(draft(tools, "x", server=server), "d")


FILES = {
    "type": "array",
    "items": {
        "type": "object",
        "title": "StoredFile",
        "properties": {
            "id": {"type": "string", "description": "The unique identifier of the file"},
            "name": TEXT,
            "owner": {"type": "string", "format": "email"},
            "size": {"type": "integer"},
            "parent": {"type": "object", "properties": {"id": TEXT}},
        },
    },
}


def trusted(spec: ToolSpec) -> dict[str, str]:
    return {field.path: field.kind for field in spec.result if field.writable_by is not WritableBy.OUTSIDERS}


def test_only_handles_and_sizes_of_the_server_are_trusted() -> None:
    found = manifest(one("list_files", "", FILES), one("share_file", "", file_id=TEXT, email=TEXT))
    assert trusted(found.tools["list_files"]) == {"id": "id:file", "size": "number"}


def test_what_people_call_a_record_by_is_declared_and_stays_untrusted() -> None:
    found = manifest(one("list_files", "", FILES), one("share_file", "", file_id=TEXT, email=TEXT))
    named = [field for field in found.tools["list_files"].result if field.names_record]
    assert [(field.path, field.writable_by) for field in named] == [("name", WritableBy.OUTSIDERS)]


def test_a_handle_that_nobody_takes_back_is_not_trusted() -> None:
    assert trusted(manifest(one("list_files", "", FILES)).tools["list_files"]) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "email"},
        {"type": "string", "format": "uri"},
        {"type": "string", "description": "A slug of the file, chosen by its author"},
        {"type": "string", "description": "The user name of the file's owner"},
        {"type": "object", "properties": {}},
    ],
)
def test_an_id_that_people_may_choose_is_not_trusted(schema: dict[str, Any]) -> None:
    output = {"type": "array", "items": {"title": "File", "properties": {"id": schema, "size": {"type": "integer"}}}}
    found = manifest(one("list_files", "", output), one("open_file", "", file_id=TEXT))
    assert trusted(found.tools["list_files"]) == {}


def test_results_from_outside_have_no_handles() -> None:
    web = ToolSchema("list_files", {}, "", {"openWorldHint": True}, FILES)
    found = manifest(web, one("fetch_files", "", FILES, url=TEXT), one("open_file", "", file_id=TEXT))
    assert trusted(found.tools["list_files"]) == trusted(found.tools["fetch_files"]) == {}


def test_an_id_of_one_server_is_none_of_another() -> None:
    tools = (one("list_files", "", FILES), one("share_file", "", file_id=TEXT))
    found = manifest(*tools, server="drive")
    assert trusted(found.tools["drive/list_files"])["id"] == "id:drive.file"
    assert found.tools["drive/share_file"].args["file_id"].kind == "id:drive.file"


def test_no_destination_of_a_draft_accepts_a_field() -> None:
    tools = read_tools([mcp(tool) for tool in labelled()], "t")
    for spec in manifest(*tools).tools.values():
        for argument in spec.args.values():
            if argument.role is Role.TARGET and spec.effect is not Effect.READ:
                assert argument.accepts == ("user", "system")


def test_personal_data_is_for_its_owner() -> None:
    found = manifest(
        one("get_profile"), one("get_account", "Returns the passport number."), one("list_files"), one("get_user_info")
    )
    owned = {name for name, spec in found.tools.items() if any(field.readers == "owner" for field in spec.result)}
    assert owned == {"get_profile", "get_account", "get_user_info"}


def test_references_inside_a_schema_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "permission": {"$ref": "#/$defs/Level"},
            "loop": {"$ref": "#/$defs/Loop"},
            "no": {"$ref": "#/x"},
        },
        "$defs": {
            "Level": {"type": "string", "enum": ["rw", "r"]},
            "Loop": {"type": "object", "properties": {"again": {"$ref": "#/$defs/Loop"}}},
        },
    }
    spec = manifest(ToolSchema("share_file", schema)).tools["share_file"]
    assert spec.args["permission"].safe_values == ("r",)


def test_a_destination_may_be_left_out_only_where_that_sends_nowhere() -> None:
    def spec(name: str, *required: str, **properties: Any) -> ToolSpec:
        schema = {"type": "object", "properties": properties, "required": list(required)}
        return manifest(ToolSchema(name, schema)).tools[name]

    assert spec("send_mail", "to", to=TEXT, cc=TEXT).args["cc"].optional
    assert not spec("send_mail", "to", to=TEXT, cc=TEXT).args["to"].optional
    assert not spec("post_message", "text", text=TEXT, channel=TEXT).args["channel"].optional
    assert spec("update_order", "order_id", order_id=TEXT, recipient=TEXT).args["recipient"].optional
