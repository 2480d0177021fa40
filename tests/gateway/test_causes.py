"""Every cause of a refusal, walked: what raises it, which status it has, and that no handler reads a message."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from checkvalve.approvals import errors, refusals, seeds
from checkvalve.approvals.causes import MEANINGS, Cause, Present, cause_of
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.records import MOVES, State
from checkvalve.approvals.tries import MAX_TRIES
from checkvalve.gateway import errors as gateway_errors
from checkvalve.gateway.http_causes import STATUS
from checkvalve.gateway.http_problems import problem_of
from tests.approvals.made import REVIEW, decided
from tests.gateway.causes_world import SECRET, World, world
from tests.gateway.runs_world import serving
from tests.gateway.test_http_seeds import Bench

pytestmark = pytest.mark.claim("C4")
ROOT: Final = Path(__file__).resolve().parents[2]
REASON: Final = "the pager is silent and the pump runs dry"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("causes")) as found:
        yield found


def over_budget(place: World) -> Any:
    row = place.ask()
    place.queue.budget, kept = 1, place.queue.budget
    try:
        place.say(place.ask(), who="ben")
        return place.say(row, who="ben")
    finally:
        place.queue.budget = kept


def voted(place: World) -> Any:
    row = place.ask("two")
    assert place.say(row, who="ben").json()["state"] == "pending"
    return place.say(row, who="ben")


def edited(place: World) -> Any:
    """Let somebody edit a call, and break the glass of it."""
    row, eve = place.ask(), place.people.authenticate(place.tokens["eve"])
    new = edit(place.queue, row.id, eve, row.digest, {"n": "another"}, lambda *_: decided(REVIEW))
    return broken(place, new)


def broken(place: World, row: Any, who: str = "eve", **more: Any) -> Any:
    return place.send("/approvals/{id}/break-glass", who, row, note=REASON, **{"password": SECRET, **more})


def agreed(place: World) -> Any:
    place.send("/attention/agree", "ben")
    return place.send("/attention/agree", "ben")


def ended(place: World) -> Any:
    body = {"source": "read_mail", "tool": "send_mail", "roles": ["target"], "hosts": ["corp.example"]}
    assert place.send("/runs", "ann", task="Read", thread="ended", mandates=[body]).status_code == 202
    (given,) = place.queue.mandates.in_force("ended", "ann@corp.example")
    place.send(f"/runs/ended/mandates/{given.id}", "ann", how="DELETE")
    return place.send(f"/runs/ended/mandates/{given.id}", "ann", how="DELETE")


def called(place: World) -> Any:
    row = place.ask()
    place.send("/approvals/{id}/answer", "bob", row, note="nobody has asked")
    return place.send("/approvals/{id}/answer", "bob", row, note="nobody has asked")


def too_often(place: World) -> Any:
    row = place.ask("proof")
    return [place.say(row, password="not these words at all 9") for _ in range(MAX_TRIES + 1)][-1]


def late(state: State) -> Callable[[World], Any]:
    """Return what answers a call that is in some state."""
    return lambda place: place.say(place.being(state))


SCENES: Final[dict[Cause, Callable[[World], Any]]] = {
    **{cause_of(state.value): late(state) for state in State if state is not State.PENDING},
    Cause.QUORUM_OPEN: lambda place: place.send("/approvals/{id}/revoke", "boss", place.ask()),
    Cause.NOT_READ: lambda place: place.say(place.ask(pins=("path",))),
    Cause.VOTE_GIVEN: voted,
    Cause.ENDED: ended,
    Cause.DONE_ALREADY: agreed,
    Cause.CONFLICT: called,
    Cause.UNKNOWN: lambda place: place.send(f"/approvals/{'0' * 36}", how="GET"),
    Cause.DIGEST_NEEDED: lambda place: place.send(f"/approvals/{place.ask().id}/decision", type="approve"),
    Cause.WRONG_DIGEST: lambda place: place.send(f"/approvals/{place.ask().id}/cancel", "bob", place.ask("two")),
    Cause.OWN_CALL: lambda place: place.say(place.ask(requester="Boss")),
    Cause.REQUESTER_UNKNOWN: lambda place: place.say(place.ask(requester="")),
    Cause.NOT_A_PERSON: lambda place: place.say(place.ask(), who="program"),
    Cause.NOT_YOURS: lambda place: place.send("/approvals/{id}/cancel", "ben", place.ask()),
    Cause.EDITOR_ALONE: edited,
    Cause.ROLE_MISSING: lambda place: place.say(place.ask(), who="viewer"),
    Cause.OUT_OF_SCOPE: lambda place: place.say(place.ask(), who="far"),
    Cause.NOT_ON_THIS_CHANNEL: lambda place: place.say(place.ask("pages")),
    Cause.NOT_OFFERED: lambda place: broken(place, place.ask("never")),
    Cause.STEP_UP_NEEDED: lambda place: place.say(place.ask("proof")),
    Cause.CREDENTIAL: lambda place: place.say(place.ask("proof"), password="not these words"),
    Cause.NOT_AUTHENTICATED: lambda place: place.say(place.ask(), who="gone"),
    Cause.SCOPE_MISSING: lambda place: place.send("/runs", "reading", task="x"),
    Cause.NOT_A_REVIEWER: lambda place: place.say(place.ask(), who="bob"),
    Cause.BUDGET_USED_UP: over_budget,
    Cause.TOO_OFTEN: too_often,
    Cause.NOTE_NEEDED: lambda place: place.say(place.ask("words")),
    Cause.EDIT_REFUSED: lambda place: place.say(
        row := place.ask(), "edit", edited_action={"name": "send", "args": row.args()}
    ),
    Cause.UNUSABLE: lambda place: place.say(place.ask(), "reject", nothing="of that name"),
    Cause.NOT_JSON: lambda place: place.api.client.post("/runs", content=b"x", headers=place.api.ann),
    Cause.TOO_LARGE: lambda place: place.send("/runs", "ann", task="x" * 300_000),
}
"""What a program does to be refused for this cause."""
ELSEWHERE: Final = {
    Cause.STALE: "two writers at one moment: tests/conformance/test_rule_changes.py",
    Cause.TOO_MANY: "hundreds of them: tests/conformance/test_standing_rules.py",
    Cause.AMBIGUOUS: "the terminal takes the start of an id: tests/approvals/test_cli_causes.py",
    Cause.SEEDED: "below, since it takes an item",
    Cause.SECOND_PERSON: "tests/gateway/test_http_standing.py",
    Cause.NOT_ALLOWED: "the usual one of a class whose places all name a finer one",
    Cause.STEP_UP_OTHER: "the pages alone make a proof that can be kept: tests/attacks/test_step_up.py",
    Cause.STEP_UP_OLD: "the same",
    Cause.NOT_SHOWN: "on the pages: tests/gateway/test_page_causes.py",
    Cause.INERT: "the same",
    Cause.EDIT_DENIED: "tests/gateway/test_http_answers.py",
    Cause.USED_UP: "a call is decided again instead: tests/conformance/test_mandates.py",
    Cause.RULES_NOT_ADOPTED: "tests/gateway/test_deciding_settings.py",
    Cause.RUN_BUSY: "a run that another process drives: tests/conformance/test_leases.py",
    Cause.DAMAGED: "tests/attacks/test_planted_tokens.py",
    Cause.BUSY: "the store's own, below by class",
    Cause.FAILED: "the store's own, below by class",
}
"""Causes that no single request brings about here, and where they are held."""


def test_the_set_is_closed_and_told() -> None:
    assert set(MEANINGS) == set(STATUS) == set(Cause)
    assert set(SCENES) | set(ELSEWHERE) == set(Cause)
    assert not set(SCENES) & set(ELSEWHERE)
    for state in State:
        gone = state not in {State.PENDING, State.REJECTED} and state not in MOVES
        assert STATUS[cause_of(state.value)] == (410 if gone else 409), state
    with pytest.raises(ValueError, match="already_nothing"):
        cause_of("nothing")


@pytest.mark.parametrize("cause", SCENES, ids=str)
def test_each_cause_is_told_over_http_with_its_status(place: World, cause: Cause) -> None:
    answer = SCENES[cause](place)
    told = answer.json()
    assert (told.get("cause"), answer.status_code) == (cause.value, STATUS[cause]), answer.text
    assert told["status"] == answer.status_code
    if cause.startswith("already_"):
        assert told["state"] == cause.removeprefix("already_")
        assert told["version"] >= 1
        assert told["decided_at"]
        assert answer.headers["etag"] == f'"{told["digest"]}"'
        assert told["decided_by"] == ("rule:unknown-tool" if cause is Cause.ALREADY_DENIED else "reviewer:ben")
    if cause is Cause.VOTE_GIVEN:
        assert (told["decided_by"], bool(told["decided_at"])) == ("reviewer:ben", True)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with serving(tmp_path) as api:
        yield Bench(api)


def test_a_made_up_question_says_so_once_it_was_answered(bench: Bench) -> None:
    seeds.answer(bench.queue, bench.id, bench.queue.reviewers.authenticate(bench.token), seeds.NO)
    etag = bench.api.client.get(f"/approvals/{bench.id}", headers=bench.boss).headers["etag"]
    path, match = f"/approvals/{bench.id}/decision", {**bench.boss, "If-Match": etag}
    answer = bench.api.client.post(path, json={"type": "approve"}, headers=match)
    assert (answer.status_code, answer.json()["cause"]) == (410, "seeded")


def kinds(*modules: Any) -> list[type[ApprovalError]]:
    """Return every class of the tree of errors of ``approvals``."""
    found = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return sorted((one for one in found if issubclass(one, ApprovalError)), key=lambda one: one.__name__)


@pytest.mark.parametrize("kind", kinds(errors, refusals), ids=lambda kind: kind.__name__)
def test_the_status_of_a_class_follows_from_its_cause_whatever_it_says(kind: type[ApprovalError]) -> None:
    none = ("no_such_thing", "there is none", "look")
    for words in ("is expired since", "is rejected by", "x"):
        problem = problem_of(kind(words), none)
        assert problem.cause is kind.usual
        assert problem.status in {STATUS[kind.usual], 503}
        assert (problem.status == 503) == (words not in problem.detail) or problem.status == 404
    for cause in () if issubclass(kind, errors.ConfigError) else Cause:  # a file that is wrong is wrong in one way
        told = problem_of(kind("x", cause=cause, present=Present(state="s", version=3)), none)
        assert told.cause is cause
        assert told.status in {STATUS[cause], 404, 503}


def test_every_error_of_the_gateway_has_a_cause() -> None:
    found = [one for one in vars(gateway_errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    assert len(found) > 10
    assert all(one.cause in Cause for one in found if issubclass(one, gateway_errors.GatewayError))
    assert gateway_errors.TeamsError("came_before", "x", status=409).cause is Cause.DONE_ALREADY
    assert gateway_errors.TeamsError("too_old", "x", status=403).cause is Cause.NOT_AUTHENTICATED


def reads_words(node: ast.AST) -> bool:
    """Say whether an expression is the words of an error."""
    if isinstance(node, ast.Attribute):
        return node.attr in {"message", "args"} and isinstance(node.value, ast.Name) and "error" in node.value.id
    is_text = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"str", "repr"}
    return is_text and any(isinstance(one, ast.Name) and one.id in {"error", "wrong", "exc"} for one in node.args)  # type: ignore[attr-defined]


def test_no_code_decides_by_the_words_of_an_error() -> None:
    """Neither by comparing them, nor by looking into them, nor by a pattern."""
    found = []
    for folder in ("approvals", "gateway", "graphs", "filters", "corpora"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                compared = isinstance(node, ast.Compare) and any(map(reads_words, [node.left, *node.comparators]))
                asked = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
                    (node.func.attr in {"startswith", "endswith", "find", "index"} and reads_words(node.func.value))
                    or (node.func.attr in {"match", "search", "fullmatch"} and any(map(reads_words, node.args)))
                )  # fmt: skip
                if compared or asked:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")  # type: ignore[attr-defined]
    assert found == []


def test_the_page_about_the_api_lists_them() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    told = {cause: (int(status), words) for status, cause, words in re.findall(r"\| (\d+) \| `(\w+)` \| (.+) \|", page)}
    assert told == {cause.value: (STATUS[cause], MEANINGS[cause]) for cause in Cause}


def test_the_description_of_the_api_lists_them(place: World) -> None:
    told = place.api.client.get("/openapi.json", headers=place.api.ann).json()
    problem = told["components"]["schemas"]["Problem"]["properties"]
    assert set(problem["cause"]["enum"]) == set(Cause)
    assert {"state", "decided_by", "decided_at", "version", "digest"} <= set(problem)
    answers = told["paths"]["/approvals/{name}/decision"]["post"]["responses"]
    for status in (403, 409, 410, 412, 428, 429):
        listed = set(re.split(r", ", answers[str(status)]["description"].partition("causes: ")[2]))
        assert listed == {cause.value for cause in Cause if STATUS[cause] == status}
        assert answers[str(status)]["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
