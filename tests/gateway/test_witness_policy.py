"""Verifying by a policy of witnesses: enough of them, too few, another history, a forged signature; the commands."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from checkvalve.approvals.anchors import Prove, WitnessAnchor
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.bundles import verify_bundle
from checkvalve.approvals.checkpoints import Checkpoint, cosign, sign
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.keyfile import save_key
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.logpolicy import Policy, parse_policy
from checkvalve.approvals.notes import ED25519_TIMED, MLDSA44, Note, PrivateKey, Signature, has_mldsa, parse_note
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.approvals.walk import VerifyReport
from checkvalve.gateway.doctor_service import log
from checkvalve.gateway.witness import Witness
from tests.approvals.sealed import ORIGIN, Desk, write
from tests.gateway.review_world import reviewing

NAMES = ("a", "b", "c")
KEYS = {name: LogKey.new(f"{name}.example", classic=ED25519_TIMED) for name in NAMES}
DOCS = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
Cli = Callable[..., Any]


class Near(WitnessAnchor):
    """A witness in this process, which can be out of reach."""

    def __init__(self, name: str, folder: Path, log: LogKey, kind: int = ED25519_TIMED) -> None:
        key = next(one for one in KEYS[name].public if one.kind == kind)
        super().__init__(f"https://{name}.example", key)
        self.witness = Witness(KEYS[name], [log.public], folder / f"{name}.db", clock=lambda: 77)
        self.away = False

    def _ask(self, note: Note, prove: Prove, old: int) -> tuple[int, str]:
        if self.away:
            return 503, ""
        proof = "".join(base64.b64encode(one).decode() + "\n" for one in (prove(old) if old else []))
        answer = self.witness.add(f"old {old}\n{proof}\n{note}".encode())
        return answer.status, answer.text


def policy_text(quorum: str, log: LogKey | None = None, kind: int = ED25519_TIMED) -> str:
    lines = [f"log {key}" for key in (log.public if log else ())]
    lines += [f"witness {name} {next(key for key in KEYS[name].public if key.kind == kind)}" for name in NAMES]
    return "\n".join([*lines, "group two 2 a b c", f"quorum {quorum}", ""])


TWO = parse_policy(policy_text("two").encode())


class World:
    """A log that three witnesses look at."""

    def __init__(self, store: Store, folder: Path, kind: int = ED25519_TIMED) -> None:
        self.store = store
        key = LogKey.new(ORIGIN)
        self.near = {name: Near(name, folder, key, kind) for name in NAMES}
        self.desk = Desk(store, folder, key=key, more=[*self.near.values()])

    def more(self, *away: str) -> None:
        """Write events and seal them, while some witnesses are out of reach."""
        write(self.store, 3)
        for name, one in self.near.items():
            one.away = name in away
        self.desk.sealer.seal()

    def verify(self, policy: Policy = TWO, *more: Outside) -> VerifyReport:
        outside = [*self.desk.outside(), *more]
        return verify(self.store, keys=self.desk.key.public, outside=outside, policy=policy)

    def note(self) -> Note:
        return parse_note((self.desk.folder / "signed").read_text())


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as opened:
        yield opened


def saw(report: VerifyReport) -> tuple[bool, int, tuple[str, ...]]:
    assert report.witnessed is not None
    return report.witnessed.is_met, report.witnessed.size, report.witnessed.by


@pytest.mark.claim("C5")
def test_a_quorum_is_enough_and_one_less_is_not(world: World) -> None:
    world.more()
    report = world.verify()
    assert (report.ok, report.is_judged, saw(report)) == (True, True, (True, 3, ("a", "b", "c")))
    world.more("b")
    assert (world.verify().is_judged, saw(world.verify())) == (True, (True, 6, ("a", "c")))
    world.more("b", "c")
    report = world.verify()
    assert (report.ok, report.is_judged, saw(report)) == (True, False, (False, 6, ("a",)))
    assert report.to_json()["witnesses"] == {
        "quorum": "two", "met": False, "size": 6, "of": 9, "by": ["a"], "lacks": ["1 of group two (b, c)"],
    }  # fmt: skip
    world.more()
    assert saw(world.verify()) == (True, 12, ("a", "b", "c")), "who was away is told again"
    assert world.verify(parse_policy(b"quorum none\n")).is_judged


@pytest.mark.claim("C5")
def test_signatures_of_one_checkpoint_count_together_wherever_they_are(world: World) -> None:
    world.more("b", "c")
    plain = world.note()
    point = Checkpoint(ORIGIN, 3, _root(plain))
    kept = Note(plain.text, (*plain.signatures, cosign(point, KEYS["c"].keys[0], now=5)))
    assert not world.verify().is_judged
    assert saw(world.verify(TWO, Outside("anchor c", str(kept)))) == (True, 3, ("a", "c"))
    only = Note(plain.text, tuple(one for one in kept.signatures if one.name == ORIGIN))
    assert saw(verify_with(world, [Outside("x", str(only))]))[2] == ("a",), "the database's own have a"


def verify_with(world: World, outside: Sequence[Outside]) -> VerifyReport:
    return verify(world.store, keys=world.desk.key.public, outside=outside, policy=TWO)


def _root(note: Note) -> bytes:
    return base64.b64decode(note.text.split("\n")[2])


@pytest.mark.claim("C5")
def test_a_witness_that_signed_another_root_at_that_size_is_tampering(world: World) -> None:
    world.more()
    for size, code in ((3, "replaced"), (2, "replaced"), (9, "truncated")):
        other = Checkpoint(ORIGIN, size, b"\x07" * 32)
        keys = [*world.desk.key.keys, KEYS["a"].keys[0], KEYS["b"].keys[0]]
        report = world.verify(TWO, Outside("anchor of a", str(sign(other, keys, now=5))))
        assert (report.ok, [one.code for one in report.findings]) == (False, [code])


@pytest.mark.claim("C5")
def test_a_forged_cosignature_is_found_and_one_of_a_stranger_counts_for_nothing(world: World) -> None:
    world.more("b", "c")
    note = world.note()
    point = Checkpoint(ORIGIN, 3, _root(note))
    good = cosign(point, KEYS["b"].keys[0], now=5)
    forged = Signature(good.name, good.key_id, good.data[:-1] + bytes([good.data[-1] ^ 1]))
    report = world.verify(TWO, Outside("anchor", str(Note(note.text, (*note.signatures, forged)))))
    assert [one.code for one in report.findings] == ["bad_cosignature"]
    moved = cosign(Checkpoint(ORIGIN, 2, point.root), KEYS["b"].keys[0], now=5)  # of another checkpoint
    report = world.verify(TWO, Outside("anchor", str(Note(note.text, (*note.signatures, moved)))))
    assert [one.code for one in report.findings] == ["bad_cosignature"]
    stranger = cosign(point, PrivateKey("b.example", ED25519_TIMED, b"s" * 32), now=5)
    report = world.verify(TWO, Outside("anchor", str(Note(note.text, (*note.signatures, stranger)))))
    assert (report.ok, report.is_judged) == (True, False)


def test_witnesses_that_sign_with_ml_dsa_count_like_others(store: Store, tmp_path: Path) -> None:
    if not has_mldsa():
        assert parse_policy(policy_text("two").encode()).quorum == "two"
        return
    world = World(store, tmp_path, MLDSA44)
    world.more("c")
    by_mldsa = parse_policy(policy_text("two", kind=MLDSA44).encode())
    assert saw(world.verify(by_mldsa)) == (True, 3, ("a", "b"))
    assert saw(world.verify(TWO))[0] is False, "their other keys have signed nothing"


def test_a_bundle_is_judged_by_its_own_checkpoint(world: World) -> None:
    world.more("c")
    report = verify_bundle(world.desk.bundle(), world.desk.key.public, (), TWO)
    assert (report.ok, report.is_judged, saw(report)) == (True, True, (True, 3, ("a", "b")))
    world.more("b", "c")
    report = verify_bundle(world.desk.bundle(), world.desk.key.public, (), TWO)
    assert (report.ok, report.is_judged, saw(report)) == (True, False, (False, 0, ("a",)))


@pytest.fixture
def cli(world: World, tmp_path: Path) -> Cli:
    place = LogPlace(key=tmp_path / "key.json", signed=tmp_path / "signed", anchors=(world.desk.anchor,))
    save_key(world.desk.key, tmp_path / "key.json")
    (tmp_path / "log.pub").write_text("".join(f"{key}\n" for key in world.desk.key.public))
    app = typer.Typer()
    url = f"sqlite:///{tmp_path}/a.db"
    app.add_typer(audit_app(lambda: Store.open(url, create=False), lambda: place), name="audit")
    return lambda *args: CliRunner().invoke(app, ["audit", *map(str, args)], env={"COLUMNS": "200"})


@pytest.mark.claim("C5")
def test_the_commands_end_with_the_code_that_the_policy_asks_for(cli: Cli, world: World, tmp_path: Path) -> None:
    world.more("c")
    asked, receipt, key = tmp_path / "w.policy", tmp_path / "receipt.json", tmp_path / "log.pub"
    asked.write_text(policy_text("two", world.desk.key))
    receipt.write_text(cli("receipt", 2).stdout)
    cli("export", tmp_path / "log.jsonl")
    good = cli("verify", "--policy", asked)
    assert (good.exit_code, "witnessed: the first 3 events by a, b" in good.stdout) == (0, True), good.output
    assert cli("verify", "--bundle", tmp_path / "log.jsonl", "--policy", asked).exit_code == 0
    good = cli("verify-receipt", receipt, "--policy", asked)
    assert (good.exit_code, "witnessed: the first 3 events by a, b" in good.stdout) == (0, True)
    asked.write_text(policy_text("c"))
    for command in (["verify"], ["verify", "--bundle", tmp_path / "log.jsonl"], ["verify-receipt", receipt]):
        few = cli(*command, "--key", key, "--policy", asked)
        assert few.exit_code == 2, few.output
        assert "for all of them the quorum c lacks:\n   witness c" in few.stdout
        assert "the policy of witnesses is not met" in few.stdout
    few = cli("verify-receipt", receipt, "--key", key, "--policy", asked, "--json")
    assert (few.exit_code, json.loads(few.stdout)["witnesses"]["met"]) == (2, False)
    note, point = world.note(), Checkpoint(ORIGIN, 3, b"\x01" * 32)
    (tmp_path / "split").write_text(str(sign(point, [*world.desk.key.keys, KEYS["c"].keys[0]], now=9)))
    split = cli("verify", "--key", key, "--policy", asked, "--anchor", tmp_path / "split")
    assert (split.exit_code, "replaced" in split.stdout) == (1, True)
    bad = json.loads(receipt.read_text())
    forged = Signature("c.example", KEYS["c"].keys[0].public.id, b"\0" * 72)
    bad["checkpoint"] = str(Note(note.text, (*note.signatures, forged)))
    receipt.write_text(json.dumps(bad))
    found = cli("verify-receipt", receipt, "--key", key, "--policy", asked)
    assert (found.exit_code, "the witness c is not its own" in found.output) == (1, True)


def test_what_is_wrong_with_a_policy_is_said_with_its_line(cli: Cli, world: World, tmp_path: Path) -> None:
    world.more()
    asked = tmp_path / "w.policy"
    asked.write_text(policy_text("two").replace("2 a b c", "4 a b c"))
    told = cli("verify", "--policy", asked)
    assert told.exit_code == 2
    assert re.search(r"w\.policy is no policy of witnesses: line 4: of 3 members '4' cannot", told.output), told.output
    asked.write_text(policy_text("two", world.desk.key))
    assert "has the keys of the log already" in cli("verify", "--policy", asked, "--key", tmp_path / "log.pub").output
    asked.write_text(f"log {world.desk.key.public[0]}\nlog {LogKey.new('b.example').public[0]}\nquorum none\n")
    assert "has keys of several logs" in cli("verify", "--policy", asked).output
    assert "cannot be read" in cli("verify", "--policy", tmp_path / "nothing").output
    asked.write_text("quorum none\n")
    assert "a receipt is judged with a public key" in cli("verify-receipt", asked, "--policy", asked).output


@pytest.mark.claim("C5")
def test_the_policy_of_the_page_is_one(cli: Cli, world: World, tmp_path: Path) -> None:
    """What ``docs/audit.md`` shows, with keys in the places that it leaves open, ends as it says there."""
    (block,) = re.findall(r"```text\n(log KEY.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    keys = iter([world.desk.key.public[0], *(KEYS[name].public[0] for name in NAMES)])
    text = re.sub(r"\bKEY\b", lambda _: str(next(keys)), block)
    (tmp_path / "w.policy").write_text(text)
    world.more("b")
    assert cli("verify", "--policy", tmp_path / "w.policy").exit_code == 0
    world.more("a", "b")
    ended = cli("verify", "--policy", tmp_path / "w.policy")
    assert ended.exit_code == 2
    (shown,) = re.findall(r"```text\n(witnessed: .*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    for line in shown.splitlines():
        assert line in ended.stdout, ended.stdout


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_the_page_and_the_doctor_ask_for_the_policy_of_the_settings(tmp_path: Path, language: str) -> None:
    key, asked = tmp_path / "key.json", tmp_path / "w.policy"
    LogPlace(key).save(LogKey.new(ORIGIN))
    asked.write_text(policy_text("two"))
    with reviewing(tmp_path, audit_key=key, audit_policy=asked) as review:
        review.client.headers["accept-language"] = language
        fields = review.fields(review.get("/review/audit"), "/review/audit")
        page = review.client.post("/review/audit", data=fields).text
        assert '<li lang="en">2 of group two (a, b, c)</li>' in page
        assert "audit.wit" not in page, "every word is in the catalogue"
        (found,) = [one for one in log(review.gateway.store, review.gateway.settings) if "witnesses" in one.text]
        assert found.remedy.startswith("tell the witnesses again")
        asked.write_text("quorum none\n")
        page = review.client.post("/review/audit", data=fields).text
        assert "2 of group two" not in page
