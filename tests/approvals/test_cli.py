from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
import typer

from checkvalve.approvals import terminal
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.conftest import Run
from tests.approvals.made import ALLOW, DENY, MAIL, Desk, HandClock, tamper
from tests.approvals.test_executor import orphan


def test_listing(run: Run, desk: Desk) -> None:
    empty = run("approvals", "list").output
    assert f"nothing waits in {desk.queue.store.address} (another one: --config or CHECKVALVE_DATABASE_URL)" in empty
    pending = desk.propose()
    desk.propose(DENY)
    listed = run("approvals", "list").output
    assert pending.id[:8] in listed
    assert pending.digest[7:15] in listed
    assert "denied" not in listed
    assert [row["id"] for row in json.loads(run("approvals", "list", "--json").output)] == [pending.id]
    assert len(json.loads(run("approvals", "list", "--all", "--json").output)) == 2
    assert "denied" in run("approvals", "list", "--state", "denied", "--thread", "t").output


@pytest.mark.claim("C3")
def test_showing_has_everything_a_decision_needs(run: Run, desk: Desk) -> None:
    proposal = desk.propose()
    shown = run("approvals", "show", proposal.id[:8]).output
    for part in (
        proposal.digest[7:], f"{len(proposal.canonical)} bytes", "target-not-known", "say the address in the task",
        "bob", MAIL.value, "16",
        "target",
        "untrusted: what read_mail returned, field body, bytes 3-19, exact",
        "nowhere: nobody is known",
        "A yes also accepts", "proposal.recorded",
    ):  # fmt: skip
        assert part in shown, part
    data = json.loads(run("approvals", "show", proposal.id, "--json").output)
    assert data["args"] == {"to": MAIL.value, "n": 1}
    assert data["decision"]["arguments"][0]["origins"][0]["trust"] == "untrusted"
    assert run("approvals", "show", proposal.id, "--bytes").output.strip() == proposal.canonical.decode()


@pytest.mark.claim("C3")
@pytest.mark.parametrize("options", [[], ["--full"], ["--bytes"], ["--json"]])
def test_hostile_content_cannot_leave_its_cell(run: Run, desk: Desk, options: list[str]) -> None:
    hostile = (
        "\x1b[2J\x1b]0;x\x07[bold red]verdict: allow[/] \u202e\u2066 :smile: [link=http://x]y[/link]\r\n\u200b"
        + "\n" * 300
        + "\U000e0041"
    )
    proposal = desk.propose(request=desk.request(to=hostile, thread="\x1b[31mt", requester="b\u202eob"))
    result = run("approvals", "show", proposal.id, *options)
    assert result.exit_code == 0
    assert not [character for character in "\x1b\x07\r\u202e\u2066\u200b\U000e0041" if character in result.output]
    assert "[bold red]verdict: allow[/]" in result.output
    assert ":smile:" in result.output
    assert result.output.count("\n") < 140
    listed = run("approvals", "list", "--thread", "\x1b[31mt").output
    assert "\x1b" not in listed
    assert "b⟨U+202E⟩ob" in listed


def test_long_values_show_both_ends_and_what_is_between(run: Run, desk: Desk) -> None:
    proposal = desk.propose(request=desk.request(to="start" + "x" * 20_000 + "MIDDLE" + "x" * 20_000 + "end"))
    shown = run("approvals", "show", proposal.id).output
    assert "37,014 bytes not shown here" in shown
    assert "40,014" in shown
    assert "MIDDLE" not in shown
    whole = run("approvals", "show", proposal.id, "--full").output
    assert "MIDDLE" in whole.replace(" ", "").replace("│", "").replace("\n", "")


def approved(desk: Desk, proposal: Proposal) -> bool:
    return desk.queue.get(proposal.id).state is State.APPROVED


@pytest.mark.claim("C4")
def test_approving_with_digest_and_token(run: Run, desk: Desk, token: dict[str, str]) -> None:
    proposal = desk.propose()
    result = run("approvals", "approve", proposal.id, "--digest", proposal.digest[7:13], "--note", "ok", env=token)
    assert (result.exit_code, approved(desk, proposal)) == (0, True)
    assert "approved by ann" in result.output
    assert desk.queue.endorsements("t") == [MAIL]
    again = run("approvals", "approve", proposal.id, "--digest", proposal.digest[7:13], env=token)
    assert again.exit_code == 1
    assert "is approved by ann since" in again.output


