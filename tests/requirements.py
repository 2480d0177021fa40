"""The security claims of Checkvalve: what is said, where it comes from, and whether it holds today.

A test supports a claim by carrying ``@pytest.mark.claim("C2")``. ``tests/test_requirements.py`` checks both ways: a
claim that is held has tests, a known gap is an entry here and not silence, and a test in ``tests/attacks`` names its
claim. ``docs/claims.md`` and the README's security section are made from this file by ``scripts/generate_docs.py``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final


class Status(enum.StrEnum):
    """Whether a claim may be relied on."""

    HELD = "held"
    PARTLY = "partly"  # held for the part that `note` names; tests exist for that part
    NOT_YET = "not yet"  # `note` says what is missing; nothing of it may be relied on


@dataclass(frozen=True)
class Claim:
    """One promise. ``surfaces`` says what it means on each surface; one that is not named is not covered."""

    id: str
    name: str
    sentence: str
    source: str
    status: Status
    note: str = ""
    surfaces: dict[str, str] = field(default_factory=dict)


SURFACES: Final = {
    "langchain": "LangChain `create_agent` (`CheckvalveMiddleware`)",
    "toolnode": "LangGraph `ToolNode` (wrapper)",
    "terminal": "terminal review (`checkvalve approvals`)",
    "review": "review pages (`checkvalve serve`)",
    "decide": "`checkvalve decide` (one case, nothing runs)",
    "pipeline": "two-agent pipeline in a program (`build_pipeline`)",
    "run": "two-agent pipeline in a terminal (`checkvalve run`)",
    "http": "two-agent pipeline over HTTP (`checkvalve serve`)",
    "mcp": "MCP proxy",
    "model": "model-API proxy, agent hooks",
}
"""Where the gateway can stand. The last two are not built yet; the table says so claim by claim."""

_GUARDED = {"langchain": "yes", "toolnode": "yes"}
_PROXIES = {"mcp": "not yet", "model": "not yet"}
_LATER = {"pipeline": "not yet", "run": "not yet", "http": "not yet", **_PROXIES}
_RUNS = {"pipeline": "yes", "run": "yes", "http": "yes"}
_PIPELINE = {**_RUNS, **_PROXIES}
_RELEASE = {**_RUNS, "mcp": "not yet", "model": "not yet; will read *at most one release*"}

CLAIMS: Final = (
    Claim(
        "C1",
        "isolation",
        "In the two-agent pipeline no character of untrusted content reaches the privileged actor's model input, "
        "except through closed types (bool, bounded number, date, enum, checked id). Free text crosses only as an "
        "opaque reference that carries its label.",
        "docs/pipeline.md, docs/threat-model.md, docs/concepts.md",
        Status.HELD,
        "",
        _PIPELINE,
    ),
    Claim(
        "C2",
        "mediation",
        "No tool runs without a recorded verdict for exactly this tool, these canonical arguments, this schema and "
        "this policy version. There is one choke point, and every surface goes through it.",
        "docs/adr/0005-a-grant-is-single-use-and-bound-to-a-digest.md, docs/rule-changes.md",
        Status.HELD,
        "",
        {**_GUARDED, "terminal": "yes", "review": "yes", "decide": "-", **_RELEASE},
    ),
    Claim(
        "C3",
        "attribution",
        "Each argument leaf of a call has an attributed origin. An authority-bearing argument that is untrusted or "
        "unattributed does not run without a human endorsement that showed that value and that source. Unknown means "
        "untrusted; a missing label means untrusted and private.",
        "docs/concepts.md, docs/policy.md, docs/mandates.md, docs/standing-rules.md",
        Status.HELD,
        "a mandate that the user gave ahead of time for a source counts as the user's word, within its limits; a "
        "standing rule counts as the endorsement of the call that it was made of, and of exactly the values it names",
        {**_GUARDED, "terminal": "yes", "review": "yes", "decide": "yes", **_PIPELINE},
    ),
    Claim(
        "C4",
        "single use",
        "An approval permits at most one attempt of one digest, before its deadline, decided by a person outside the "
        "requester set (a single-user profile may allow self-approval, and every record then says so); everything is "
        "checked again right before the effect. When the outcome cannot be known the state is `unknown`, and nothing "
        "is tried again but what the manifest declares safe to repeat: a read, or a call that carries the same key.",
        "docs/approvals.md, docs/reviewing.md, docs/who-asked.md, docs/standing-rules.md, "
        "docs/adr/0005-a-grant-is-single-use-and-bound-to-a-digest.md",
        Status.HELD,
        "where a review rule asks for several people, each is another person, and who can add accounts can add voices; "
        "for a call that a standing rule answers, the people who agreed to the rule are those who decided; it never "
        "answers calls that one of them asks for; the requester set is who started the task, who owns the API token "
        "and who owns the agent, as far as they were named; a program's credential decides nothing, where it is known "
        "as one; what a call points at is compared where the manifest pins it, and a moment is left between that and "
        "the effect; a call with a key has one effect while the server keeps the key, and three tries at most; a "
        "probe says as much as the field that it asks",
        {**_GUARDED, "terminal": "yes", "review": "yes", "decide": "-", **_RELEASE},
    ),
    Claim(
        "C5",
        "evidence",
        "A state change and its audit event commit in one transaction, before the effect. Change, removal, reordering "
        "and truncation after an anchored checkpoint are detected offline with the public key alone.",
        "docs/audit.md, docs/adr/0015-a-signed-tree-behind-the-chain.md",
        Status.HELD,
        "where the log has a key (`checkvalve audit key create`); events of the last second or so are committed and "
        "not signed yet, and an anchor is as good as the distance between it and whoever holds the key",
        {**_GUARDED, "terminal": "yes", "review": "yes", "decide": "-", **_PIPELINE},
    ),
    Claim(
        "C6",
        "memory",
        "Storing never raises trust: a memory's label is the lowest of its lineage, stamped by the gateway, kept "
        "through summaries, and applied again on read. A write of untrusted lineage waits for review. Expired entries "
        "do not return.",
        "docs/threat-model.md",
        Status.NOT_YET,
        "there is no memory layer yet; a tool that remembers is decided like any other write",
        {"langchain": "not yet", "toolnode": "not yet", **_LATER},
    ),
    Claim(
        "C7",
        "budgets",
        "Every section of the context has a hard token cap; policy, task and budgets survive compaction because code "
        "holds them. Tokens, calls, money, retries and time are enforced in code.",
        "docs/threat-model.md",
        Status.NOT_YET,
        "enforced so far are the limits of a manifest (amount, calls per task), those of a mandate (amounts, calls, "
        "time), the cap on questions, which pauses the task, and in the "
        "pipeline `PipelineLimits`: turns, calls, questions to the reader, bits of a source, sizes; tokens, money and "
        "time are not",
        {"langchain": "not yet", "toolnode": "not yet", **_LATER},
    ),
    Claim(
        "C8",
        "output",
        "Final answers, messages and bodies are sinks too: no auto-fetched resource, secret, canary or prompt text "
        "leaves.",
        "docs/filters-outbound.md, docs/redaction.md, docs/threat-model.md",
        Status.PARTLY,
        "looked for are every form of link and resource, registered values and canaries in the encodings that "
        "docs/filters-outbound.md lists, keys by their form, and eight words of an instruction in a row; a prompt that "
        "is retold or translated, and a part of a value, are not; structured output, reasoning and events of an agent "
        "are looked at, too; people are shown marks for secrets of a call that are declared or known by their form, "
        "and its digest can be tried out with guesses",
        {
            "langchain": "yes; the model runs unstreamed",
            "toolnode": "calls only",
            "terminal": "marks for secrets",
            "review": "marks for secrets",
            "decide": "-",
            **_PIPELINE,
        },
    ),
    Claim(
        "C9",
        "fail closed",
        "Unknown tool, failed detector, unreachable store, unparseable message, crashed gate: not executed, and said "
        "so with a coded reason that leaks neither attacker text nor private values.",
        "docs/adr/0004-the-strictest-verdict-wins-and-empty-means-no.md",
        Status.HELD,
        "",
        {**_GUARDED, "terminal": "yes", "review": "yes", "decide": "yes", **_PIPELINE},
    ),
)

NOT_CLAIMED: Final = (
    "A text-to-text manipulation of an answer is marked, not prevented.",
    "An attacker can bias *which* of several legitimate options is picked.",
    "A reviewer can be fooled.",
    "Labels are as good as the source declarations: a field called trusted that outsiders can write is a hole.",
    "A tool server that misbehaves on its own connection is invisible.",
    "The same user id is no boundary: an agent with a shell under the gateway's own user can edit the database.",
    "Code in the sandbox shares the machine's kernel, and what it leaves in its work folder is untrusted.",
    "A tool that the agent reaches past the middleware (a sub-agent with tools of its own, a shell) is not covered.",
)
