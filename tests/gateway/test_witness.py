"""The witness: cosigns what follows, refuses everything else, and a log that forks is found by it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.error import HTTPError

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from checkvalve.approvals.anchors import WitnessAnchor
from checkvalve.approvals.checkpoints import Checkpoint, open_checkpoint, sign
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.keyfile import save_key
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.merkle import EMPTY, consistency_proof, in_memory, leaf_hash, tree_hash
from checkvalve.approvals.notes import ED25519_TIMED
from checkvalve.approvals.store import Store
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.witness import MAX_BODY, Witness
from checkvalve.gateway.witness_app import create_witness_app
from checkvalve.gateway.witness_command import open_witness, witness_app
from tests.approvals.sealed import ORIGIN, QUICK_KEY, Desk, write

LEAVES = [leaf_hash(str(n).encode()) for n in range(40)]
OTHERS = [leaf_hash(b"other") if n == 2 else leaf for n, leaf in enumerate(LEAVES)]
KEY = LogKey.new("witness.example/w", classic=ED25519_TIMED)


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(KEY, [QUICK_KEY.public], tmp_path / "state.db", clock=lambda: 77.5)


def note(size: int, leaves: list[bytes] = LEAVES, key: LogKey = QUICK_KEY, origin: str = ORIGIN) -> str:
    root = tree_hash(0, size, in_memory(leaves))
    return str(sign(Checkpoint(origin, size, root), key.keys, now=1))


def request(old: int, size: int, leaves: list[bytes] = LEAVES, *, proof: list[bytes] | None = None) -> bytes:
    found = consistency_proof(old, size, in_memory(leaves)) if proof is None else proof
    lines = "".join(base64.b64encode(one).decode() + "\n" for one in found)
    return f"old {old}\n{lines}\n{note(size, leaves)}".encode()


@pytest.mark.claim("C5")
def test_it_cosigns_what_follows_and_says_which_size_it_knows(witness: Witness) -> None:
    first = witness.add(request(0, 3))
    assert first.status == 200
    found = open_checkpoint(note(3).rstrip("\n") + "\n" + first.text, [*QUICK_KEY.public, *KEY.public])
    assert (found.checkpoint.size, found.signed_at) == (3, 77)
    assert witness.add(request(0, 5)) == witness.add(request(2, 5))
    conflict = witness.add(request(0, 5))
    assert (conflict.status, conflict.text, conflict.kind) == (409, "3\n", "text/x.tlog.size")
    assert [witness.add(request(3, size)).status for size in (17,)] == [200]
    assert witness.add(request(17, 17)).status == 200, "the same again is no fork"
    assert witness.newest()[ORIGIN].startswith(f"{ORIGIN}\n17\n")


@pytest.mark.claim("C5")
def test_it_refuses_every_fork_rollback_and_forgery(witness: Witness) -> None:
    witness.add(request(0, 5))
    stranger = LogKey.new(ORIGIN)
    cases = {
        422: [request(5, 9, OTHERS), request(5, 5, OTHERS), request(5, 9, proof=[]), request(5, 9, proof=[EMPTY])],
        409: [request(0, 3), request(4, 9), request(0, 9, OTHERS)],
        403: [f"old 5\n\n{note(9, key=stranger)}".encode()],
        404: [f"old 5\n\n{note(9, key=LogKey.new('x.example'), origin='x.example')}".encode()],
        400: [
            b"",
            b"old 5",
            b"old 05\n\n" + note(9).encode(),
            b"old -1\n\n" + note(9).encode(),
            b"old 10\n\n" + note(9).encode(),
        ],
    }
    cases[400] += [b"\xff", b"old 5\nAA==\n\n" + note(9).encode(), b"old 5\n" + b"a\n" * 64 + b"\n" + note(9).encode()]
    cases[400].append(b"x" * (MAX_BODY + 1))
    for status, bodies in cases.items():
        for body in bodies:
            assert witness.add(body).status == status, (status, body[:60])
    assert witness.newest()[ORIGIN].startswith(f"{ORIGIN}\n5\n"), "nothing of that has moved it"


@pytest.mark.claim("C5")
def test_of_two_that_ask_at_once_the_state_never_goes_back(tmp_path: Path) -> None:
    witnesses = [Witness(KEY, [QUICK_KEY.public], tmp_path / "state.db") for _ in range(4)]
    witnesses[0].add(request(0, 1))
    seen: list[tuple[int, int]] = []

    def ask(number: int) -> None:
        for size in range(2, 40):
            known = int(witnesses[number].add(request(0, size)).text or 0)
            if known <= size and witnesses[number].add(request(known, size)).status == 200:
                seen.append((known, size))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert witnesses[0].newest()[ORIGIN].startswith(f"{ORIGIN}\n39\n")
    steps = sorted({step for step in seen if step[0] != step[1]})
    assert [old for old, _ in steps] == [1, *(new for _, new in steps)][:-1], "one chain of steps, no fork"


def test_a_witness_that_forgot_would_sign_a_fork(tmp_path: Path) -> None:
    """Negative control: the state is what refuses a fork. A witness whose file was put back has none."""
    one = Witness(KEY, [QUICK_KEY.public], tmp_path / "a.db")
    assert one.add(request(0, 5)).status == 200
    assert one.add(request(0, 5, OTHERS)).status == 409
    forgetful = Witness(KEY, [QUICK_KEY.public], tmp_path / "b.db")
    assert forgetful.add(request(0, 5, OTHERS)).status == 200


class _Answer:
    """What urllib gives, from the application in this process."""

    def __init__(self, status: int, text: bytes) -> None:
        self.status, self._text = status, text

    def read(self, limit: int = -1) -> bytes:
        return self._text[:limit] if limit >= 0 else self._text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture
def wired(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> Iterator[WitnessAnchor]:
    with TestClient(create_witness_app(witness)) as client:

        def urlopen(asked: object, timeout: float) -> _Answer:
            assert timeout
            answer = client.post("/add-checkpoint", content=asked.data)  # type: ignore[attr-defined]
            if answer.status_code != 200:
                import io

                raise HTTPError("u", answer.status_code, "no", answer.headers, io.BytesIO(answer.content))  # type: ignore[arg-type]
            return _Answer(200, answer.content)

        monkeypatch.setattr("urllib.request.urlopen", urlopen)
        yield WitnessAnchor("http://w.example", KEY.public[0])


@pytest.mark.claim("C5")
def test_a_log_gets_its_cosignatures_and_a_fork_of_it_stops(wired: WitnessAnchor, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        desk = Desk(store, tmp_path, QUICK_KEY, more=[wired])
        for count in (3, 300, 1):
            write(store, count)
            sealed = desk.sealer.seal()
            assert not sealed.failed
            assert open_checkpoint(str(sealed.note), [*QUICK_KEY.public, KEY.public[0]]).signed_at == 77
        assert desk.verify().ok
    (tmp_path / "fork").mkdir()
    with Store.open(f"sqlite:///{tmp_path}/fork/a.db") as store:
        fork = Desk(store, tmp_path / "fork", QUICK_KEY, more=[WitnessAnchor("http://w.example", KEY.public[0])])
        write(store, 4)
        with pytest.raises(LogTamperedError, match="has seen 304 events of this log, and it has 4"):
            fork.sealer.seal()
        write(store, 400)
        with pytest.raises(LogTamperedError, match="has seen another history"):
            fork.sealer.seal()


@pytest.mark.claim("C5")
def test_a_process_that_starts_over_an_older_database_is_told_by_the_witness(
    wired: WitnessAnchor, tmp_path: Path
) -> None:
    """Also where the file of the last checkpoint is gone, and before anything new was written."""
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        write(store, 3)
        Desk(store, tmp_path, QUICK_KEY, more=[wired]).sealer.seal()
        store.close()
        older = (tmp_path / "a.db").read_bytes()
        write(store, 3)
        Desk(store, tmp_path, QUICK_KEY, more=[wired]).sealer.seal()
        store.close()
        (tmp_path / "a.db").write_bytes(older)
        (tmp_path / "signed").unlink()
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        again = WitnessAnchor(wired.url, wired.key)
        with pytest.raises(LogTamperedError, match="has seen 6 events of this log, and it has 3"):
            Desk(store, tmp_path, QUICK_KEY, more=[again]).sealer.seal()


def test_a_witness_that_cannot_be_reached_or_lies_costs_nothing(
    witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[object] = [OSError("down"), b"hello", b"\xe2\x80\x94 w.example AAAABBBBCCCC\n"]
    anchor = WitnessAnchor("http://w.example", KEY.public[0])

    def urlopen(asked: object, timeout: float) -> _Answer:
        assert asked is not None
        assert timeout > 0
        answer = answers.pop(0)
        if isinstance(answer, bytes):
            return _Answer(200, answer)
        raise OSError("down")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        desk = Desk(store, tmp_path, QUICK_KEY, more=[anchor])
        for words in ("cannot be reached", "does not answer as a witness", "not signed with its key"):
            write(store, 1)
            (reason,) = desk.sealer.seal().failed.values()
            assert words in reason
        assert desk.verify().ok
    assert witness.newest() == {}


def test_the_commands_make_a_key_and_refuse_what_is_none(tmp_path: Path) -> None:
    made = CliRunner().invoke(witness_app(), ["key", str(tmp_path / "w.json"), "--name", "witness.example/w"])
    assert made.exit_code == 0
    assert made.output.startswith("witness.example/w+")
    log = tmp_path / "log.pub"
    log.write_text("".join(f"{key}\n" for key in QUICK_KEY.public))
    witness = open_witness(tmp_path / "w.json", [log], tmp_path / "state.db")
    assert witness.add(request(0, 2)).status == 200
    save_key(QUICK_KEY, tmp_path / "log.json")
    with pytest.raises(SettingsError, match="key of a log"):
        open_witness(tmp_path / "log.json", [log], tmp_path / "state.db")
    with pytest.raises(LogError, match="holds no public key"):
        open_witness(tmp_path / "w.json", [tmp_path / "w.json"], tmp_path / "state.db")
    arguments = ["serve", "--key", str(tmp_path / "w.json"), "--log", str(log), "--state", str(tmp_path / "s.db")]
    refused = CliRunner().invoke(witness_app(), [*arguments, "--host", "0.0.0.0"])
    assert isinstance(refused.exception, SettingsError)


def test_over_http(witness: Witness) -> None:
    with TestClient(create_witness_app(witness)) as client:
        answer = client.post("/add-checkpoint", content=request(0, 3))
        assert (answer.status_code, answer.text.count("\u2014")) == (200, len(KEY.keys))
        conflict = client.post("/add-checkpoint", content=request(0, 3))
        assert (conflict.status_code, conflict.headers["content-type"]) == (409, "text/x.tlog.size")
        assert client.post("/add-checkpoint", content=b"x" * (MAX_BODY + 1)).status_code == 400
        assert list(json.loads(client.get("/checkpoints").text)) == [ORIGIN]
