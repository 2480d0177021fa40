"""An action request is checked whoever builds it, and nothing changes it afterwards."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from checkvalve.approvals.canonical import canonical, digest
from checkvalve.approvals.requests import ActionRequest, Leaf
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict

ARGS = {"to": ["a@x.org", "b@x.org"], "body": "hi", "urgent": True, "extra": {"k.y": {"n": 1}, "none": []}}


def build(**changes: object) -> ActionRequest:
    return ActionRequest.build("send", {**ARGS, **changes}, server="mail", thread="t", call_id="c", requester="r")


def test_the_canonical_form_covers_tool_server_and_arguments_only() -> None:
    request = build()
    assert parse_strict(request.canonical_form) == {"tool": "send", "server": "mail", "args": ARGS}
    assert request.digest == digest({"tool": "send", "server": "mail", "args": ARGS})  # type: ignore[dict-item]
    other = ActionRequest.build("send", ARGS, server="mail", thread="t2", call_id="c2", requester="r2")
    assert other.digest == request.digest
    assert other != request


@pytest.mark.claim("C4")
def test_every_change_changes_the_digest() -> None:
    digests = {
        build().digest,
        build(urgent=1).digest,
        build(to=["b@x.org", "a@x.org"]).digest,
        build(new=None).digest,
        ActionRequest.build("send", ARGS).digest,
        ActionRequest.build("sendmail", ARGS, server="mail").digest,
    }
    assert len(digests) == 6


def test_true_and_one_are_two_requests() -> None:
    assert build(urgent=True) != build(urgent=1)
    assert build() == build()
    assert len({build(), build(), build(urgent=1)}) == 2


@pytest.mark.claim("C4")
def test_later_changes_by_the_caller_do_not_reach_it() -> None:
    to = ["a@x.org"]
    request = ActionRequest.build("send", {"to": to})
    to[0] = "evil@x.org"
    assert request.args == {"to": ["a@x.org"]}
    with pytest.raises(TypeError):
        request.args["to"] = "evil@x.org"  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        request.tool = "other"  # type: ignore[misc]


def test_the_plain_constructor_and_replace_check_as_well() -> None:
    with pytest.raises(HostileInputError):
        ActionRequest("send", {"n": float("nan")})
    with pytest.raises(HostileInputError):
        replace(build(), args={"n": 2**53})
    changed = replace(build(), tool="other")
    assert changed.canonical_form == canonical({"tool": "other", "server": "mail", "args": ARGS})  # type: ignore[dict-item]


def test_leaves_and_inner_keys() -> None:
    request = build()
    assert list(request.leaves()) == [
        Leaf(("to", 0), "a@x.org"),
        Leaf(("to", 1), "b@x.org"),
        Leaf(("body",), "hi"),
        Leaf(("urgent",), True),
        Leaf(("extra", "k.y", "n"), 1),
    ]
    assert [leaf.dotted() for leaf in request.leaves()][:2] == ["to.0", "to.1"]
    assert [(leaf.path, leaf.value) for leaf in request.inner_keys()] == [
        (("extra", "k.y"), "k.y"),
        (("extra", "k.y", "n"), "n"),
        (("extra", "none"), "none"),
    ]


@pytest.mark.parametrize(
    ("tool", "args", "code"),
    [
        ("send", {"a": float("nan")}, "not_finite"),
        ("send", {"a": b"x"}, "not_json"),
        ("send", {1: "x"}, "not_json"),
        ("send", {"\ud800": "x"}, "surrogate"),
        ("send", [1], "not_json"),
        ("send", None, "not_json"),
        ("send", "a=1", "not_json"),
        ("", {}, "not_json"),
        (None, {}, "not_json"),
        ("x\ud800", {}, "surrogate"),
        ("x" * 201, {}, "too_long"),
    ],
)
def test_hostile_requests(tool: object, args: object, code: str) -> None:
    with pytest.raises(HostileInputError) as caught:
        ActionRequest.build(tool, args)  # type: ignore[arg-type]
    assert caught.value.code == code
