"""A small notebook whose effects can be undone: its tools, its manifest, and short ways to act in it.

As a program, ``undo_world.py FOLDER UNDO STEP`` runs an approved undoing and kills itself at that step of the executor.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as a program it is in no package

from langchain_core.tools import BaseTool, StructuredTool

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.store import Store
from checkvalve.graphs.calls import Call
from checkvalve.graphs.keeping import Keeping
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.stored_results import declared_value
from checkvalve.graphs.tool_results import returned
from checkvalve.graphs.undoing import Undoing
from tests.approvals.made import HandClock, people

MANIFEST = """
version: 1
name: notebook
principal: {owner: [me@corp.example], domain: [corp.example]}
tools:
  get_note:
    effect: read
    idempotency: read
    args: {id: {role: selector, kind: "id:note"}}
    result:
      - {path: title, readers: owner}
      - {path: text, readers: owner}
  create_note:
    effect: write
    asks: [create, note]
    reversible: true
    undo: delete the note
    undo_with: {tool: delete_note, args: {id: {result: $.id}}, within: 30d}
    args: {title: {role: content}, text: {role: content}}
    result: [{path: id, kind: "id:note", writable_by: owner, readers: owner, evidence: numbered by the notebook}]
  update_note:
    effect: write
    asks: [update, change]
    reversible: true
    undo: write the former text back
    undo_with:
      tool: update_note
      args: {id: {argument: id}, text: {before: $.text}}
      before: {tool: get_note, args: {id: {argument: id}}}
      within: 7d
    args: {id: {role: selector, kind: "id:note"}, text: {role: content}}
  delete_note:
    effect: delete
    asks: [delete, remove]
    undo: write the note anew; its number changes
    undo_with:
      tool: create_note
      args: {title: {before: $.title}, text: {before: $.text}}
      before: {tool: get_note, args: {id: {argument: id}}, required: true}
    args: {id: {role: selector, kind: "id:note"}}
  send_note:
    effect: send
    asks: [send]
    undo: it cannot be undone; what was sent stays sent
    args: {to: {role: target, kind: email}, id: {role: selector, kind: "id:note"}}
"""


@dataclass
class Notebook:
    """The notes, in a file; every effect is one line of ``effects``."""

    folder: Path

    def read(self) -> dict[str, Any]:
        file = self.folder / "notes.json"
        return dict(json.loads(file.read_text())) if file.exists() else {"n1": {"title": "List", "text": "milk"}}

    def write(self, notes: dict[str, Any], what: str) -> None:
        (self.folder / "notes.json").write_text(json.dumps(notes))
        with (self.folder / "effects").open("a") as file:
            file.write(what + "\n")

    @property
    def effects(self) -> list[str]:
        file = self.folder / "effects"
        return file.read_text().splitlines() if file.exists() else []

    def tools(self) -> list[BaseTool]:
        def get_note(id: str) -> dict[str, Any]:
            return dict(self.read()[id])

        def create_note(title: str, text: str) -> dict[str, str]:
            notes = self.read()
            name = f"n{len(self.effects) + 2}"
            notes[name] = {"title": title, "text": text}
            self.write(notes, f"create {name}")
            return {"id": name}

        def update_note(id: str, text: str) -> str:
            notes = self.read()
            notes[id]["text"] = text
            self.write(notes, f"update {id} {text}")
            return "updated"

        def delete_note(id: str) -> str:
            notes = self.read()
            del notes[id]
            self.write(notes, f"delete {id}")
            return "deleted"

        def send_note(to: str, id: str) -> str:
            self.write(self.read(), f"send {id} {to}")
            return "sent"

        made = (get_note, create_note, update_note, delete_note, send_note)
        return [StructuredTool.from_function(tool, description=tool.__name__) for tool in made]


@dataclass
class Office:
    """A queue with a reviewer over one store, and the notebook."""

    store: Store
    folder: Path
    manifest: str = MANIFEST
    clock: HandClock = field(default_factory=HandClock)
    on_step: Any = None
    people: dict[str, Reviewer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queue = Queue(self.store, self.clock)
        people(self.queue)
        self.notebook = Notebook(self.folder)
        self.services = self.serve(self.manifest)
        self.undoing = Undoing(self.services)
        self.turns = 0

    def serve(self, manifest: str, **values: Any) -> Services:
        return Services(
            manifest=parse_manifest(manifest, "notebook.yaml"),
            policy=load_policy(),
            queue=self.queue,
            executor=Executor(self.queue, on_step=self.on_step),
            content=SqlContentStore(self.store),
            **values,
        )

    def person(self, name: str = "ann") -> Reviewer:
        """Return a reviewer, added when first asked for; the first one adds the others."""
        if name not in self.people:
            by = self.people[next(iter(self.people))] if self.people else None
            token = self.queue.reviewers.add(name, by=by)
            self.people[name] = self.queue.reviewers.authenticate(token)
        return self.people[name]

    def tools(self, *without: str) -> list[BaseTool]:
        return [tool for tool in self.notebook.tools() if tool.name not in without]

    def act(
        self,
        tool: str,
        *without: str,
        task: str = "",
        services: Services | None = None,
        approve: bool = True,
        **args: Any,
    ) -> Outcome:
        """Let an agent make a call that the user asked for; a person says yes where one has to."""
        used = services or self.services
        self.turns += 1
        session = GuardSession(used, "task", "bob")
        said = task or f"create, update, change, delete or send note {' '.join(str(value) for value in args.values())}"
        session.user_words(said, key=f"u{self.turns}")
        call = Call(tool, args, f"c{self.turns}@t{self.turns}", turn=f"t{self.turns}")
        proposal = session.propose(call)
        if proposal.state is State.PENDING:
            if not approve:
                return Outcome(proposal)
            self.queue.approve(proposal.id, self.person(), proposal.digest)
        return self._run(used, session, call, proposal, without)

    def again(self, proposal: Proposal) -> Outcome:
        """Run a call that was approved since."""
        session = GuardSession(self.services, proposal.thread, proposal.requester)
        call = Call(proposal.tool, proposal.args(), proposal.call_id, turn=proposal.call_id.rpartition("@")[2])
        return self._run(self.services, session, call, proposal, ())

    def _run(
        self, used: Services, session: GuardSession, call: Call, proposal: Proposal, without: tuple[str, ...]
    ) -> Outcome:
        known = {one.name: one for one in self.tools(*without)}
        keeping, spec = Keeping.of(used, session, call, known.get), used.manifest.find(call.tool)

        def effect(values: dict[str, Any], _key: str) -> Any:
            if keeping is not None:
                keeping.begin(values)
            made = {"name": call.tool, "args": values, "id": "x", "type": "tool_call"}
            return returned(known[call.tool].invoke(made), "x")

        keep = None if keeping is None else lambda record: keeping.keep(declared_value(record, spec))
        outcome = used.executor.run(proposal.id, effect, revalidate=session.revalidation(call), keep=keep)
        if keeping is not None:
            keeping.after(outcome)
        return outcome

    def approve(self, undo: Proposal, name: str = "ann") -> Proposal:
        return self.queue.approve(undo.id, self.person(name), undo.digest)


def main(folder: str, undo: str, step: str) -> None:
    """Be a process that dies when it is at a step for the n-th time: ``recorded:2``."""
    wanted, _, number = step.rpartition(":")
    left = itertools.count(1)

    def at(name: str) -> None:
        if name == wanted and next(left) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    office = Office(Store.open(f"sqlite:///{folder}/gate.db"), Path(folder), on_step=at)
    Undoing(office.services).run(undo, office.tools())


if __name__ == "__main__":
    main(*sys.argv[1:])
