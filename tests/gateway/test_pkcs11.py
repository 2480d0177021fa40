"""The log's key in a real token (SoftHSM2, over PKCS#11): made, used, lost and found again, replaced, verified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkvalve.approvals import audit
from checkvalve.approvals.errors import SignerError
from checkvalve.approvals.signers import HeldKey
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.doctor_signer import signing_key
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.log_keeper import LogKeeper, keeper_of, log_place
from tests.approvals.made import fill
from tests.approvals.sealed import ORIGIN, write
from tests.held_keys import LABEL, PIN, SoftToken, held, is_signed, module, runner, store, token
from tests.waiting import until

__all__ = ["store", "token"]  # the fixtures
pytestmark = [pytest.mark.softhsm, pytest.mark.claim("C5")]


def test_a_gateway_signs_with_a_key_of_the_token_and_it_verifies_offline(
    token: SoftToken, store: Store, tmp_path: Path
) -> None:
    settings = token.with_token(audit_anchors=f"file:{tmp_path}/anchor")
    run = runner(settings)
    made = run("key", "create", "--origin", ORIGIN)
    label = held(settings).label
    assert (made.exit_code, f"is held by pkcs11, key {label}; what signs has to reach it" in made.output) == (0, True)
    fill(store)
    keeper = keeper_of(settings, store)
    assert keeper is not None
    write(store, 3)
    until(lambda: is_signed(settings, store))
    keeper.stop()
    assert is_signed(settings, store)
    (tmp_path / "log.pub").write_text(run("key", "public").output)
    assert run("export", tmp_path / "log.jsonl").exit_code == 0
    token.take_out()
    offline = (
        "verify",
        "--bundle",
        tmp_path / "log.jsonl",
        "--key",
        tmp_path / "log.pub",
        "--anchor",
        tmp_path / "anchor",
    )
    good = run(*offline)
    assert (good.exit_code, "compared with: " in good.output) == (0, True), "no token is needed to verify"
    token.put_back()
    bad = tmp_path / "log.jsonl"
    bad.write_text(bad.read_text().replace('"n":1', '"n":7').replace('\\"n\\":1', '\\"n\\":7'))
    assert run(*offline).exit_code == 1


def test_a_token_that_was_taken_out_stops_the_signing_and_nothing_else(
    token: SoftToken, store: Store, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The queue goes on; the log is signed again when the token is back, by the same process."""
    settings = token.with_token()
    place = log_place(settings)
    place.create(ORIGIN)
    keeper = LogKeeper(store, place.sealer(store), every=0.02)
    keeper.start()
    write(store, 1)
    until(lambda: is_signed(settings, store))
    token.take_out()
    write(store, 2)
    said = list[str]()

    def is_said() -> bool:
        said.append(capsys.readouterr().err)
        return "the audit log cannot be signed now" in "".join(said)

    until(is_said)
    assert fill(store).queue.list(), "calls are proposed, approved and run meanwhile"
    assert not is_signed(settings, store)
    token.put_back()
    until(lambda: is_signed(settings, store))
    keeper.stop()
    said.append(capsys.readouterr().err)
    assert "".join(said).count("the audit log cannot be signed now") == 1, "what lasts is said once"
    assert PIN not in "".join(said) + caplog.text


def test_a_lost_session_is_opened_again_in_the_next_round(token: SoftToken, store: Store) -> None:
    settings = token.with_token()
    place = log_place(settings)
    place.create(ORIGIN)
    write(store, 1)
    sealer = place.sealer(store)
    sealer.seal()
    import pkcs11

    pkcs11.lib(str(module())).reinitialize()  # what a restart of the module's server does to every session
    write(store, 1)
    with pytest.raises(SignerError, match="the token 'checkvalve tests' does not sign: it answers"):
        sealer.seal()
    assert sealer.seal().added == 1
    assert is_signed(settings, store)


def test_keys_go_from_the_file_to_the_token_and_on_and_back(token: SoftToken, store: Store, tmp_path: Path) -> None:
    """Three changes with the command; verifiers of the first key follow all of them."""
    filed, kept = token.with_token(audit_signer="file"), token.with_token()
    assert runner(filed)("key", "create", "--origin", ORIGIN).exit_code == 0
    (tmp_path / "old.pub").write_text(runner(filed)("key", "public").output)
    write(store, 2)
    assert runner(filed)("seal").exit_code == 0
    labels = []
    for settings in (kept, kept, filed):
        done = runner(settings)("key", "rotate")
        assert done.exit_code == 0, done.output
        key = log_place(settings).load().keys[0]
        labels.append(key.label if isinstance(key, HeldKey) else "")
        write(store, 1)
        assert runner(settings)("seal").exit_code == 0
        for args in ((), ("--key", tmp_path / "old.pub")):
            assert runner(settings)("verify", *args).exit_code == 0
    assert (len(set(labels)), labels[2]) == (3, "")


