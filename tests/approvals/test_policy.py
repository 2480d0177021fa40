"""The loader closes Cedar's traps, and an evaluation that goes wrong in any way is a denial."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import cedarpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals import policy as module
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import ApprovalError, PolicyError
from checkvalve.approvals.policy import Policy, load_policy, parse_policy

SCHEMA = """
entity Agent; entity Tool;
action "read", "send" appliesTo {
  principal: Agent, resource: Tool,
  context: { ok: Bool, n: Long, kinds: Set<String>, who: String, opt?: Bool }
};
"""
POLICY = """\
// a comment; with "a quote
@id("plain") @decision("allow")
permit (principal, action, resource) when { context.ok };

@id("ask") @decision("review") @reason("strange-kind") @remedy("say so; \\"please\\"")
permit (principal, action, resource) when { context.kinds.contains("strange;//") };
@id("ask-too") @decision("review") permit (principal, action == Action::"send", resource) when { context.n > 5 };

@id("never")
@reason("forbidden")
forbid (principal, action, resource) when { context.who == "mallory" };
@id("overflow") forbid (principal, action, resource) when { context.n * 4611686018427387904 > 0 && context.n > 1000 };
"""
FACTS: dict[str, Any] = {"ok": True, "n": 0, "kinds": ["email"], "who": "alice"}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return parse_policy(POLICY, SCHEMA)


def test_the_strictest_matching_rule_answers(policy: Policy) -> None:
    def answer(action: str = "read", **facts: Any) -> tuple[str, tuple[str, ...]]:
        found = policy.evaluate(action, {**FACTS, **facts})
        assert found.errors == ()
        return found.decision, found.rules

    assert answer() == ("allow", ("plain",))
    assert answer(kinds=["a", "strange;//"]) == ("review", ("ask", "plain"))
    assert answer(kinds=("strange;//",), ok=False) == ("review", ("ask",))
    assert answer(who="mallory", kinds=["strange;//"]) == ("deny", ("never",))
    assert answer(ok=False) == ("deny", ("default-deny",))
    assert answer(opt=True, kinds=frozenset({"x"})) == ("allow", ("plain",))


def test_rules_come_in_the_order_of_the_file_with_review_first(policy: Policy) -> None:
    text = POLICY.split('@id("overflow")', maxsplit=1)[0]
    found = parse_policy(text, SCHEMA).evaluate("send", {**FACTS, "n": 6, "kinds": ["strange;//"]})
    assert (found.decision, found.rules) == ("review", ("ask", "ask-too", "plain"))


@pytest.mark.claim("C9")
def test_a_forbid_that_errors_denies(policy: Policy) -> None:
    found = policy.evaluate("read", {**FACTS, "n": 3})
    assert (found.decision, found.rules) == ("deny", ("policy-error",))
    assert "overflow" in found.errors[0]


@pytest.mark.claim("C9")
@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"ok": True},
        {**FACTS, "ok": 1},
        {**FACTS, "ok": "true"},
        {**FACTS, "ok": None},
        {**FACTS, "n": True},
        {**FACTS, "n": 1.5},
        {**FACTS, "n": "1"},
        {**FACTS, "n": 2**53},
        {**FACTS, "n": -(2**63)},
        {**FACTS, "kinds": "email"},
        {**FACTS, "kinds": [1]},
        {**FACTS, "kinds": [["a"]]},
        {**FACTS, "kinds": {"a": 1}},
        {**FACTS, "kinds": ["a"] * 1001},
        {**FACTS, "kinds": ["\ud800"]},
        {**FACTS, "who": ["alice"]},
        {**FACTS, "who": "\ud800"},
        {**FACTS, "who": "a" * 1_000_000},
        {**FACTS, "who": b"alice"},
        {**FACTS, "who": {"__extn": {"fn": "ip", "arg": "1.1.1.1"}}},
        {**FACTS, "who": {"__entity": {"type": "Agent", "id": "x"}}},
        {**FACTS, "__extn": "x"},
        {**FACTS, "unknown": True},
        {**FACTS, 3: True},  # type: ignore[misc]  # what a careless caller could hand over
        {**FACTS, **{f"f{number}": True for number in range(300)}},
        None,
        [],
        "facts",
    ],
    ids=lambda facts: hashlib.sha256(repr(facts).encode("utf-8", "replace")).hexdigest()[:8],
)
def test_facts_of_the_wrong_shape_deny(policy: Policy, facts: Any) -> None:
    found = policy.evaluate("read", facts)
    assert (found.decision, found.rules) == ("deny", ("policy-error",))
    assert found.errors
    assert all(len(error) <= 1000 for error in found.errors)


@pytest.mark.claim("C9")
@pytest.mark.parametrize("action", ["", "nope", 'read"', "read\n", "\x00", "\ud800", None, 3, "a" * 100_000])
def test_unknown_actions_deny(policy: Policy, action: Any) -> None:
    assert policy.evaluate(action, FACTS).rules == ("policy-error",)


@pytest.mark.claim("C9")
@pytest.mark.parametrize("error", [RuntimeError, MemoryError, RecursionError, BaseException])
def test_an_engine_that_fails_denies(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error("boom")

    monkeypatch.setattr(cedarpy, "is_authorized", broken)
    assert policy.evaluate("read", FACTS).rules == ("policy-error",)


@given(
    st.text(),
    st.dictionaries(
        st.text(), st.booleans() | st.integers() | st.text() | st.lists(st.text()) | st.none() | st.floats()
    ),
)
def test_nothing_odd_ever_allows(action: str, facts: Any) -> None:
    assert parse_policy(POLICY, SCHEMA).evaluate(action, facts).decision == "deny"


def test_the_rules_can_be_looked_up(policy: Policy) -> None:
    assert [(rule.id, rule.decision, rule.line) for rule in policy.rules] == [
        ("plain", "allow", 2),
        ("ask", "review", 5),
        ("ask-too", "review", 7),
        ("never", "deny", 9),
        ("overflow", "deny", 12),
    ]
    rule = policy.rule("ask")
    assert rule is not None
    assert (rule.reason, rule.remedy) == ("strange-kind", 'say so; "please"')
    assert policy.rule("policy-error") is None


PERMIT = '@id("a") @decision("allow") permit (principal, action, resource)'
FORBID = "forbid (principal, action, resource);"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('\n@id("a") @decison("review")\npermit (principal, action, resource);', 2, "did you mean `decision`?"),
        ('@id("a") @decision permit (principal, action, resource);', 1, "no text"),
        ('@id("a") @decision("") permit (principal, action, resource);', 1, "no text"),
        ('@id("a") @decision("deny") permit (principal, action, resource);', 1, '@decision("review")'),
        ('@id("a") @decision("Review") permit (principal, action, resource);', 1, '@decision("review")'),
        ('@id("a") permit (principal, action, resource);', 1, "does not say what it decides"),
        ('@decision("allow") permit (principal, action, resource);', 1, "without an id"),
        ("@id " + FORBID, 1, "no text"),
        (FORBID, 1, "without an id"),
        ('@id("f") @decision("allow") ' + FORBID, 1, "a forbid always denies"),
        ('@id("f") @advice("x") ' + FORBID, 1, "unknown annotation"),
        ('@id("f") @id("g") ' + FORBID, 1, "duplicate annotation"),
        ('@id("F") ' + FORBID, 1, "small letters"),
        ('@id("a b") ' + FORBID, 1, "small letters"),
        ('@id("policy-error") ' + FORBID, 1, "reserved"),
        ('@id("default-deny") ' + FORBID, 1, "reserved"),
        (f'{PERMIT};\n// ;\n\n@id("a") {FORBID}', 4, "first on line 1"),
        (f"{PERMIT};\n\n{PERMIT.replace('a', 'b', 1)} when {{ context.okk }};", 3, "`okk`"),
        (f"{PERMIT} when {{ context.opt }};", 1, "context has NAME"),
        (f"{PERMIT} when {{ context.n }};", 1, "Bool"),
        (PERMIT.replace("action", 'action == Action::"sned"') + ";", 1, "sned"),
        (f"{PERMIT};\n\n\npermit (", 4, "not Cedar"),
        (f"{PERMIT}\n", 1, "not Cedar"),
        (f"{PERMIT} when {{ context.kinds.any() }};", 1, "not Cedar"),
        ("/* x */ " + PERMIT + ";", 1, "not Cedar"),
        ('@id("t") forbid (principal == ?principal, action, resource);', None, "template"),
        ("", None, "no rule"),
        ("// nothing\n", None, "no rule"),
        (f'{PERMIT} when {{ context.who == "\ud800" }};', 1, "not Cedar"),
    ],
)
def test_what_the_loader_refuses(text: str, line: int | None, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, SCHEMA, name="p.cedar")
    assert (caught.value.file, caught.value.line) == ("p.cedar", line)
    assert says in str(caught.value)
    assert isinstance(caught.value, ApprovalError)


@pytest.mark.parametrize("schema", ["entity", "{}", "entity Agent;\0", "entity A = {x: " + "Set<" * 100_000, "\ud800"])
def test_what_is_no_schema(schema: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(POLICY, schema, schema_name="s.cedarschema")
    assert caught.value.file == "s.cedarschema"


def test_a_policy_that_the_schema_does_not_fit_is_refused() -> None:
    with pytest.raises(PolicyError):
        parse_policy(POLICY, "entity Agent; entity Tool;")


BOMBS = """
import sys
from checkvalve.approvals.errors import PolicyError
from checkvalve.approvals.policy import parse_policy
head = '@id("a") @decision("allow") permit (principal, action, resource) when { '
for body in ("(" * 100_000, "(" * 5_000 + "true" + ")" * 5_000, "[" * 100_000, "!" * 100_000 + "true",
             "true && " * 50_000 + "true", "true && " * 1_200 + "true", "context" + ".ok" * 3_000,
             "if true then " * 5_000, '"' * 100_001, "x" * 2_000_000):
    try:
        parse_policy(head + body + " };", sys.argv[1])
    except PolicyError:
        print("refused")
