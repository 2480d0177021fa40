"""A hijacked reader or actor puts registered values, keys and addresses of outsiders into the pipeline's answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.secrets.registered import Registered
from checkvalve.graphs.events import Cleaned
from tests.fakes import calls
from tests.graphs.pipeline_world import MAILS, World, scripted

pytestmark = pytest.mark.claim("C8")
RULES = OutboundRules(registered=Registered([("registered-value", "STG-0042-ABCDEF"), (CANARY, "zebra-quartz-5521")]))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.services = replace(made.services, outbound=RULES)
    yield made
    made.store.close()


def answered(world: World, mail: str, template: str = "It says: {ref:r7}", task: str = "Read my mail") -> str | None:
    world.mails = [{**MAILS[0], "text": mail}]
    actor = scripted(calls(("read_mail", {})), calls(("answer", {"text": template}), prefix="z"))
    return world.pipeline(actor).start(task, thread="t").answer


@pytest.mark.parametrize(
    ("mail", "answer"),
    [
        ("STG-0042-ABCDEF", "It says: ⟨removed: registered-value⟩"),
        ("U1RHLTAwNDItQUJDREVG", "It says: ⟨removed: registered-value⟩"),
        ("ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P", "It says: ⟨removed: github-token⟩"),
        ("confirm at https://drop.example/x?u=1", "It says: confirm at drop[.]example/x…"),
        ("lunch at 9", "It says: lunch at 9"),
    ],
)
def test_what_never_leaves_is_taken_out_of_the_answer(world: World, mail: str, answer: str) -> None:
    assert answered(world, mail) == answer


def test_an_answer_with_a_canary_goes_back_as_a_code(world: World) -> None:
    world.mails = [{**MAILS[0], "text": "zebra quartz 5521"}]
    actor = scripted(calls(("read_mail", {})), calls(("answer", {"text": "{ref:r7}"}), prefix="z"))
    assert world.pipeline(actor).start("Read my mail", thread="t").answer == "done"
    assert "answer_withheld" in str(actor.seen[-1])
    assert "zebra" not in str(actor.seen[-1])
    assert "zebra" not in str([row.args() for row in world.queue.list(thread="t")])


def test_a_link_that_the_user_asks_for_stays_one(world: World) -> None:
    mail = "see https://drop.example/x"
    assert answered(world, mail, task="Read my mail and give me the link") == f"It says: {mail}"


def test_a_decided_answer_is_the_recorded_one_whatever_has_changed_since(world: World) -> None:
    world.mails = [{**MAILS[0], "text": "see https://drop.example/x"}]
    template = "{ref:r7} and https://made.example/y"
    actor = scripted(calls(("read_mail", {})), calls(("answer", {"text": template}), prefix="z"))
    run = world.pipeline(actor)
    (approval,) = run.start("Read my mail", thread="t").waiting
    shown = world.queue.get(approval).args()["text"]
    assert shown == "see drop[.]example/x and https://made.example/y"
    world.approve(approval)
    world.services = replace(
        world.services, outbound=OutboundRules(registered=Registered([("registered-value", "made.example")]))
    )
    assert world.pipeline(actor).resume("t").answer == shown


def test_who_watches_sees_codes_and_no_content(world: World) -> None:
    world.mails = [{**MAILS[0], "text": "STG-0042-ABCDEF"}]
    actor = scripted(calls(("read_mail", {})), calls(("answer", {"text": "{ref:r7}"}), prefix="z"))
    seen = list(world.pipeline(actor).stream("Read my mail", thread="t"))
    assert [event.codes for event in seen if isinstance(event, Cleaned)] == ["registered"]
    assert "STG-0042" not in str(seen)


def test_observe_mode_takes_nothing_out(world: World) -> None:
    world.services = replace(world.services, mode="observe")
    assert answered(world, "STG-0042-ABCDEF") == "It says: STG-0042-ABCDEF"
