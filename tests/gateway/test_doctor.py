"""The doctor: what it finds about another user of this machine, about secrets, database, log, people and addresses."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.notes import ED25519
from checkvalve.approvals.tables import reviewers
from checkvalve.gateway import doctor_agent, doctor_user
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.doctor import Finding, State, examine, ok, problem, result, unknown
from checkvalve.gateway.doctor_command import look
from checkvalve.gateway.doctor_user import Access, User, own_user, user_of
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.settings import LoadedSettings, load_settings
from tests.gateway.review_world import MANIFEST

pytestmark = pytest.mark.claim("C4")

OTHER = User("agent", 4_321, frozenset({4_321}))
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, with settings, a database of one reviewer, and nothing open.

    A test's usual folder will not do: pytest closes the way to it to everybody else.
    """
    with tempfile.TemporaryDirectory(prefix="checkvalve-doctor-") as name:
        top = Path(name)
        top.chmod(0o755)
        place = top / "etc"
        place.mkdir(mode=0o755)
        (place / "manifest.yaml").write_text(MANIFEST)
        settings(place)
        queue = open_queue(loaded(place).settings)
        with queue.store:
            queue.reviewers.add("boss")
        (place / "gate.db").chmod(0o600)
        yield place


def settings(place: Path, **values: Any) -> None:
    given = {"database_url": "sqlite:///gate.db", "manifest": "manifest.yaml", **values}
    (place / "checkvalve.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in given.items()))


def loaded(place: Path) -> LoadedSettings:
    return load_settings(place / "checkvalve.toml", {"HOME": str(place)})


def about(place: Path, check: str, **more: Any) -> list[Finding]:
    return [one for one in look(loaded(place), **more) if one.check == check]


def states(found: list[Finding]) -> set[State]:
    return {one.state for one in found}


# -- the agent's user


def test_without_a_user_it_says_that_it_cannot_say(folder: Path) -> None:
    (found,) = about(folder, "separation from the agent")
    assert found.state is State.UNKNOWN
    assert "nobody said" in found.text
    assert result([found]) == 2


def test_the_same_user_is_no_boundary_and_is_called_that(folder: Path) -> None:
    found = about(folder, "separation from the agent", agent_user=str(os.geteuid()))
    assert State.PROBLEM in states(found)
    assert "THERE IS NO SEPARATION" in found[0].text


def test_root_and_what_amounts_to_it_are_no_boundary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = doctor_agent.files_of(loaded(folder).settings, loaded(folder).file)
    monkeypatch.setattr(doctor_agent, "_service", lambda _: User("gate", 77, frozenset({77, 9})))
    monkeypatch.setattr(doctor_user, "_group", {0: "root", 9: "docker", 12: "staff"}.get)
    for agent, said in (
        (User("root", 0, frozenset({0})), "the agent is root"),
        (User("agent", 4_321, frozenset({9})), "docker"),
    ):
        found = list(doctor_agent.separation(agent, files, loaded(folder).settings))
        assert any(said in one.text and one.state is State.PROBLEM for one in found)
    shared = list(doctor_agent.separation(User("agent", 4_321, frozenset({9})), files, loaded(folder).settings))
    assert any("share the group 9" in one.text for one in shared)


@pytest.mark.parametrize("how", ["tried", "computed"])
def test_what_is_closed_is_closed_and_what_is_open_is_named(
    how: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "tried" and not (IS_ROOT and shutil.which("setpriv")):
        pytest.skip("only root can look as another user (see also: shared/)")
    if how == "computed":
        monkeypatch.setattr(doctor_user, "_setpriv", lambda: None)
    settings_ = loaded(folder).settings
    files = doctor_agent.files_of(settings_, loaded(folder).file)
    monkeypatch.setattr(doctor_agent, "_service", lambda _: User("gate", 77, frozenset({77})))

    def look_as() -> list[Finding]:
        return list(doctor_agent.separation(OTHER, files, settings_))

    (good,) = look_as()
    assert (good.state, good.how) == (State.OK, how)
    (folder / "gate.db").chmod(0o644)
    assert any("can read the database" in one.text for one in look_as())
    (folder / "gate.db").chmod(0o602)
    assert any("can change the database" in one.text for one in look_as())
    (folder / "gate.db").chmod(0o600)
    folder.chmod(0o777)
    found = [one.text for one in look_as()]
    assert any("can change the manifest" in text and f"it can write {folder}" in text for text in found)
    folder.chmod(0o1777)  # sticky: others cannot replace what is there
    assert not any("can change the manifest" in one.text for one in look_as())
    folder.chmod(0o700)  # nobody gets through: what is open inside is closed
    (folder / "gate.db").chmod(0o666)
    assert states(look_as()) == {State.OK}


def test_a_link_on_the_way_that_the_agent_can_turn_is_a_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_user, "_setpriv", lambda: None)
    loose = folder / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    (loose / "manifest.yaml").symlink_to(folder / "manifest.yaml")
    assert Access(OTHER).can_change(loose / "manifest.yaml") == loose
    assert Access(OTHER).can_change(folder / "manifest.yaml") is None
    assert Access(User("agent", os.geteuid(), frozenset({1}))).can_change(folder / "manifest.yaml")
    missing = loose / "not-yet.yaml"
    assert Access(OTHER).can_change(missing) == loose
    assert not Access(OTHER).can_read(missing)


def test_group_and_owner_count_before_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_user, "_setpriv", lambda: None)
    file = folder / "gate.db"
    member = User("agent", 4_321, frozenset({file.stat().st_gid}))
    file.chmod(0o604)  # everybody but the group
    assert not Access(member).can_read(file)
    assert Access(OTHER).can_read(file)
    file.chmod(0o640)
    assert Access(member).can_read(file)
    assert Access(User("root", 0, frozenset({0}))).can_change(file) == file


