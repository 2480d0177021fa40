"""What is said of the token that holds the log's key, and what its PIN is kept out of (SoftHSM2, over PKCS#11)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.errors import SignerError
from checkvalve.approvals.pkcs11_tokens import token_of
from checkvalve.approvals.store import Store
from checkvalve.gateway.doctor import State
from checkvalve.gateway.doctor_signer import signing_key
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.settings import load_settings, shown
from tests.approvals.sealed import ORIGIN, write
from tests.held_keys import LABEL, PIN, SoftToken, held, module, runner, store, token

__all__ = ["store", "token"]  # the fixtures
pytestmark = [pytest.mark.softhsm, pytest.mark.claim("C5")]


def test_the_key_is_made_in_the_token_and_does_not_leave_it(token: SoftToken, store: Store) -> None:
    settings = token.with_token()
    log_place(settings).create(ORIGIN)
    import pkcs11

    def look(session: Any) -> bytes:
        kind, label = pkcs11.ObjectClass.PRIVATE_KEY, held(settings).label
        key = session.get_key(object_class=kind, label=label)
        wanted = {"SENSITIVE": True, "EXTRACTABLE": False, "PRIVATE": True, "LOCAL": True, "ALWAYS_SENSITIVE": True}
        assert {name: key[pkcs11.Attribute[name]] for name in wanted} == wanted
        with pytest.raises(pkcs11.exceptions.PKCS11Error):
            key[pkcs11.Attribute.VALUE]
        return b"looked"

    assert token_of(str(module()), LABEL).run(lambda: PIN, look) == b"looked"


def test_a_wrong_pin_is_tried_once(token: SoftToken, store: Store, tmp_path: Path) -> None:
    """Tokens lock themselves after a few; each round would be a try."""
    settings = token.with_token()
    place = log_place(settings)
    place.create(ORIGIN)
    write(store, 1)
    sealer = place.sealer(store)
    pin = tmp_path / "pin"
    pin.write_text("000000")
    tried = list[str]()
    run = token_of(str(module()), LABEL)
    run._fail()  # the session is lost, so the PIN is asked for again
    opened = run._opened

    def counted(*given: Any, **more: Any) -> Any:
        tried.append(pin.read_text())
        return opened(*given, **more)

    run._opened = counted  # type: ignore[method-assign]
    for said in ("the PIN is wrong, and is not tried again", *["which is not tried again: it would lock itself"] * 5):
        with pytest.raises(SignerError, match=said) as error:
            sealer.seal()
        assert "000000" not in str(error.value)
    import pkcs11

    flags = pkcs11.lib(str(module())).get_token(token_label=LABEL).flags
    assert not flags & (pkcs11.TokenFlag.USER_PIN_LOCKED | pkcs11.TokenFlag.USER_PIN_FINAL_TRY)
    pin.write_text(PIN)
    assert sealer.seal().added == 1, "another PIN is tried"
    assert tried == ["000000"] * 6 + [PIN]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"audit_pkcs11_token": ""}, "nobody said which token"),
        ({"audit_pkcs11_module": None}, "nobody said which token"),
        ({"audit_pkcs11_token": "another"}, "there is none of that label"),
        ({"audit_pkcs11_module": "/nowhere/module.so"}, "its module cannot be loaded"),
        ({"audit_pkcs11_pin_file": None}, "nobody gave the PIN"),
        ({"audit_pkcs11_pin_file": "/nowhere/pin"}, "cannot be read: No such file"),
    ],
)
def test_what_is_missing_is_named(change: dict[str, object], said: str, token: SoftToken) -> None:
    made = runner(token.with_token(**change))("key", "create")
    assert (made.exit_code, said in made.output) == (2, True), made.output
    assert not log_place(token.with_token()).has_key


def test_a_pin_that_others_may_read_is_not_read(token: SoftToken, tmp_path: Path) -> None:
    (tmp_path / "pin").chmod(0o640)
    made = runner(token.with_token())("key", "create")
    assert (made.exit_code, "others may read the file of the PIN" in made.output) == (2, True)
    (tmp_path / "pin").chmod(0o600)
    for text in (b"", b" \n", b"\xff\xfe"):
        (tmp_path / "pin").write_bytes(text)
        assert "holds no PIN" in runner(token.with_token())("key", "create").output
    (tmp_path / "pin").unlink()
    os.mkfifo(tmp_path / "pin", 0o600)
    assert "others may read the file of the PIN" in runner(token.with_token())("key", "create").output


def test_a_key_that_is_there_is_named_and_one_that_is_not_there_is_said(token: SoftToken) -> None:
    settings = token.with_token()
    label = token_of(str(module()), LABEL).create(lambda: PIN)
    missing = runner(settings)("key", "create", "--signer-key", "none")
    assert (missing.exit_code, "there is no Ed25519 key 'none' in the token" in missing.output) == (2, True)
    assert runner(settings)("key", "create", "--signer-key", label).exit_code == 0
    assert held(settings).label == label


def test_the_doctor_says_whether_the_token_signs(token: SoftToken, store: Store) -> None:
    settings = token.with_token()
    assert not list(signing_key(settings)), "without a key there is nothing to say"
    log_place(settings).create(ORIGIN)
    found = list(signing_key(settings))
    assert [one.state for one in found] == [State.OK] * len(found)
    assert "is held by pkcs11" in found[0].text
    token.take_out()
    bad = next(iter(signing_key(settings)))
    assert (bad.state, "and does not sign: the token 'checkvalve tests'" in bad.text) == (State.PROBLEM, True)
    token.put_back()
    pin = token.with_token(audit_pkcs11_pin_file=None, audit_pkcs11_pin=PIN)
    assert any(
        one.state is State.WARNING and "every tool of a gateway could read it" in one.text for one in signing_key(pin)
    )


def test_the_pin_is_in_no_file_of_settings_and_in_no_output(token: SoftToken, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'audit_pkcs11_pin = "{PIN}"\n')
    with pytest.raises(SettingsError, match="audit_pkcs11_pin is a secret") as error:
        load_settings(config, {})
    assert PIN not in str(error.value)
    config.write_text(f'database_url = "sqlite:///{tmp_path}/x.db"\n')
    given = {"CHECKVALVE_AUDIT_PKCS11_PIN": PIN}
    loaded = load_settings(config, given)
    assert loaded.origins["audit_pkcs11_pin"] == "CHECKVALVE_AUDIT_PKCS11_PIN"
    assert PIN not in f"{loaded!r} {shown(loaded.settings)} {loaded.settings.model_dump_json()}"
    with pytest.raises(SettingsError, match="are both given") as error:
        load_settings(config, {**given, "CHECKVALVE_AUDIT_PKCS11_PIN_FILE": str(tmp_path / "pin")})
    assert PIN not in str(error.value)
    with pytest.raises(SettingsError, match="a signer is file, pkcs11"):
        load_settings(config, {"CHECKVALVE_AUDIT_SIGNER": "a signer"})
    log_place(token.with_token(audit_pkcs11_pin_file=None, audit_pkcs11_pin=PIN)).create(ORIGIN)


def test_the_key_file_names_the_key_and_has_no_pin(token: SoftToken) -> None:
    settings = token.with_token()
    log_place(settings).create(ORIGIN)
    text = log_place(settings).key_file().read_text()
    assert json.loads(text)["keys"][0].keys() == {"kind", "signer", "label", "public"}
    assert PIN not in text


@pytest.mark.parametrize("name", ["audit_pkcs11_module", "audit_pkcs11_pin_file"])
def test_neither_the_module_nor_the_pin_lies_where_the_agent_can_write(name: str, tmp_path: Path) -> None:
    """Whoever writes the module is in the process that signs."""
    config, folder = tmp_path / "config.toml", tmp_path / "agent"
    folder.mkdir()
    config.write_text(f'agent_workdir = "agent"\ndatabase_url = "sqlite:///x.db"\n{name} = "agent/it"\n')
    with pytest.raises(SettingsError, match=r"of the token .* lies in the agent's working folder"):
        load_settings(config, {})
    config.write_text(config.read_text().replace("agent/it", "it"))
    assert getattr(load_settings(config, {}).settings, name) == tmp_path / "it"