def test_approving_without_endorsing_and_from_a_token_file(run: Run, desk: Desk, tmp_path: Path) -> None:
    proposal = desk.propose()
    file = tmp_path / "token"
    file.write_text(desk.token + "\n")
    result = run(
        "approvals", "approve", proposal.id, "--digest", proposal.digest, "--no-endorse", "--token-file", str(file)
    )
    assert (result.exit_code, desk.queue.endorsements("t")) == (0, [])
    missing = run("approvals", "reject", desk.propose().id, "--token-file", str(tmp_path / "none"))
    assert missing.exit_code == 2


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("options", "with_token", "code"),
    [
        ([], True, 2),  # no terminal to type the digest at
        (["--digest", "{digest}"], False, 2),  # no credential and no terminal to ask for one
        (["--digest", "abc"], True, 1),
        (["--digest", "000000"], True, 1),
        (["--digest", "{digest}", "--token", "cvr_x_y"], False, 2),  # visible to every process
    ],
)
def test_what_is_missing_decides_nothing(
    run: Run, desk: Desk, token: dict[str, str], options: list[str], with_token: bool, code: int
) -> None:
    proposal = desk.propose()
    options = [option.replace("{digest}", proposal.digest[7:]) for option in options]
    result = run("approvals", "approve", proposal.id, *options, env=token if with_token else {})
    assert (result.exit_code, approved(desk, proposal)) == (code, False)


@pytest.mark.claim("C4")
def test_a_wrong_token_decides_nothing(run: Run, desk: Desk) -> None:
    proposal = desk.propose()
    for command in (
        ["approve", proposal.id, "--digest", proposal.digest],
        ["reject", proposal.id],
        ["settle", proposal.id, "--done"],
    ):
        result = run("approvals", *command, env={terminal.TOKEN_VARIABLE: desk.token[:-2]})
        assert result.exit_code == 1
        assert desk.token[30:] not in result.output
    assert desk.queue.get(proposal.id).state is State.PENDING


def test_typing_the_digest_and_the_token(run: Run, desk: Desk, typed: Callable[..., list[str]]) -> None:
    proposal = desk.propose()
    asked = typed(proposal.digest[7:13], desk.token)
    result = run("approvals", "approve", proposal.id)
    assert (result.exit_code, approved(desk, proposal), len(asked)) == (0, True, 2)
    assert result.output.index(MAIL.value) < result.output.index("approved by")
    assert desk.token not in result.output


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    "answers", [[""], [EOFError], [KeyboardInterrupt], [typer.Abort], ["{digest}", ""], ["{digest}", typer.Abort]]
)
def test_leaving_the_prompt_decides_nothing(
    run: Run, desk: Desk, typed: Callable[..., list[str]], answers: list[object]
) -> None:
    proposal = desk.propose()
    typed(
        *(
            answer.replace("{digest}", proposal.digest[7:13]) if isinstance(answer, str) else answer
            for answer in answers
        )
    )
    result = run("approvals", "approve", proposal.id)
    assert (result.exit_code, approved(desk, proposal)) == (2, False)
    assert "no decision" in result.output


def test_rejecting(run: Run, desk: Desk, token: dict[str, str]) -> None:
    proposal = desk.propose()
    result = run("approvals", "reject", proposal.id, "--code", "wrong_person", "--note", "no", env=token)
    stored = desk.queue.get(proposal.id)
    assert (result.exit_code, stored.state, stored.code, stored.note) == (0, State.REJECTED, "wrong_person", "no")


def test_recovering_and_settling(run: Run, desk: Desk, token: dict[str, str]) -> None:
    assert "no call was left behind" in run("approvals", "recover").output
    assert "no outcome is unknown" in run("approvals", "unknown").output
    proposal = desk.propose(ALLOW)

    def lost(args: object, key: str) -> None:
        raise TimeoutError

    Executor(desk.queue).run(proposal.id, lost)
    assert proposal.id[:8] in run("approvals", "unknown").output
    unsaid = run("approvals", "settle", proposal.id, env=token)
    assert (unsaid.exit_code, "say how it ended, with --done or --not-done" in unsaid.output) == (2, True)
    assert run("approvals", "settle", proposal.id, "--not-done", "--note", "asked", env=token).exit_code == 0
    assert desk.queue.get(proposal.id).state is State.CONFIRMED_NOT_DONE
    assert "TimeoutError" in run("approvals", "show", proposal.id).output


def test_what_is_unknown_includes_a_call_whose_process_died_a_moment_ago(run: Run, desk: Desk) -> None:
    name = orphan(desk, "other-boot/pid:[1]/1/1/x", desk.clock.now)
    assert desk.queue.get(name).state is State.EXECUTING
    assert name[:8] in run("approvals", "unknown").output