def test_a_user_is_a_name_or_a_number() -> None:
    name = pwd.getpwuid(os.geteuid()).pw_name
    assert user_of(name).uid == user_of(str(os.geteuid())).uid == own_user().uid
    assert user_of("4321") == User("4321", 4_321, frozenset({4_321}))
    with pytest.raises(SettingsError, match="no user"):
        user_of("nobody-of-this-name")


def test_further_secrets_are_looked_at_and_named(folder: Path) -> None:
    token = folder / "token"
    token.write_text("cvr_x_y")
    token.chmod(0o644)
    found = about(folder, "modes of secrets", secrets=[token])
    assert any(f"credential token {token}" in one.text and "0644" in one.text for one in found)
    token.chmod(0o600)
    assert states(about(folder, "modes of secrets", secrets=[token])) == {State.OK}
    settings(folder, database_url="sqlite:///gate.db", checkpoint_url="sqlite:///runs.db")
    assert doctor_agent.is_secret("settings file", folder, loaded(folder).settings) is False
    address = loaded(folder).settings.model_copy(update={"database_url": "postgresql+psycopg://gate:pw@db/gate"})
    assert doctor_agent.is_secret("settings file", folder, address)


# -- everything else


def test_a_good_installation_has_no_problem(folder: Path) -> None:
    findings = look(loaded(folder))
    assert State.PROBLEM not in states(findings)
    assert {one.check for one in findings} >= {"database", "audit log", "reviewers", "clock", "address", "passkeys"}


