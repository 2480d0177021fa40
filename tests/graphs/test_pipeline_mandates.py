"""The pipeline with mandates: given at the start, used up by references and by what the reader read, taken back."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import AIMessage

from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.records import State
from tests.fakes import calls
from tests.graphs.pipeline_world import PAUSING, World, reading, ref, scripted

pytestmark = [pytest.mark.claim("C3"), pytest.mark.claim("C4")]

TASK = "Please send a mail to whoever wrote to me"
REPLY = Mandate("read_mail()", "send_mail", ("target",), max_calls=2)
PAY = Mandate("read_mail()", "pay", ("target", "amount"), 50)
IBAN = "DE89370400440532013000"


def test_a_reference_from_the_named_source_needs_no_question(world: World) -> None:
    result = world.pipeline(scripted(*PAUSING)).start(TASK, thread="t", mandates=[REPLY])
    assert (result.status, world.effects) == ("answered", ["send eve@evil.example: hello"])
    (left,) = world.queue.mandates.list()
    assert (left.calls_left, left.granted_by, left.requester) == (1, "host:me", "me")


def test_the_same_with_a_run_that_is_awaited(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    assert asyncio.run(pipeline.astart(TASK, thread="t", mandates=[REPLY])).status == "answered"


@pytest.mark.parametrize(
    "mandate",
    [
        Mandate("contacts()", "send_mail", ("target",)),
        Mandate("read_mail(box=other)", "send_mail", ("target",)),
        Mandate("read_mail()", "pay", ("target",)),
        Mandate("read_mail()", "send_mail", ("content",)),
        Mandate("read_mail()[id=m2]", "send_mail", ("target",)),
        Mandate("read_mail()", "send_mail", ("target",), hosts=("corp.example",)),
        Mandate("research", "send_mail", ("target",)),
    ],
    ids=["source", "arguments", "tool", "role", "record", "host", "sub-agent"],
)
def test_another_source_tool_role_record_or_host_is_a_question(world: World, mandate: Mandate) -> None:
    result = world.pipeline(scripted(*PAUSING)).start(TASK, thread="t", mandates=[mandate])
    assert (result.status, world.effects) == ("waiting", [])


def test_what_the_reader_read_out_of_the_named_source_is_covered_where_it_stands_there(world: World) -> None:
    def turns(value: str) -> tuple[AIMessage, ...]:
        asked = {"references": ["r7"], "schema": {"fields": {"payee": {"type": "reference"}}}}
        return (
            calls(("read_mail", {}), prefix="a"),
            calls(("read", asked), prefix="b"),
            calls(("pay", {"to": ref("r14"), "amount": 40}), prefix=value),
        )

    for name, payee, status in (("t", IBAN, "answered"), ("u", "GB29NWBK60161331926819", "waiting")):
        reader = reading(f'{{"have_enough_information": true, "payee": "{payee}"}}')
        pipeline = world.pipeline(scripted(*turns(name)), reader)
        result = pipeline.start("Pay 40 EUR to whom my mail says", thread=name, mandates=[PAY])
        assert result.status == status, (result, world.queue.list(thread=name))
    assert world.effects == [f"pay {IBAN} 40.0"]


def test_taken_back_it_is_not_given_again_by_the_next_start(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    pipeline.give([REPLY], thread="t", requester="me")
    world.queue.mandates.take_back(world.queue.mandates.list()[0].id, by="reviewer:boss")
    assert pipeline.start(TASK, thread="t", mandates=[REPLY]).status == "waiting"
    assert world.queue.list([State.PENDING])
