"""``docs/decide.md`` shows a case and its answer as they are, and names every field of both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from checkvalve.gateway import decide_command
from checkvalve.gateway.decide_command import decide_case

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "decide.md").read_text(encoding="utf-8")
CASE, ANSWER = (json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def decided(case: dict[str, Any]) -> dict[str, Any]:
    return decide_case(json.dumps(case).encode(), ROOT / "examples" / "mailbox.yaml").to_json()


def test_the_answer_on_the_page_is_the_answer() -> None:
    found = decided(CASE)
    assert {name: found[name] for name in ANSWER} == ANSWER


def test_the_other_verdict_on_the_page_is_right() -> None:
    call = {**CASE["call"], "args": {**CASE["call"]["args"], "to": "ann@corp.example"}}
    found = decided({**CASE, "call": call})
    assert found["verdict"] == "allow"
    assert {"tool:find_contact/h1#0.email"} <= {item["source"] for item in found["arguments"][0]["origins"]}


def test_an_endorsement_and_a_mandate_count_as_the_page_says() -> None:
    accepted = {
        "value": "ann@evil.example",
        "source": "mail by eve@evil.example",
        "role": "target",
        "tool": "send_mail",
    }
    for kind, expected in (("email", True), ("text", False)):
        found = decided({**CASE, "endorsements": [{**accepted, "kind": kind}]})
        assert found["arguments"][0]["sufficient"] is expected
    mandate = {"source": "mail by eve@evil.example", "tool": "send_mail", "roles": ["target"]}
    assert decided({**CASE, "mandates": [mandate]})["arguments"][0]["sufficient"] is True


def test_every_field_is_named() -> None:
    models = [item for item in vars(decide_command).values() if isinstance(item, type) and issubclass(item, BaseModel)]
    names = {name for model in models for name in model.model_fields if model.__module__ == decide_command.__name__}
    assert {"source", "max_amount", "authority", "requester"} <= names
    assert not [name for name in names if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE]