"""


def test_nested_policies_are_refused_before_they_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, SCHEMA], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["refused"] * 10), done.stderr


def test_the_digest_covers_policy_and_schema() -> None:
    first = parse_policy(POLICY, SCHEMA)
    form = canonical({"policy": POLICY, "schema": SCHEMA})
    assert first.digest == "sha256:" + hashlib.sha256(form).hexdigest()
    assert parse_policy(POLICY, SCHEMA, name="other").digest == first.digest
    assert parse_policy(POLICY + "\n", SCHEMA).digest != first.digest
    assert parse_policy(POLICY, SCHEMA + "\n").digest != first.digest


def test_files(tmp_path: Path) -> None:
    policy, schema = tmp_path / "p.cedar", tmp_path / "s.cedarschema"
    policy.write_text(POLICY, encoding="utf-8")
    schema.write_text(SCHEMA, encoding="utf-8")
    assert load_policy(policy, schema).digest == parse_policy(POLICY, SCHEMA).digest
    (tmp_path / "latin.cedar").write_bytes(b"\xff")
    (tmp_path / "large.cedar").write_bytes(b" " * (module.MAX_POLICY_BYTES + 1))
    for name, says in (
        ("none", "No such file"),
        (".", "directory"),
        ("latin.cedar", "UTF-8"),
        ("large.cedar", "larger"),
    ):
        with pytest.raises(PolicyError, match=says) as caught:
            load_policy(tmp_path / name, schema)
        assert caught.value.file == str(tmp_path / name)


def test_the_packaged_policy_loads() -> None:
    policy = load_policy()
    assert policy.rules
    assert policy.evaluate("read", {}).rules == ("policy-error",)
    assert load_policy().digest == policy.digest


def test_an_evaluation_does_little_in_python(policy: Policy) -> None:
    """Counted in calls of functions, which no busy machine changes."""
    calls = list[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        policy.evaluate("read", FACTS)
    finally:
        sys.setprofile(before)
    assert len(calls) < 100, calls
