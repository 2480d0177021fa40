"""A session: what entered a thread, the same in every process."""

from __future__ import annotations

import pytest

from checkvalve.approvals.records import State
from checkvalve.filters.labels import Trust
from checkvalve.gateway import app
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.session import Call
from tests.gateway.world import World


def mail(call: str, to: str = "ann@corp.example", turn: str = "", body: str = "hello") -> Call:
    return Call("send_mail", {"to": to, "body": body}, call, turn=turn)


@pytest.mark.claim("C3")
def test_another_process_comes_to_the_same_decision(place: World) -> None:
    with place.open() as gateway:
        session = gateway.session("t", "me")
        session.user_words("Look up Ann and send a mail that says hello to her", key="u")
        looked = Call("lookup", {"name": "Ann"}, "c1")
        session.result(looked, '{"name": "Ann", "email": "ann@corp.example"}', key="r")
        first = session.propose(mail("c2"))
    with place.open() as gateway:
        second = gateway.session("t", "me").propose(mail("c3", body="says hello"))
        stranger = gateway.session("other", "me").propose(mail("c4"))
    assert (first.state, second.state) == (State.APPROVED, State.APPROVED)
    arguments = [one.decision["arguments"] for one in (first, second)]
    assert all(isinstance(found, list) for found in arguments)
    assert arguments[0][0] == arguments[1][0]  # type: ignore[index]  # checked in the line above
    assert stranger.state is not State.APPROVED


def test_a_result_counts_from_the_next_turn_on(gateway: Gateway) -> None:
    session = gateway.session("t", "me")
    session.user_words("Look up Ann and send a mail that says hello to her", key="u")
    looked = Call("lookup", {"name": "Ann"}, "c1", turn="one")
    session.result(looked, {"name": "Ann", "email": "ann@corp.example"}, key="r")
    assert session.propose(mail("c2", turn="one")).state is State.PENDING
    assert session.propose(mail("c3", turn="two")).state is State.APPROVED
    assert (
        session.propose(mail("c4", turn="one", body="says hello")).state is State.APPROVED
    )  # it has entered the context by now


def test_a_result_that_is_declared_as_text_is_not_read_as_structure(gateway: Gateway) -> None:
    session = gateway.session("t", "me")
    session.result(Call("note", {"text": "x"}, "c1"), '{"email": "thief@evil.example"}', key="r")
    session.load("")
    fields = list(session._index.content_fields())
    assert [field.path for field in fields] == [""]
    assert fields[0].trust is Trust.VERIFIED


def test_what_the_strict_rules_refuse_still_counts_as_read(gateway: Gateway) -> None:
    session = gateway.session("t", "me")
    call = Call("read_mail", {}, "c1")
    circle: list[object] = []
    circle.append(circle)
    for key, value in {
        "nan": float("nan"),
        "long": "word " * 100_000,
        "circle": circle,
        "keys": {(1, 2): "x"},
        "bytes": {"x": b"thief@evil.example"},
        "lone": "\ud800 thief@evil.example",
        "twice": '{"a": 1, "a": "thief@evil.example"}',
    }.items():
        session.result(call, value, key=key)
    session.load("")
    fields = list(session._index.content_fields())
    assert len(fields) > 10
    assert all(field.trust is Trust.UNTRUSTED for field in fields)
    assert sum("thief@evil.example" in field.text for field in fields) == 3


def test_a_very_long_user_turn_is_content(gateway: Gateway) -> None:
    session = gateway.session("t", "me")
    session.user_words("send a mail to ann@corp.example " + "word " * 50_000, key="u")
    assert session.propose(mail("c1")).state is not State.APPROVED


def test_a_limit_counts_the_calls_of_the_thread(place: World) -> None:
    manifest = place.folder / "manifest.yaml"
    manifest.write_text(
        manifest.read_text().replace("asks: [note, write]", "asks: [note, write]\n    limits: {calls_per_task: 2}")
    )
    with place.open() as gateway:
        session = gateway.session("t", "me")
        session.user_words("write a note: buy fresh milk", key="u")
        states = [session.propose(Call("note", {"text": "buy fresh milk"}, f"c{n}")).state for n in range(3)]
    assert states == [State.APPROVED, State.APPROVED, State.PENDING]


def test_only_so_many_sessions_are_kept_and_none_is_lost(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_SESSIONS", 2)
    first = gateway.session("t", "me")
    first.user_words("Send a mail to ann@corp.example that says hello", key="u")
    assert gateway.session("t", "me") is first
    for name in ("a", "b", "c"):
        gateway.session(name, "me")
    again = gateway.session("t", "me")
    assert again is not first
    assert again.propose(mail("c1")).state is State.APPROVED


def test_the_gateways_own_files_are_out_of_reach(gateway: Gateway, place: World) -> None:
    assert str(place.folder / "gate.db") in gateway.protected
    assert str(place.folder / "manifest.yaml") in gateway.protected
    assert str(place.config) in gateway.protected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no manifest"),
        ({"manifest": "manifest.yaml", "profile": "loose"}, "no profile"),
        ({"manifest": "manifest.yaml"}, "no database_url"),
    ],
)
def test_a_gateway_that_cannot_be_built_says_why(settings: dict[str, str], message: str, place: World) -> None:
    if "manifest" in settings:
        settings = {**settings, "manifest": str(place.folder / "manifest.yaml")}
    with pytest.raises(SettingsError, match=message) as caught:
        build(Settings.model_validate(settings))
    assert caught.value.remedy
