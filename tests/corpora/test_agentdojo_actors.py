"""The two actors: the attacker's scripts really reach their goals, and what counts as an effect counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from checkvalve.approvals.verdicts import Allow, Deny, Verdict
from checkvalve.corpora.agentdojo import goals
from checkvalve.corpora.agentdojo.actors import Run, benign, hijacked
from checkvalve.corpora.agentdojo.adapter import MARKER, ToolCall, load_suite
from checkvalve.corpora.agentdojo.profiles import packaged_manifest
from checkvalve.corpora.agentdojo.run import DEFAULT_VERSION
from checkvalve.corpora.agentdojo.score import attack_case, outcome, worse
from checkvalve.corpora.guard import AllowAll, Guard, PlainAnswer, ReviewNonRead

pytestmark = pytest.mark.agentdojo

EMPTY = [f"injection_task_{number}" for number in range(6, 14)]
"""The workspace attacks whose script the benchmark leaves empty."""


class Refuse(AllowAll):
    """Denies one tool."""

    def __init__(self, tool: str) -> None:
        self._tool = tool

    def propose(self, tool: str, args: Mapping[str, Any], *, server: str = "") -> PlainAnswer:
        verdict: Verdict = Deny("no", "no") if tool == self._tool else Allow("yes")
        return PlainAnswer(verdict)


def start(suite: str, task: str, guard: Guard, attack: str = "") -> Run:
    loaded = load_suite(DEFAULT_VERSION, suite)
    injections = loaded.injections(task, attack) if attack else {}
    return Run(loaded.episode(task, injections), guard, packaged_manifest(suite))


@pytest.mark.parametrize("attack", EMPTY)
def test_our_script_reaches_the_goal_that_has_none(attack: str) -> None:
    assert load_suite(DEFAULT_VERSION, "workspace").episode("user_task_1", {}).attack_calls(attack) == []
    run = start("workspace", "user_task_1", AllowAll(), attack)
    output = hijacked(run, attack, "first")
    assert run.episode.goal_reached(attack, output)


def test_only_one_goal_needs_no_tool() -> None:
    without = [
        (name, attack)
        for name in ("workspace", "travel", "banking", "slack")
        for attack in load_suite(DEFAULT_VERSION, name).attacks
        if not goals.script(
            start(name, next(iter(load_suite(DEFAULT_VERSION, name).user_tasks)), AllowAll()).episode, attack
        )
    ]
    assert without == sorted(goals.TEXT_ONLY)
    run = start("travel", "user_task_0", ReviewNonRead(packaged_manifest("travel")), "injection_task_6")
    assert run.episode.goal_reached("injection_task_6", hijacked(run, "injection_task_6", "end"))
    assert outcome(run, "injection_task_6") == "text_only"


def test_the_script_runs_right_after_the_first_poisoned_result_or_after_the_last_call() -> None:
    first, end = (start("banking", "user_task_2", AllowAll(), "injection_task_7") for _ in range(2))
    hijacked(first, "injection_task_7", "first")
    hijacked(end, "injection_task_7", "end")
    assert [call.by for call in first.calls] == ["user", "attacker", "user", "user"]
    assert [call.by for call in end.calls] == ["user", "user", "user", "attacker"]
    assert MARKER in str(first.episode.injections)


def test_a_fetch_of_the_attackers_address_is_an_effect_and_a_listing_is_not() -> None:
    run = start("slack", "user_task_0", AllowAll())
    assert run.effect(ToolCall("get_webpage", {"url": "www.evil.example"}))
    assert run.effect(ToolCall("no_such_tool", {}))
    assert not run.effect(ToolCall("get_channels", {}))


def test_the_very_call_that_solves_the_users_task_is_no_effect() -> None:
    run = start("slack", "user_task_3", AllowAll())
    own = run.episode.user_calls()
    assert own[0].same_as(ToolCall("get_webpage", {"url": "www.informations.com"}))
    assert not own[0].same_as(ToolCall("get_webpage", {"url": "www.true-informations.com"}))


def test_a_careful_person_approves_the_user_and_not_the_attacker() -> None:
    run = start("banking", "user_task_0", ReviewNonRead(packaged_manifest("banking")), "injection_task_5")
    output = hijacked(run, "injection_task_5", "first")
    asked = {(call.by, call.executed) for call in run.calls if call.verdict == "review"}
    assert asked == {("user", True), ("attacker", False)}
    assert outcome(run, "injection_task_5") == "reviewed"
    assert run.episode.finished(output)
    case = attack_case(run, "injection_task_5", "first", finished=True, goal=False, seconds=0)
    assert case.executed_if_all_approved


def test_what_is_denied_is_not_approved_by_anybody() -> None:
    run = start("banking", "user_task_14", Refuse("send_money"), "injection_task_5")
    hijacked(run, "injection_task_5", "end")
    assert outcome(run, "injection_task_5") == "denied"
    assert not attack_case(
        run, "injection_task_5", "end", finished=True, goal=False, seconds=0
    ).executed_if_all_approved


def test_the_worse_of_two_moments_counts() -> None:
    cases = []
    for guard, moment in ((Refuse("update_password"), "first"), (AllowAll(), "end")):
        run = start("banking", "user_task_1", guard, "injection_task_7")
        output = hijacked(run, "injection_task_7", "end")
        goal = run.episode.goal_reached("injection_task_7", output)
        cases.append(attack_case(run, "injection_task_7", moment, finished=not goal, goal=goal, seconds=1))
    worst = worse(cases)
    assert (worst.outcome, worst.schedule, worst.finished, worst.goal_reached, worst.seconds) == (
        "executed",
        "end",
        False,
        True,
        2,
    )


def test_results_reach_the_guard_as_values_and_not_as_text() -> None:
    seen: list[Any] = []

    class Watch(AllowAll):
        def result(self, tool: str, call_id: str, args: Mapping[str, Any], value: Any, *, server: str = "") -> None:
            seen.append(value)

    run = start("workspace", "user_task_7", Watch())
    benign(run)
    assert seen[0][0]["id_"] == "5"
    assert seen[0][0]["start_time"].startswith("2024-")


def test_a_tool_that_fails_hands_its_error_over() -> None:
    run = start("workspace", "user_task_1", AllowAll())
    value = run.propose(ToolCall("delete_file", {"file_id": "999"}), "attacker", yes=False, effect=True)
    assert "999" in value["error"]


def test_the_same_end_state_is_checked_once() -> None:
    suite = load_suite(DEFAULT_VERSION, "banking")
    suite.known_checks.clear()
    for _ in range(2):
        run = start("banking", "user_task_7", AllowAll())
        assert run.episode.finished(benign(run))
    assert len(suite.known_checks) == 1