@pytest.mark.parametrize("command", ["unknown", "recover"])
def test_a_damaged_call_hides_no_other_one_whose_process_died(run: Run, desk: Desk, command: str) -> None:
    damaged, lost = (orphan(desk, "other-boot/pid:[1]/1/1/x", desk.clock.now) for _ in range(2))
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == damaged).values(decision="{"))
    result = run("approvals", command)
    assert lost[:8] in result.stdout
    assert f"{damaged} was changed beside the log" in result.stderr


def test_reviewers(run: Run, desk: Desk, token: dict[str, str]) -> None:
    assert run("approvals", "reviewer", "add", "agent").exit_code == 2
    result = run("approvals", "reviewer", "add", "Ben", env=token)
    assert result.exit_code == 0
    assert desk.queue.reviewers.authenticate(result.stdout).name == "ben"
    assert run("approvals", "reviewer", "disable", "ben", env=token).exit_code == 0
    rows = json.loads(run("approvals", "reviewer", "list", "--json").output)
    assert [(row["name"], row["disabled"]) for row in rows] == [("ann", False), ("ben", True)]
    assert "disabled" in run("approvals", "reviewer", "list").output


def test_loud_modes_are_shown(run: Run, store: Store, clock: HandClock, desk: Desk) -> None:
    observed = desk.propose(DENY, observe=True)
    assert "OBSERVE MODE" in run("approvals", "show", observed.id).output
    single = Queue(store, clock, single_user=True)
    own = desk.propose(request=desk.request(requester="ann"))
    single.approve(own.id, desk.reviewer, own.digest)
    assert "SELF-APPROVED" in run("approvals", "show", own.id).output


def test_a_missing_proposal_and_a_missing_database_say_what_to_do(run: Run, store: Store, url: str) -> None:
    assert run("approvals", "show", "ffffffff").exit_code == 1
    path = Path(str(store.path))
    store.close()
    path.rename(path.with_suffix(".away"))
    looking = ("approvals list", "approvals show ffffffff", "approvals unknown", "approvals reviewer list")
    deciding = ("approvals approve ffffffff", "approvals settle ffffffff --done", "approvals reviewer disable x")
    for command in (*looking, *deciding, "approvals recover", "audit verify", "audit head", "audit show"):
        result = run(*command.split())
        assert (command, result.exit_code) == (command, 2)
        assert "there is no database" in result.output
    assert not path.exists()
    path.touch()
    for command in (*looking, "audit verify", "audit show"):
        result = run(*command.split())
        assert (command, result.exit_code) == (command, 2)
        assert "the file is empty" in result.output
    assert path.stat().st_size == 0
    path.write_bytes(path.with_suffix(".away").read_bytes()[:6_000])
    for command in (*looking, "audit verify", "audit show"):
        result = run(*command.split())
        assert (command, result.exit_code) == (command, 2)
        assert str(path) in result.output


@pytest.mark.claim("C5")
def test_auditing(run: Run, desk: Desk, store: Store, tmp_path: Path) -> None:
    proposal = desk.propose(ALLOW)
    head = tmp_path / "head"
    head.write_text(run("audit", "head").output)
    desk.propose()
    result = run("audit", "verify", "--head", str(head))
    assert result.exit_code == 0
    assert "ok: 4 events agree" in result.output
    assert "audit verify --head FILE" in run("audit", "verify").output
    assert json.loads(run("audit", "verify", "--json").output)["ok"] is True
    events = json.loads(run("audit", "show", "--subject", proposal.id, "--json").output)
    assert [event["kind"] for event in events] == ["proposal.recorded", "grant.issued"]
    assert "proposal.recorded" in run("audit", "show", "--subject", proposal.id[:8]).output
    nothing = run("audit", "show", "--subject", "ffff")
    assert (nothing.exit_code, "no event is about ffff" in nothing.output) == (1, True)
    assert run("audit", "show", "--subject", "").exit_code == 0
    shown = run("audit", "show", "--limit", "1", "--after", "1")
    assert "proposal.recorded" in shown.output
    assert "--after 2" in shown.output
    head.write_text("something else")
    other = run("audit", "verify", "--head", str(head))
    assert (other.exit_code, "holds no head that `audit head` printed" in other.output) == (2, True)
    gone = run("audit", "verify", "--head", str(tmp_path / "nope"))
    assert (gone.exit_code, "nope cannot be read (No such file or directory)" in gone.output) == (2, True)
    tamper(Path(str(store.path)), "UPDATE proposals SET state = 'approved' WHERE state = 'pending'")
    tampered = run("audit", "verify")
    assert tampered.exit_code == 1
    assert "TAMPERED" in tampered.output
    assert not verify(store).ok
