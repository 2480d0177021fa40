"""The gateway signs behind its commits, and runs nothing over a log that is not what was signed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import typer
from typer.testing import CliRunner

from checkvalve.approvals import audit
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.errors import LogError, LogTamperedError, StoreCorruptError
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.approvals.verify import verify
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.log_keeper import LogKeeper, keeper_of, log_place
from checkvalve.gateway.settings import Settings
from tests.approvals.made import Desk, HandClock, fill
from tests.approvals.sealed import ORIGIN, write
from tests.waiting import until


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(f"sqlite:///{tmp_path}/checkvalve.db") as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database_url=f"sqlite:///{tmp_path}/checkvalve.db", audit_anchors=f"file:{tmp_path}/anchor")


@pytest.mark.claim("C5")
def test_what_is_committed_is_signed_behind_it(store: Store, settings: Settings) -> None:
    assert keeper_of(settings, store) is None, "there is no key yet"
    place = log_place(settings)
    place.save(LogKey.new(ORIGIN))
    keeper = LogKeeper(store, place.sealer(store), every=0.05)
    keeper.start()
    write(store, 3)

    def is_signed() -> bool:
        report = verify(store, keys=place.public_keys(), outside=place.outside())
        assert report.ok
        return report.is_judged and not report.notes

    until(is_signed)
    keeper.stop()
    with store.read() as connection:
        kinds = [event.kind for event in audit.read_events(connection)]
    assert (kinds[0], kinds[-1]) == ("log.started", "log.stopped")
    assert is_signed()


@pytest.mark.claim("C5", "C9")
def test_nothing_runs_when_the_log_turns_out_to_be_another_one(store: Store, settings: Settings) -> None:
    place = log_place(settings)
    place.save(LogKey.new(ORIGIN))
    keeper = LogKeeper(store, place.sealer(store), every=0.05)
    keeper.start()
    desk = Desk.at(store, HandClock())
    waiting = desk.propose()
    until(lambda: "signed yet" not in " ".join(verify(store, keys=place.public_keys(), outside=place.outside()).notes))
    with store.write() as connection:
        connection.execute(sa.update(events).where(events.c.seq == 2).values(at=5))
        audit.append(connection, at=1, kind="test", body={})
        connection.execute(sa.delete(events).where(events.c.kind == "test"))

    def is_refused() -> bool:
        try:
            with store.write():
                return False
        except StoreCorruptError:
            return True

    until(is_refused)
    with pytest.raises(StoreCorruptError, match=r"not what was written|head is elsewhere|were removed from"):
        desk.approve(waiting)
    assert desk.queue.get(waiting.id).state is State.PENDING
    keeper._stop.set()
    keeper._thread.join()


@pytest.mark.claim("C5", "C9")
def test_a_gateway_does_not_start_over_an_older_database(store: Store, settings: Settings, tmp_path: Path) -> None:
    place = log_place(settings)
    place.save(LogKey.new(ORIGIN))
    write(store, 1)
    place.sealer(store).seal()
    store.close()
    shutil.copy(tmp_path / "checkvalve.db", tmp_path / "backup.db")
    write(store, 5)
    place.sealer(store).seal()
    store.close()
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"checkvalve.db{suffix}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup.db", tmp_path / "checkvalve.db")
    with Store.open(settings.database_url) as older, pytest.raises(LogTamperedError, match="an older one was put back"):
        keeper_of(settings, older)


def test_a_gateway_whose_log_is_signed_elsewhere_looks_at_it_all_the_same(store: Store, settings: Settings) -> None:
    place = log_place(settings)
    place.save(LogKey.new(ORIGIN))
    write(store, 5)
    place.sealer(store).seal()
    looking = LogKeeper(store, None, every=0.05)
    looking.start()
    with store.write() as connection:
        connection.execute(sa.delete(events).where(events.c.seq == 3))

    def is_refused() -> bool:
        try:
            with store.write():
                return False
        except StoreCorruptError as error:
            return "were removed from the log" in error.message

    until(is_refused)
    looking.stop()


def test_who_signs_is_a_setting(store: Store, settings: Settings, tmp_path: Path) -> None:
    log_place(settings).save(LogKey.new(ORIGIN))
    looking = keeper_of(settings.model_copy(update={"audit_sealer": "apart"}), store)
    assert looking is not None
    looking.stop()
    assert verify(store, keys=log_place(settings).public_keys()).signed is None, "it signs nothing"
    missing = settings.model_copy(update={"audit_key": tmp_path / "none.json"})
    with pytest.raises(SettingsError, match="no key of the audit log"):
        keeper_of(missing, store)
    with pytest.raises(LogError, match="nobody said where"):
        LogPlace().key_file()
    with pytest.raises(ValueError, match="is no anchor"):
        Settings(database_url="sqlite:////x.db", audit_anchors="carrier-pigeon:home")
    for text in ("syslog:", "syslog:log.example:514", "file:/a, syslog:/dev/log"):
        assert log_place(Settings(database_url="sqlite:////x.db", audit_anchors=text)).anchors


# ------------------------------------------------------------------------------------------ the commands


@pytest.fixture
def run(store: Store, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("COLUMNS", "200")
    desk = fill(store)
    (tmp_path / "token").write_text(desk.token)
    app = typer.Typer()
    app.add_typer(
        audit_app(lambda: Store.open(settings.database_url, create=False), lambda: log_place(settings)), name="audit"
    )
    return lambda *args: CliRunner().invoke(app, ["audit", *map(str, args)])


@pytest.mark.claim("C5")
def test_exit_codes_say_good_tampered_and_cannot_tell(run: Callable[..., Any], store: Store, tmp_path: Path) -> None:
    assert run("seal").exit_code == 2
    assert run("verify").exit_code == 2
    assert run("key", "public").exit_code == 2
    made = run("key", "create", "--origin", ORIGIN)
    assert (made.exit_code, made.output.startswith(f"the log {ORIGIN} has a key now: Ed25519 ")) == (0, True)
    assert max(map(len, made.output.splitlines())) < 400, "the whole key is asked for with --print"
    assert run("key", "create").exit_code == 2
    assert run("receipt", "1").exit_code == 2
    assert run("export", tmp_path / "early").exit_code == 2
    assert "31 of them new" in run("seal").output
    good = run("verify")
    assert (good.exit_code, "compared with: the last signed checkpoint" in good.output) == (0, True)
    assert json.loads(run("verify", "--json").output)["judged"] is True
    keys = tmp_path / "keys"
    keys.write_text(run("key", "public").output)
    bundle = tmp_path / "log.jsonl"
    assert run("export", bundle).exit_code == 0
    assert run("export", bundle).exit_code == 2
    for form, start in (("jsonl", '{"seq": 1'), ("ocsf", '{"metadata"')):
        assert run("export", tmp_path / form, "--format", form).exit_code == 0
        assert (tmp_path / form).read_text().startswith(start)
        assert (tmp_path / form).read_text().count("\n") == 31
    assert run("verify", "--bundle", bundle).exit_code == 2
    assert run("verify", "--bundle", bundle, "--key", keys).exit_code == 0
    assert run("verify", "--bundle", bundle, "--key", keys, "--anchor", tmp_path / "anchor").exit_code == 0
    assert run("verify", "--bundle", keys, "--key", keys).exit_code == 2
    assert run("verify", "--key", tmp_path / "nothing").exit_code == 2
    assert run("verify", "--key", keys, "--anchor", keys).exit_code == 2
    bundle.write_text(bundle.read_text().replace("proposal.denied", "proposal.allowed").replace("send", "gift"))
    bad = run("verify", "--bundle", bundle, "--key", keys)
    assert (bad.exit_code, "TAMPERED" in bad.output) == (1, True)
    with store.write() as connection:
        connection.execute(sa.update(events).where(events.c.seq == 3).values(at=1))
    assert run("verify").exit_code == 1


@pytest.mark.claim("C5")
def test_receipts_in_the_terminal(run: Callable[..., Any], store: Store, tmp_path: Path) -> None:
    run("key", "create")
    run("seal")
    keys, file = tmp_path / "keys", tmp_path / "r.json"
    keys.write_text(run("key", "public").output)
    done = next(item for item in Queue(store).list() if item.state is State.SUCCEEDED)
    file.write_text(run("receipt", done.id[:8]).output)
    good = run("verify-receipt", file, "--key", keys)
    assert (good.exit_code, "proposal.succeeded" in good.output) == (0, True)
    assert json.loads(run("verify-receipt", file, "--key", keys, "--json").output)["ok"] is True
    file.write_text(file.read_text().replace("attempt.intent", "attempt.extent"))
    assert run("verify-receipt", file, "--key", keys).exit_code == 1
    file.write_text("{}")
    assert run("verify-receipt", file, "--key", keys).exit_code == 2
    assert run("verify-receipt", tmp_path / "none", "--key", keys).exit_code == 2
    proof = run("receipt", "4", "--tlog-proof").output
    assert proof.startswith("c2sp.org/tlog-proof@v1\nextra ")
    assert "\nindex 3\n" in proof
    assert run("receipt", done.id, "--tlog-proof").exit_code == 1
    assert run("receipt", "4000").exit_code == 1


@pytest.mark.claim("C5")
def test_rotating_erasing_and_pruning_in_the_terminal(run: Callable[..., Any], store: Store, tmp_path: Path) -> None:
    run("key", "create")
    run("seal")
    old = tmp_path / "old.keys"
    old.write_text(run("key", "public").output)
    assert run("key", "rotate").exit_code == 0
    assert run("key", "public").output != old.read_text()
    assert run("verify").exit_code == 0
    assert run("verify", "--key", old).exit_code == 0
    done = next(item for item in Queue(store).list() if item.state is State.SUCCEEDED)
    token = ("--token-file", tmp_path / "token")
    assert run("erase", "--note", "r", *token).exit_code == 2
    people = Queue(store).reviewers
    boss = people.authenticate((tmp_path / "token").read_text())
    (tmp_path / "auditor").write_text(people.add("audrey", by=boss, roles=[Role.AUDITOR]))
    for refused in (("erase", done.id, "--note", "r"), ("prune", "--older-than", "1", "--archive", tmp_path / "no")):
        told = run(*refused, "--token-file", tmp_path / "auditor")
        assert (told.exit_code, "takes the role administrator" in told.output) == (2, True)
    assert run("erase", "--hand-over", "none", "--note", "r", *token).exit_code == 2
    assert "10 events" in run("erase", done.id, "--note", "asked to", *token).output
    assert "(erased)" in run("show", "--subject", done.id).output
    archive = tmp_path / "archive"
    assert run("prune", "--older-than", "1", "--archive", archive, *token).exit_code == 0
    assert archive.exists()
    assert run("verify").exit_code == 0


@pytest.mark.claim("C5")
def test_a_closed_output_does_not_end_what_signs(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the log cannot be signed and nobody can be told; the third time it is signed."""
    place = log_place(settings)
    place.save(LogKey.new(ORIGIN))
    sealer = place.sealer(store)
    beat, failures = sealer.beat, [OSError("no space"), OSError("no answer")]

    def failing() -> Any:
        if failures:
            raise failures.pop()
        return beat()

    class Closed:
        def warning(self, *_args: object, **_values: object) -> None:
            raise ValueError("I/O operation on closed file.")

    monkeypatch.setattr(sealer, "beat", failing)
    monkeypatch.setattr("checkvalve.gateway.log_keeper.get_logger", Closed)
    keeper = LogKeeper(store, sealer, every=0.01)
    keeper.start()
    write(store, 3)
    until(lambda: not verify(store, keys=place.public_keys(), outside=place.outside()).notes)
    keeper.stop()
    assert not failures
