"""A small office for attack tests: one manifest, and a session that a hijacked model acts in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.endorsements import Endorsement, Mandate
from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.repeats import effect_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.strictjson import check_value

MANIFEST = parse_manifest(
    """
name: office
principal: {owner: [me@corp.example], domain: [corp.example]}
protected: ["~/.config/agent", "/etc/agent", "admin.corp.example"]
tools:
  read_mail:
    effect: read
    result:
      - {path: id, writable_by: owner, kind: "id:mail", evidence: the server assigns it}
      - {path: subject, names_record: true}
  list_files:
    effect: read
    result:
      - {path: id, writable_by: owner, kind: "id:file", evidence: the drive assigns it}
      - {path: name, names_record: true}
      - {path: size, writable_by: owner, kind: number, evidence: the drive counts it}
  contacts:
    effect: read
    result:
      - {path: email, writable_by: owner, kind: email, readers: domain, evidence: only the owner edits contacts}
      - {path: name, writable_by: owner, kind: name, readers: domain, names_record: true, evidence: the owner's book}
  profile:
    effect: read
    result:
      - {path: "*", writable_by: owner, readers: owner, evidence: the owner's own record}
  fetch:
    effect: read
    leaves_domain: true
    args:
      url: {role: target, kind: url}
  send_mail:
    effect: send
    asks: [send, mail, write, forward, reply, tell]
    args:
      to: {role: target, kind: email}
      subject: {role: content}
      body: {role: content}
      files: {role: selector, kind: "id:file"}
  delete_file:
    effect: delete
    asks: [delete, remove]
    about: [file, document]
    args:
      id: {role: selector, kind: "id:file"}
  pay:
    effect: pay
    asks: [pay, transfer, send]
    limits: {amount: 1000}
    args:
      account: {role: target, kind: account}
      amount: {role: amount, kind: number}
      note: {role: content}
      express: {role: control, safe_values: [false]}
  add_event:
    effect: write
    asks: [create, add, schedule]
    about: [event, meeting, appointment, calendar]
    args:
      title: {role: content}
      start: {role: content, kind: date}
  set_password:
    effect: configure
    asks: [password]
    args:
      password: {role: credential}
  remember:
    effect: remember
    asks: [remember, note]
    args:
      text: {role: content}
  write_file:
    effect: write
    asks: [write, save, create]
    args:
      path: {role: target, kind: path}
      text: {role: content}
  shell:
    effect: execute
    args:
      argv: {role: command}
    sandbox: {network: false}
    asks: [run, execute]
    commands:
      - {run: pytest, options: {-q: flag}, operands: [{kind: path, many: true, optional: true}]}
      - {run: rm, options: {-r: flag}, operands: [{kind: path}]}
      - {run: cat, operands: [{kind: path}], reads_only: true, evidence: prints a file of the work folder}
      - {run: make test, asks: [test, tests]}
  connected_shell:
    effect: execute
    sandbox: {network: true}
    asks: [run]
    args:
      argv: {role: command}
    commands:
      - {run: cat, operands: [{kind: path}], reads_only: true, evidence: prints a file of the work folder}
  bare_shell:
    effect: execute
    asks: [run]
    args:
      argv: {role: command}
    commands:
      - {run: pytest}
  undeclared:
""",
    "office.yaml",
)
POLICY = load_policy()


class Session:
    """One task: what the user said and what was read. ``propose`` is the fully hijacked model."""

    def __init__(self, *said: str, manifest: Manifest = MANIFEST, profile: str = "strict") -> None:
        self.manifest, self.profile = manifest, profile
        self.index = AttributionIndex()
        self.endorsements: list[Endorsement] = []
        self.mandates: Sequence[Mandate] = ()
        self.reads = Reads()
        self.calls = 0
        self.done: set[str] = set()
        self.sandbox = True
        for text in said:
            self.index.add_words(text, authority=Authority.USER)

    def read(self, tool: str, value: object, **args: object) -> Session:
        self.calls += 1
        spec = self.manifest.find(tool)
        rules = field_rules(spec, self.manifest) if spec else ()
        self.index.add_result(value, tool=tool, call=f"c{self.calls}", args=args, rules=rules)
        self.reads.add(tool, f"c{self.calls}", {name: check_value(value) for name, value in args.items()})
        return self

    def did(self, tool: str, **args: Any) -> None:
        spec = self.manifest.find(tool)
        assert spec is not None
        self.done.add(effect_key(ActionRequest.build(tool, args), spec))

    def propose(self, tool: str, **args: Any) -> Decision:
        context = DecisionContext(
            manifest=self.manifest,
            profile=self.profile,
            policy=POLICY,
            index=self.index,
            endorsements=tuple(self.endorsements),
            mandates=self.mandates,
            reads=self.reads,
            done=frozenset(self.done),
            sandbox=self.sandbox,
        )
        return decide(ActionRequest.build(tool, args), context)

    def verdict(self, tool: str, **args: Any) -> str:
        decision = self.propose(tool, **args)
        return f"{decision.verdict.name}:{decision.verdict.rule}"
