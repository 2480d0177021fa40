"""The OCSF export against the schema itself: each kind of event, in two versions of it, erased ones too."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from checkvalve.approvals.audit import Event
from checkvalve.approvals.handed import GLASS
from checkvalve.approvals.ocsf import VERSION, to_ocsf

ROOT = Path(__file__).resolve().parents[2]
NEWER = "1.8.0"
BODIES: dict[str, dict[str, Any]] = {
    "proposal.recorded": {"state": "pending", "tool": "send", "server": "mail", "requester": "bob", "by": ""},
    "proposal.unknown": {"state": "unknown", "by": "recovery", "code": "owner_died"},
    "proposal.rejected": {"state": "rejected", "by": "reviewer:ann"},
    "grant.issued": {"issued_by": "rule:attributed-effect"},
    "reviewer.added": {"reviewer": "zoe", "by": "ann", "credential": "x"},
    "reviewer.roles": {"reviewer": "zoe", "roles": '{"roles":["viewer"]}', "by": "reviewer:ann"},
    "delegation.given": {"by": "reviewer:ann", "taker": "zoe", "reason": "holidays"},
    "mandate.granted": {"requester": "bob", "by": "host:bob"},
    "session.started": {"name": "zoe", "method": "passkey"},
    "stepup.used": {"method": "passkey", "by": "reviewer:zoe"},
    "vote.cast": {"by": "reviewer:zoe", "vote": "yes"},
    "effect.undone": {"undo": "u", "by": "carl", "state": "succeeded"},
}


def kinds() -> list[str]:
    """Return every kind of event that the program writes, as its source says; what is composed is filled in."""
    found = set(BODIES)
    for folder in ("approvals", "gateway", "graphs"):
        for path in (ROOT / folder).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                    for keyword in node.keywords:
                        if keyword.arg == "kind":
                            found.add(re.sub(r"\{.*?\}", "some", ast.unparse(keyword.value).strip("f'\"")))
    return sorted(kind for kind in found if "." in kind)


@cache
def validator(version: str, uid: int) -> Draft202012Validator:
    from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

    schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=version))
    return Draft202012Validator(schema.get_class_schema(class_name=schema.lookup_class_name_from_uid(uid), profiles=[]))


def event(kind: str, body: dict[str, Any] | None, subject: str = "s") -> Event:
    erased = body is None
    text = "" if body is None else json.dumps(body)
    return Event(7, 1_800_000_000_123_456, kind, subject, text, "p", "h", None if erased else "00", "c")


@pytest.mark.claim("C5")
@pytest.mark.parametrize("version", [VERSION, NEWER])
@pytest.mark.parametrize("kind", kinds())
def test_every_event_fits_its_class(kind: str, version: str) -> None:
    for subject, body in (("account:zoe", BODIES.get(kind, {})), ("", {}), ("s", None)):
        made = to_ocsf(event(kind, body, subject))
        problems = [error.message for error in validator(version, made["class_uid"]).iter_errors(made)]  # type: ignore[arg-type]
        assert problems == []
        assert made["type_uid"] == made["class_uid"] * 100 + made["activity_id"]  # type: ignore[operator]


def test_the_activities_are_those_that_the_schema_calls_so() -> None:
    from ocsf_json_schema import get_ocsf_schema

    classes = {found["uid"]: found for found in get_ocsf_schema(version=VERSION)["classes"].values()}
    expected = {
        "log.started": "Start",
        "log.stopped": "Stop",
        "log.pruned": "Delete",
        "reviewer.added": "Create",
        "reviewer.disabled": "Disable",
        "password.set": "Password Change",
        "passkey.added": "MFA Factor Enable",
        "session.started": "Logon",
        "session.ended": "Logoff",
        "delegation.given": "Assign Privileges",
        "delegation.ended": "Revoke Privileges",
    }
    for kind, caption in expected.items():
        made = to_ocsf(event(kind, BODIES.get(kind, {})))
        names = classes[made["class_uid"]]["attributes"]["activity_id"]["enum"]
        assert names[str(made["activity_id"])]["caption"] == caption, kind


def test_people_are_users_and_what_decides_by_itself_is_none() -> None:
    told = {kind: to_ocsf(event(kind, body))["actor"] for kind, body in BODIES.items()}
    assert told["proposal.rejected"] == {"user": {"name": "ann", "type_id": 1}, "invoked_by": "reviewer"}
    assert told["proposal.recorded"] == {"user": {"name": "bob"}}
    assert told["grant.issued"] == {"app_name": "rule:attributed-effect"}
    broke = to_ocsf(event("proposal.approved", {"state": "approved", "by": f"{GLASS}max"}))["actor"]
    assert broke == {"user": {"name": "max", "type_id": 1}, "invoked_by": "breakglass"}
    assert to_ocsf(event("proposal.rejected", None))["actor"] == {"app_name": "erased"}
    given = to_ocsf(event("delegation.given", BODIES["delegation.given"]))
    assert (given["user"], given["privileges"]) == ({"name": "zoe"}, ["stands in for an approver"])


def test_a_schema_that_is_not_met_is_noticed() -> None:
    made = to_ocsf(event("log.started", {}))
    assert not list(validator(VERSION, 1008).iter_errors(made))
    assert list(validator(VERSION, 1008).iter_errors({**made, "log_name": None}))
    del made["log_name"]
    assert list(validator(VERSION, 1008).iter_errors(made))