def test_an_older_database_is_named_and_left_alone(folder: Path) -> None:
    engine = sa.create_engine(loaded(folder).settings.database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
    found = look(loaded(folder))
    assert any(one.check == "database" and "version 0003" in one.text for one in found)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == "0003"
    engine.dispose()
    (folder / "gate.db").unlink()
    (one,) = about(folder, "database")
    assert "there is no database" in one.text


@pytest.mark.enable_socket
def test_the_log_is_verified_and_its_anchors_are_looked_for(folder: Path) -> None:
    assert any("not signed" in one.text for one in about(folder, "audit log"))
    witness = next(key for key in LogKey.new("w.example").public if key.kind != ED25519)
    places = (f"file:{folder}/anchor", f"syslog:{folder}/none", f"witness:http://127.0.0.1:1 {witness}")
    settings(folder, audit_anchors=",".join(places))
    place = log_place(loaded(folder).settings)
    place.save(LogKey.new("gate.example/log"))
    queue = open_queue(loaded(folder).settings)
    with queue.store:
        assert states(about(folder, "audit log")) & {State.UNKNOWN, State.WARNING}
        log_place(loaded(folder).settings.model_copy(update={"audit_anchors": f"file:{folder}/anchor"})).sealer(
            queue.store
        ).start()
        assert any("verify, and agree" in one.text for one in about(folder, "audit log"))
        with queue.store.write() as connection:
            connection.execute(sa.update(reviewers).values(added_by="mallory"))
        assert any(one.state is State.PROBLEM for one in about(folder, "audit log"))
    found = about(folder, "anchors")
    assert [one.state for one in found] == [State.OK, State.PROBLEM, State.PROBLEM]


def test_people_are_counted_against_the_review_rules(folder: Path) -> None:
    (folder / "rules.yaml").write_text("everywhere: {step_up: true}\ntiers: {critical: {approve: [{approver: 2}]}}")
    settings(folder, review_rules="rules.yaml", single_user=True)
    found = look(loaded(folder))
    assert any(one.check == "reviewers" and "nobody can answer questions of tier critical" in one.text for one in found)
    assert any(one.check == "self-approval" and one.state is State.WARNING for one in found)
    assert any(one.check == "passkeys" and "no passkey" in one.text for one in found)
    settings(folder)
    queue = open_queue(loaded(folder).settings)
    with queue.store:
        with queue.store.write() as connection:
            connection.execute(sa.update(reviewers).values(disabled_at=1))
        assert any("nobody may decide" in one.text for one in about(folder, "reviewers"))


@pytest.mark.parametrize(
    ("given", "check", "state", "said"),
    [
        ({"host": "0.0.0.0"}, "address", State.PROBLEM, "not https"),
        ({"review_origin": "http://gate.example"}, "address", State.PROBLEM, "in the clear"),
        ({"review_origin": "https://127.0.0.1:8443"}, "passkey address", State.WARNING, "numbers"),
        ({"review_origin": "http://gate.example"}, "passkey address", State.WARNING, "not over TLS"),
        ({}, "passkey address", State.OK, "localhost"),
        ({"sandbox": "off"}, "sandbox", State.OK, "denied"),
        ({"channels": "channels.toml"}, "files", State.UNKNOWN, "could not be looked at"),
        (
            {"oidc_issuer": "http://127.0.0.1:1", "oidc_client_id": "c"},
            "organisation's sign-in",
            State.UNKNOWN,
            "reached",
        ),
    ],
)
@pytest.mark.enable_socket
def test_settings_that_do_not_fit_are_named(
    given: dict[str, Any], check: str, state: State, said: str, folder: Path
) -> None:
    settings(folder, **given)
    assert any(one.state is state and said in one.text for one in about(folder, check)), about(folder, check)


def test_nobody_is_warned_of_passkeys_that_they_did_not_ask_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(folder)
    monkeypatch.setattr("checkvalve.gateway.doctor_people.has_extra", lambda: False)
    monkeypatch.setattr("checkvalve.gateway.doctor_people.site_of", lambda _origin: None)
    (found,) = about(folder, "passkey address")
    assert (found.state, "checkvalve[passkeys]" in found.text) == (State.OK, True)


def test_a_credential_in_the_environment_is_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKVALVE_REVIEWER_TOKEN", "cvr_x_y")
    assert states(about(folder, "environment")) == {State.PROBLEM}


def test_a_check_that_breaks_is_unknown_and_never_good() -> None:
    def broken() -> Any:
        raise OSError("no disk")

    found = examine([("a", lambda: [ok("a", "fine")]), ("b", broken)])
    assert [one.state for one in found] == [State.OK, State.UNKNOWN]
    assert result(found) == 2
    assert result([*found, problem("c", "bad", "mend it")]) == 1
    assert result([ok("a", "fine")]) == 0
    assert result([unknown("a", "?")]) == 2
