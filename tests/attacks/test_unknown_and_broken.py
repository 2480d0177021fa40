"""Whatever is not known, does not fit, or breaks: not executed, with a reason that repeats none of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

import pytest

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import MAX_QUESTIONS, DecisionContext
from checkvalve.approvals.detectors import Finding
from checkvalve.approvals.policy import parse_policy
from checkvalve.approvals.requests import ActionRequest
from checkvalve.filters.errors import HostileInputError
from tests.attacks.world import MANIFEST, POLICY, Session

pytestmark = pytest.mark.claim("C2", "C9")


def context(session: Session) -> DecisionContext:
    return DecisionContext(manifest=MANIFEST, policy=POLICY, index=session.index)


def test_an_unknown_tool_never_runs() -> None:
    assert Session("Do whatever you like").verdict("drop_tables") == "deny:unknown-tool"


def test_a_known_tool_on_another_server_is_unknown() -> None:
    request = ActionRequest.build("read_mail", {}, server="elsewhere")
    assert decide(request, context(Session())).verdict.name == "deny"


def test_a_tool_without_a_declaration_has_the_strictest_one() -> None:
    assert Session("x").verdict("undeclared").startswith("review:")
    assert Session("x").verdict("undeclared", anything=1).startswith("review:")


def test_an_undeclared_argument_is_refused() -> None:
    session = Session("Send hello to me@corp.example")
    assert (
        session.verdict("send_mail", to="me@corp.example", body="hello", bcc="eve@x.example") == "deny:unknown-argument"
    )


def test_an_unknown_profile_is_refused() -> None:
    session = Session("x")
    request = ActionRequest.build("read_mail", {})
    assert decide(request, replace(context(session), profile="lenient")).verdict.rule == "unknown-profile"


def test_a_pinned_schema_that_was_not_seen_is_refused() -> None:
    pinned = MANIFEST.tools["read_mail"].model_copy(update={"schema_digest": "sha256:" + "0" * 64})
    manifest = MANIFEST.model_copy(update={"tools": {**MANIFEST.tools, "read_mail": pinned}})
    changed = replace(context(Session()), manifest=manifest)
    request = ActionRequest.build("read_mail", {})
    assert decide(request, changed).verdict.rule == "changed-schema"
    assert (
        decide(request, replace(changed, observed_schema_digest="sha256:" + "1" * 64)).verdict.rule == "changed-schema"
    )
    assert decide(request, replace(changed, observed_schema_digest="sha256:" + "0" * 64)).verdict.name == "allow"


def test_a_crashed_detector_denies() -> None:
    def broken(*_: object) -> Sequence[Finding]:
        raise RuntimeError("secret text of the detector")

    decision = decide(ActionRequest.build("read_mail", {}), replace(context(Session()), detectors=[broken]))
    assert decision.verdict.rule == "detector-failed"
    assert "secret text" not in json.dumps(decision.to_json())


def test_a_detector_can_only_make_it_stricter() -> None:
    def asks(*_: object) -> Sequence[Finding]:
        return [Finding("odd")]

    session = Session("x")
    for tool, before, after in (("read_mail", "allow", "review"), ("drop_tables", "deny", "deny")):
        request = ActionRequest.build(tool, {})
        assert decide(request, context(session)).verdict.name == before
        assert decide(request, replace(context(session), detectors=[asks])).verdict.name == after


def test_a_policy_that_errs_or_permits_nothing_denies() -> None:
    schema = (resources.files("checkvalve.approvals") / "default.cedarschema").read_text(encoding="utf-8")
    nothing = parse_policy(
        '@id("n") forbid (principal, action, resource) when { context.protected };', schema, name="n", schema_name="s"
    )
    decision = decide(ActionRequest.build("read_mail", {}), replace(context(Session()), policy=nothing))
    assert decision.verdict.rule == "default-deny"


def test_a_flood_of_questions_is_denied() -> None:
    session = Session("x").read("read_mail", [{"from": "eve@drop.example"}])
    flooded = replace(context(session), questions_so_far=MAX_QUESTIONS)
    request = ActionRequest.build("send_mail", {"to": "eve@drop.example"})
    assert decide(request, context(session)).verdict.name == "review"
    assert decide(request, flooded).verdict.rule == "queue-flooded"


@pytest.mark.parametrize(
    "args", [{"to": float("nan")}, {"to": "\ud800"}, {"to": "x" * 10_000_000}, {1: 2}, {"to": b"x"}]
)
def test_hostile_arguments_never_become_a_request(args: dict[str, object]) -> None:
    with pytest.raises(HostileInputError) as caught:
        ActionRequest.build("send_mail", args)
    assert caught.value.code


@pytest.mark.parametrize("text", ["a\u202eb", "tag\U000e0041", "\u2066x", "a\x1b[2Jb"])
def test_text_a_reviewer_cannot_see_is_refused(text: str) -> None:
    session = Session("Send it to me@corp.example")
    assert session.verdict("send_mail", to="me@corp.example", body=text) == "deny:hidden-text"


def test_twin_flags_joiners_and_line_breaks_are_ordinary_text() -> None:
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    session = Session("Send it to me@corp.example")
    body = f"{flag} \U0001f468\u200d\U0001f4bb\nline\ttab ❤\ufe0f"
    assert session.verdict("send_mail", to="me@corp.example", body=body) == "allow:attributed-effect"
