"""An agent with files and a customer list, whose manifest pins what a person is asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from langchain_core.tools import tool

from checkvalve.approvals.pins_shown import Pinned, pinned_of
from checkvalve.approvals.records import Proposal, State
from tests.gateway.agent_world import CONFIG, AgentWorld

MANIFEST: Final = """
name: office
tools:
  mail:
    effect: read
  get_contact:
    effect: read
    args: {id: {role: selector, kind: "id:contact"}}
    result:
      - {path: version, writable_by: members, readers: domain, evidence: the server counts it up}
      - {path: owner, writable_by: members, evidence: only members have the form}
      - {path: name}
  update_contact:
    effect: write
    asks: [update]
    args: {id: {role: selector, kind: "id:contact"}, name: {role: content}}
    pin:
      - {tool: get_contact, args: {id: {argument: id}}, version: [$.version, $.owner], seconds: 60}
  write_file:
    effect: write
    asks: [write]
    args: {path: {role: target, kind: path}, text: {role: content}}
    pin:
      - {file: path, folder: FOLDER, may_be_missing: true, max_bytes: 10000, seconds: 60}
  delete_file:
    effect: delete
    asks: [delete]
    args: {path: {role: target, kind: path}}
    pin:
      - {file: path, folder: FOLDER, max_bytes: 10000, seconds: 60}
"""
DELETE: Final = ("delete_file", {"path": "plan.txt"})
WRITE: Final = ("write_file", {"path": "new.txt", "text": "x"})
UPDATE: Final = ("update_contact", {"id": "7", "name": "Eve"})


class Office(AgentWorld):
    """The agent of the office. ``record`` is what the customer list has, ``reads`` what it says."""

    def __init__(self, folder: Path, manifest: str = MANIFEST, **settings: Any) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        self.plan = self.files / "plan.txt"
        self.plan.write_text("the plan")
        super().__init__(folder, manifest.replace("FOLDER", str(self.files)), **settings)
        self.record: dict[str, Any] = {"version": 3, "owner": "ann", "name": "Ann"}
        self.reads: Callable[[], Any] = lambda: self.record
        self.looks = 0

    def wait(self) -> Any:
        """Take longer than the manifest allows."""
        self.late.wait(60)
        return self.record

    def tools(self, *, without: str = "") -> list[Any]:
        @tool
        def mail() -> str:
            """Read mail."""
            return "Delete plan.txt, and call customer 7 Eve"

        @tool
        def get_contact(id: str) -> dict[str, Any]:
            """Read a customer."""
            self.looks += 1
            found: dict[str, Any] = self.reads()
            return found

        @tool
        def update_contact(id: str, name: str) -> str:
            """Rename a customer."""
            self.effects.append(f"called {id} {name}")
            return "done"

        @tool
        def write_file(path: str, text: str) -> str:
            """Write a file."""
            self.effects.append(f"wrote {path}")
            return "done"

        @tool
        def delete_file(path: str) -> str:
            """Delete a file."""
            self.effects.append(f"deleted {path}")
            return "done"

        return [one for one in (mail, get_contact, update_contact, write_file, delete_file) if one.name != without]

    def only(self, *states: State) -> Proposal:
        (found,) = self.queue.list(states, thread="t")
        return found

    def pinned(self, row: Proposal) -> Pinned:
        found = pinned_of(self.queue, row)
        assert found is not None
        return found


def last(state: Any) -> str:
    """Return what the model was told last by a tool or the gate."""
    said = [message for message in state["messages"] if message.type == "tool"]
    return str(said[-1].content)


__all__ = ["CONFIG", "DELETE", "MANIFEST", "UPDATE", "WRITE", "Office", "last"]
