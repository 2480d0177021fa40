"""Two servers have tools of one name: what undoes the effect of one is never run with the tool of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.store import Store
from checkvalve.graphs.bound_tools import bound
from checkvalve.graphs.calls import Call
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.keeping import Keeping
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import declared_value
from checkvalve.graphs.tool_results import returned
from tests.undo_world import MANIFEST, Notebook, Office

pytestmark = pytest.mark.claim("C2", "C3")

_NOTES = MANIFEST.partition("tools:\n")[2]


def _on(server: str) -> str:
    lines = []
    for line in _NOTES.splitlines():
        name = line.strip().removesuffix(":")
        own = line.startswith("  ") and not line.startswith("   ") and line.rstrip().endswith(":")
        lines.append(f"  {server}/{name}:\n    name: {name}\n    server: {server}" if own else line)
    return "\n".join(lines)


HEAD = MANIFEST.partition("tools:\n")[0] + "tools:\n"
TWO = f"{HEAD}{_on('home')}\n{_on('work')}\n"
ONE = f"{HEAD}{_on('home')}\n"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        (tmp_path / "home").mkdir()
        (tmp_path / "work").mkdir()
        yield Office(store, tmp_path / "home", TWO)


def create(office: Office, server: str) -> Proposal:
    """Let an agent create a note on a server."""
    session = GuardSession(office.services, "task", "bob")
    session.user_words("create a note: a b", key="u1")
    call = Call("create_note", {"title": "a", "text": "b"}, "c1@t1", server, turn="t1")
    proposal = session.propose(call)
    if proposal.state is State.PENDING:
        office.queue.approve(proposal.id, office.person(), proposal.digest)
    tools = {tool.name: tool for tool in office.notebook.tools()}
    keeping = Keeping.of(office.services, session, call, tools.get)
    assert keeping is not None
    kept, spec = keeping, office.services.manifest.find("create_note", server)

    def effect(args: dict[str, Any], _key: str) -> Any:
        kept.begin(args)
        return returned(
            tools["create_note"].invoke({"name": "create_note", "args": args, "id": "x", "type": "tool_call"}), "x"
        )

    office.services.executor.run(proposal.id, effect, keep=lambda record: kept.keep(declared_value(record, spec)))
    return office.queue.get(proposal.id)


def approved(office: Office) -> Proposal:
    done = create(office, "home")
    return office.approve(office.undoing.ask(done.id, "ben"))


@pytest.mark.parametrize("servers", [{}, {"delete_note": "work"}, {"delete_note": ""}])
def test_the_tool_of_another_server_undoes_nothing(office: Office, tmp_path: Path, servers: dict[str, str]) -> None:
    undo, other = approved(office), Notebook(tmp_path / "work")
    assert undo.server == "home"
    with pytest.raises(PipelineError, match="of the server 'home' is not here"):
        office.undoing.run(undo.id, other.tools(), servers)
    assert other.effects == []
    assert office.queue.get(undo.id).state is State.APPROVED
    names = [tool.name for tool in office.tools()]
    out = office.undoing.run(undo.id, office.tools(), dict.fromkeys(names, "home"))
    assert out.state is State.SUCCEEDED
    assert office.notebook.effects[-1].startswith("delete ")


def test_a_tool_is_that_of_the_one_server_that_the_manifest_declares(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        office = Office(store, tmp_path, ONE)
        undo = approved(office)
        assert office.undoing.run(undo.id, office.tools()).state is State.SUCCEEDED


def test_what_could_be_several_is_nobodys(office: Office) -> None:
    tools: list[BaseTool] = office.tools()
    two, one = parse_manifest(TWO, "n.yaml"), parse_manifest(ONE, "n.yaml")
    assert bound(tools, two) == {}
    assert {server for server, _ in bound(tools, one)} == {"home"}
    assert bound([*tools, *tools], one) == {}
    assert set(bound(tools[:1], two, {"get_note": "work"})) == {("work", "get_note")}
