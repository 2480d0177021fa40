"""With ``--json`` the terminal tells a refusal like the HTTP API: its cause, and how it stands now."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkvalve.approvals.records import Proposal
from tests.approvals.conftest import Run
from tests.approvals.made import Desk

pytestmark = pytest.mark.claim("C4")


def told(run: Run, *args: str, code: int = 1, **rest: Any) -> dict[str, Any]:
    """Return what a command printed for programs."""
    result = run("approvals", *args, "--json", **rest)
    assert result.exit_code == code, result.output
    return dict(json.loads(result.stdout))


def test_a_second_answer_is_told_who_was_first_and_when(run: Run, desk: Desk, token: dict[str, str]) -> None:
    asked: Proposal = desk.propose()
    first = told(run, "reject", asked.id, env=token, code=0)
    assert (first["id"], first["state"], first["decided_by"]) == (asked.id, "rejected", "reviewer:ann")
    again = told(run, "approve", asked.id, "--digest", asked.digest, env=token)
    assert (again["cause"], again["state"], again["decided_by"]) == ("already_rejected", "rejected", "reviewer:ann")
    assert (again["version"], again["digest"]) == (first["version"], asked.digest)
    assert again["decided_at"] == first["decided_at"]


@pytest.mark.parametrize(
    ("args", "cause"),
    [
        (("approve", "{id}"), "digest_needed"),
        (("approve", "{id}", "--digest", "000000"), "wrong_digest"),
        (("approve", "{id}", "--digest", "{digest}"), "credential"),
        (("show", "{id}"), ""),
        (("show", "abc"), "ambiguous"),
        (("show", "00000000"), "unknown"),
        (("settle", "{id}", "--done"), "quorum_open"),
    ],
)
def test_a_program_reads_the_cause_and_no_words(
    run: Run, desk: Desk, token: dict[str, str], args: tuple[str, ...], cause: str
) -> None:
    asked = desk.propose()
    env = {name: value[:-1] + "x" for name, value in token.items()} if cause == "credential" else token
    given = [item.format(id=asked.id, digest=asked.digest) for item in args]
    found = told(run, *given, env=env, code=1 if cause else 0)
    assert found.get("cause", "") == cause
