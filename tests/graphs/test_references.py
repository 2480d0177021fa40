"""References, templates and lists: what is shown of a value, what is put in, and what code compares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkvalve.filters.labels import Trust
from checkvalve.filters.origins import FieldRule
from checkvalve.graphs.limits import PipelineLimits
from checkvalve.graphs.references import shown_name, size_class
from tests.fakes import calls
from tests.graphs.pipeline_world import FunctionModel, World, ref, scripted

MAILS = [
    {"id": "m1", "size": 10, "sender": "ann@corp.example", "subject": "One", "text": "a", "odd": {"id": "x", "k": 1}},
    {"id": "m2", "size": 30, "sender": "BOB@corp.example", "subject": "Two", "text": "b"},
    {"id": "m3", "size": 20, "sender": "eve@evil.example", "subject": "Two", "text": "c"},
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, mails=MAILS)
    yield made
    made.store.close()


def told(actor: FunctionModel) -> list[Any]:
    return [json.loads(str(m.content)) for m in actor.seen[-1] if isinstance(m, ToolMessage)]


def work(world: World, *asks: tuple[str, dict[str, Any]], **options: Any) -> tuple[list[Any], str | None]:
    """Read mails and contacts (r1 and r20 are their lists), ask, and answer with the last list."""
    actor = scripted(calls(("read_mail", {}), ("contacts", {}), prefix="a"), calls(*asks, prefix="b"))
    result = world.pipeline(actor, **options).start("Look at my mail", thread="t")
    return told(actor)[2:], result.answer


def items(told: dict[str, Any]) -> list[str]:
    return [item["ref"] for item in told["result"]["items"]]


RULES = [
    FieldRule("id"),
    FieldRule("a.b"),
    FieldRule("list.*.name", Trust.VERIFIED),
    FieldRule("**.deep"),
    FieldRule("$"),
]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (["id"], "id"),
        ([0, "id"], "id"),
        (["ID"], "#1"),
        (["a"], "a"),
        (["a", "b"], "b"),
        (["a", "c"], "#1"),
        (["b"], "#1"),
        (["list"], "list"),
        (["list", "thief@evil.example"], "#1"),
        (["list", "thief@evil.example", "name"], "name"),
        (["list", 4, "name"], "#1"),
        (["x", "deep"], "deep"),
        (["*"], "#1"),
        (["**"], "#1"),
        (["$"], "#1"),
        (["id", "id"], "#1"),
        (["a.b"], "#1"),
    ],
    ids=str,
)
def test_only_names_that_the_manifest_spells_out_are_shown(path: list[str | int], name: str) -> None:
    assert shown_name(RULES, path, 0) == name


def test_sizes_are_rounded() -> None:
    assert [size_class(value) for value in ("", None, "a", "ab", "abc", "x" * 1000, True, 12345)] == [
        0, 0, 1, 2, 4, 1024, 4, 8
    ]  # fmt: skip


def test_undeclared_keys_are_positions(world: World) -> None:
    actor = scripted(calls(("read_mail", {})), AIMessage("{ref:r4}"))
    result = world.pipeline(actor).start("Read my mail", thread="t")
    fields = told(actor)[0]["result"]["items"][0]["fields"]
    assert set(fields) == {"id", "#2", "sender", "size", "subject", "text"}
    assert set(fields["#2"]["fields"]) == {"#1", "#2"}, "a declared name in another place is data"
    assert result.answer == '{"id": "x", "k": 1}'


def test_large_results_are_shown_in_part_and_reached_by_select(world: World) -> None:
    world.mails = [{**MAILS[0], "id": f"m{n}", "size": n} for n in range(50)]
    pick = ("select", {"reference": "r1", "where": [{"field": "size", "op": "ge", "value": 48}]})
    actor = scripted(calls(("read_mail", {})), calls(pick, prefix="b"))
    world.pipeline(actor, limits=PipelineLimits(max_shown=20)).start("Read my mail", thread="t")
    first, second = told(actor)
    assert len(first["result"]["items"]) + first["result"]["not_shown"] == 50
    assert len(second["result"]["items"]) == 2


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ([], [1, 2, 3]),
        ([{"field": "size", "op": "gt", "value": 10}], [2, 3]),
        ([{"field": "size", "op": "le", "value": 20}], [1, 3]),
        ([{"field": "id", "value": "m2"}], [2]),
        ([{"field": "id", "op": "ne", "value": "m2"}], [1, 3]),
        ([{"field": "subject", "value": "Two"}], [2, 3]),
        ([{"field": "subject", "value": "Two"}, {"field": "size", "op": "lt", "value": 25}], [3]),
        ([{"field": "sender", "value": "bob@corp.example"}], [2]),
        ([{"field": "id", "value": ref("r3")}], [1]),
        ([{"field": "size", "op": "eq", "value": 99}], []),
    ],
    ids=str,
)
def test_select_keeps_what_fits(world: World, where: list[Any], left: list[int]) -> None:
    (found,), _ = work(world, ("select", {"reference": "r1", "where": where}))
    known = {1: "r2", 2: "r11", 3: "r17"}
    assert items(found) == [known[number] for number in left]


def test_pick_takes_the_largest_and_the_smallest(world: World) -> None:
    asks = [("select", {"reference": "r1", "pick": {"field": "size", "most": most}}) for most in ("max", "min")]
    found, _ = work(world, *asks)
    assert [items(item) for item in found] == [["r11"], ["r2"]]


def test_each_and_join(world: World) -> None:
    actor = scripted(
        calls(("read_mail", {}), ("contacts", {}), prefix="a"),
        calls(
            ("each", {"reference": "r1", "field": "id"}),
            ("join", {"left": "r1", "right": "r23", "left_field": "sender", "right_field": "email"}),
            prefix="b",
        ),
        AIMessage("{ref:r30} {ref:r31} {ref:r32}"),
    )
    result = world.pipeline(actor).start("Look", thread="t")
    each, join = told(actor)[2:]
    assert items(each) == ["r3", "r12", "r18"]
    assert [[entry["ref"] for entry in side["items"]] for side in join["result"]] == [["r2", "r11"], ["r24", "r27"]]
    assert result.answer is not None
    assert result.answer.startswith('["m1", "m2", "m3"] [{"id": "m1"')


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (("select", {"reference": "r1", "where": "all"}), "bad_request"),
        (("select", {"reference": "r1", "where": [{"field": "id"}]}), "bad_request"),
        (("select", {"reference": "r1", "where": [{"field": "id", "op": "like", "value": "m"}]}), "bad_request"),
        (("select", {"reference": "r1", "where": [{"field": "id", "value": None}]}), "bad_request"),
        (("select", {"reference": "r1", "where": [{"field": "id", "value": ref("r2")}]}), "bad_request"),
        (("select", {"reference": "r1", "where": [{"field": "size", "op": "lt", "value": "soon"}]}), "not_comparable"),
        (("select", {"reference": "r1", "where": [{"field": "nothing", "value": 1}]}), "unknown_field"),
        (("select", {"reference": "r1", "pick": {"field": "subject", "most": "max"}}), "unverified_field"),
        (("select", {"reference": "r1", "pick": {"field": "size"}}), "bad_request"),
        (("select", {"reference": "r1", "pick": {"field": "id", "most": "max"}}), "not_comparable"),
        (("select", {"reference": "r1", "extra": 1}), "bad_request"),
        (("select", {"reference": ["r1"]}), "unknown_reference"),
        (("each", {"reference": "r2", "field": "id"}), "not_a_list"),
        (("each", {"reference": "r1", "field": "#2x"}), "unknown_field"),
        (("each", {"reference": "r1"}), "bad_request"),
        (("join", {"left": "r1", "right": "r1", "left_field": "id"}), "bad_request"),
        (("join", {"left": "r1", "right": "r3", "left_field": "id", "right_field": "id"}), "not_a_list"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_a_code(world: World, ask: tuple[str, dict[str, Any]], code: str) -> None:
    (found,), _ = work(world, ask)
    assert found["code"] == code
    assert set(found) == {"status", "code", "remedy"}


@pytest.mark.claim("C3")
def test_a_whole_record_put_in_brings_the_field_of_each_leaf(world: World) -> None:
    actor = scripted(
        calls(("read_mail", {}), prefix="a"), calls(("send_mail", {"to": ref("r2"), "body": ref("r2")}), prefix="b")
    )
    result = world.pipeline(actor).start("Send a mail", thread="t")
    arguments: Any = world.queue.get(result.waiting[0]).decision["arguments"]
    origins = {item["path"]: item["origins"][0] for item in arguments if item["origins"]}
    assert origins["to.id"]["trust"] == "verified"
    assert origins["to.sender"]["trust"] == "untrusted"
    assert origins["body.text"]["source"].endswith("#0.text")
    assert {origins[path]["match"] for path in ("to.id", "to.sender", "body.text")} == {"reference"}