def test_a_stolen_log_is_closed_and_goes_on_with_a_key_of_the_token(
    token: SoftToken, store: Store, tmp_path: Path
) -> None:
    runner(token.with_token(audit_signer="file"))("key", "create", "--origin", ORIGIN)
    (tmp_path / "token").write_text(fill(store).token)
    run = runner(token.with_token())
    assert run("seal").exit_code == 0
    before = log_place(token.with_token()).key_file().read_text()
    token.take_out()
    refused = run("restart", "--note", "the key lay in a backup", "--token-file", tmp_path / "token")
    assert (refused.exit_code, "the token 'checkvalve tests' does not sign" in refused.output) == (2, True)
    assert log_place(token.with_token()).key_file().read_text() == before, "nothing was closed"
    token.put_back()
    done = run("restart", "--note", "the key lay in a backup", "--token-file", tmp_path / "token")
    assert (done.exit_code, held(token.with_token()).signer) == (0, "pkcs11"), done.output
    assert run("verify").exit_code == 0
    label = held(token.with_token()).label
    again = run("restart", "--note", "again", "--signer-key", label, "--token-file", tmp_path / "token")
    assert (again.exit_code, "that key signed the log that is being closed" in again.output) == (2, True)


def test_a_gateway_whose_log_is_signed_elsewhere_opens_no_token(token: SoftToken, store: Store) -> None:
    """The signer is another process, with the PIN; the gateway has neither PIN nor key file."""
    signing = token.with_token()
    log_place(signing).create(ORIGIN)
    key = log_place(signing).key_file()
    away = key.rename(key.with_name("elsewhere.json"))
    gateway = token.with_token(audit_sealer="apart", audit_pkcs11_pin_file=None)
    keeper = keeper_of(gateway, store)
    assert keeper is not None
    write(store, 3)
    assert verify(store, keys=log_place(gateway).public_keys()).signed is None
    assert [one.text for one in signing_key(gateway)] == ["another process signs: nothing was opened here"]
    with pytest.raises(SettingsError, match="this one was given the PIN of its token"):
        keeper_of(
            gateway.model_copy(
                update={
                    "audit_pkcs11_pin": token.with_token(
                        audit_pkcs11_pin_file=None, audit_pkcs11_pin=PIN
                    ).audit_pkcs11_pin
                }
            ),
            store,
        )
    away.rename(key)
    log_place(signing).sealer(store).seal()
    assert is_signed(gateway, store)
    keeper.stop()


def test_a_process_of_its_own_signs_and_is_stopped(token: SoftToken, store: Store, tmp_path: Path) -> None:
    """`checkvalve audit seal --watch`, with the PIN in its environment alone."""
    (tmp_path / "config.toml").write_text(
        f'database_url = "sqlite:///{tmp_path}/checkvalve.db"\naudit_sealer = "apart"\naudit_signer = "pkcs11"\n'
        f'audit_pkcs11_module = "{module()}"\naudit_pkcs11_token = "{LABEL}"\n'
    )
    env = {**os.environ, "CHECKVALVE_CONFIG": str(tmp_path / "config.toml"), "CHECKVALVE_AUDIT_PKCS11_PIN": PIN}
    command = [sys.executable, "-P", "-m", "checkvalve.gateway", "audit"]
    log_place(token.with_token()).create(ORIGIN)
    process = subprocess.Popen(
        [*command, "seal", "--watch"], env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        settings = token.with_token(audit_sealer="apart")
        until(log_place(settings).signed_file.exists)
        write(store, 3)
        until(lambda: is_signed(settings, store))
        token.take_out()
        write(store, 1)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, b"")
        assert any(b"not signed: the token" in line for line in lines)
        token.put_back()
        assert any(b"the log is signed again" in line for line in lines)
        assert is_signed(settings, store)
        process.terminate()
        rest = b"".join(lines)
        assert (process.wait(60), PIN.encode() in rest) == (0, False)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    with store.read() as connection:
        assert [event.kind for event in audit.read_events(connection)][-1] == "log.stopped"
    assert is_signed(settings, store)
