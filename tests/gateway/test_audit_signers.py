"""A signer that somebody installed: a package with an entry point, made here, holds the key of the log."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from checkvalve.approvals.errors import SignerError
from checkvalve.approvals.store import Store
from checkvalve.gateway.doctor import State
from checkvalve.gateway.doctor_signer import signing_key
from checkvalve.gateway.log_keeper import keeper_of, log_place
from checkvalve.gateway.settings import Settings
from tests.approvals.sealed import ORIGIN, write
from tests.held_keys import held, is_signed, runner
from tests.waiting import until

pytestmark = pytest.mark.claim("C5")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
VAULT = """
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Key:
    def __init__(self, file):
        self.key = Ed25519PrivateKey.from_private_bytes(file.read_bytes())

    def public_key(self):
        return self.key.public_key().public_bytes_raw()

    def sign(self, message):
        return self.key.sign(message)


def open_key(label):
    return Key(Path(__file__).parent / label)


def open_bad(label):
    raise RuntimeError("the password of the vault is 1234")


class Short(Key):
    def public_key(self):
        return b"short"


class Wrong(Key):
    def sign(self, message):
        return b"\\0" * 64


def open_short(label):
    return Short(Path(__file__).parent / label)


def open_wrong(label):
    return Wrong(Path(__file__).parent / label)


def open_none(label):
    return None
"""
POINTS = """[checkvalve.signers]
vault = a_vault_of_ours:open_key
bad = a_vault_of_ours:open_bad
short = a_vault_of_ours:open_short
wrong = a_vault_of_ours:open_wrong
none = a_vault_of_ours:open_none
missing = a_vault_of_ours:nothing
"""


def install(folder: Path, name: str, module: str, points: str) -> Path:
    """Install a package as pip would: a module, and what says which entry points it has."""
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for number in (1, 2):
        (folder / f"key-{number}").write_bytes(bytes([number]) * 32)
    yield install(folder, "a_vault_of_ours", VAULT, POINTS)
    sys.modules.pop("a_vault_of_ours", None)


def settings(folder: Path, signer: str, **more: object) -> Settings:
    return Settings.model_validate(
        {"database_url": f"sqlite:///{folder}/checkvalve.db", "audit_signer": signer, **more}
    )


def test_a_gateway_signs_with_an_installed_signer(site: Path, tmp_path: Path) -> None:
    mine = settings(tmp_path, "vault")
    run = runner(mine)
    made = run("key", "create", "--origin", ORIGIN, "--signer-key", "key-1")
    assert (made.exit_code, "is held by vault, key key-1" in made.output) == (0, True)
    with Store.open(mine.database_url) as store:
        keeper = keeper_of(mine, store)
        assert keeper is not None
        write(store, 3)
        until(lambda: is_signed(mine, store))
        keeper.stop()
    assert run("key", "rotate", "--signer-key", "key-2").exit_code == 0
    assert (held(mine).label, run("verify").exit_code) == ("key-2", 0)
    assert [one.state for one in signing_key(mine)] == [State.OK] * len(list(signing_key(mine)))


@pytest.mark.parametrize(
    ("signer", "said"),
    [
        ("vault", "the signer vault makes no keys (make one with its tools, and name it: --signer-key KEY)"),
        ("nobody", "there is no signer 'nobody' installed"),
    ],
)
def test_a_service_is_told_which_key_it_is(signer: str, said: str, site: Path, tmp_path: Path) -> None:
    made = runner(settings(tmp_path, signer))("key", "create")
    assert (made.exit_code, said in made.output) == (2, True), made.output


@pytest.mark.parametrize(
    ("signer", "said"),
    [
        ("nobody", "there is no signer 'nobody' installed"),
        ("bad", "the signer 'bad' cannot be loaded (RuntimeError)"),
        ("missing", "the signer 'missing' cannot be loaded (AttributeError)"),
        ("none", "the signer 'none' has no methods"),
        ("short", "gives no Ed25519 public key for 'key-1'"),
    ],
)
def test_a_signer_that_cannot_be_used_is_named_and_its_text_is_not_shown(
    signer: str, said: str, site: Path, tmp_path: Path
) -> None:
    made = runner(settings(tmp_path, signer))("key", "create", "--signer-key", "key-1")
    assert (made.exit_code, said in made.output, "1234" in made.output) == (2, True, False), made.output
    assert not log_place(settings(tmp_path, signer)).has_key


@pytest.mark.parametrize("given", ["None", "'x' * 64", "64", "-1", "[1, 2]", "[300] * 64", "10**15"])
def test_what_is_no_bytes_is_an_error_of_the_signer_and_nothing_else(given: str, site: Path, tmp_path: Path) -> None:
    """Else a doctor ends with a trace of Python, and a large number takes all the memory there is."""
    module = VAULT + f"\n\nclass Strange(Key):\n    def sign(self, message):\n        return {given}\n"
    module += f"\n\nclass NoKey(Key):\n    def public_key(self):\n        return {given}\n"
    made = "lambda label: {0}(Path(__file__).parent / label)"
    module += f"\n\nstrange, no_key = {made.format('Strange')}, {made.format('NoKey')}\n"
    points = "[checkvalve.signers]\nstrange = a_strange_vault:strange\nno_key = a_strange_vault:no_key\n"
    install(site, "a_strange_vault", module, points)
    try:
        with pytest.raises(SignerError, match="where bytes have to be"):
            log_place(settings(tmp_path, "no_key")).create(ORIGIN, "key-1")
        mine = settings(tmp_path, "strange")
        log_place(mine).create(ORIGIN, "key-1")
        first = next(iter(signing_key(mine)))
        assert (first.state, "where bytes have to be" in first.text) == (State.PROBLEM, True)
    finally:
        sys.modules.pop("a_strange_vault", None)


def test_two_packages_with_one_name_are_refused(site: Path, tmp_path: Path) -> None:
    install(site, "another_vault", "", "[checkvalve.signers]\nvault = another_vault:open_key\n")
    made = runner(settings(tmp_path, "vault"))("key", "create", "--signer-key", "key-1")
    assert "there are several signer 'vault' installed" in made.output


def test_a_signer_that_signs_wrong_gets_nothing_into_the_log(site: Path, tmp_path: Path) -> None:
    mine = settings(tmp_path, "wrong")
    place = log_place(mine)
    place.create(ORIGIN, "key-1")
    with Store.open(mine.database_url) as store:
        write(store, 1)
        with pytest.raises(SignerError, match="the signer wrong, key 'key-1', gave a signature that is not of the key"):
            place.sealer(store).seal()
    assert not place.signed_file.exists()
    first = next(iter(signing_key(mine)))
    assert (first.state, "and does not sign" in first.text) == (State.PROBLEM, True)


def test_no_signer_comes_from_the_working_folder(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent may be able to write there."""
    monkeypatch.chdir(site)
    made = runner(settings(tmp_path, "vault"))("key", "create", "--signer-key", "key-1")
    assert "there is no signer 'vault' installed" in made.output


def test_no_file_of_the_working_folder_says_who_is_installed(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no code there: it could name any function of an installed package, or a second signer of a name."""
    agent = tmp_path / "agent"
    agent.mkdir()
    points = "[checkvalve.signers]\nvault = a_vault_of_ours:open_wrong\nshell = subprocess:getoutput\n"
    install(agent, "put_here", "", points)
    monkeypatch.syspath_prepend("")
    monkeypatch.chdir(agent)
    shell = runner(settings(tmp_path, "shell"))("key", "create", "--signer-key", f"touch {tmp_path}/ran")
    assert "there is no signer 'shell' installed" in shell.output
    assert not (tmp_path / "ran").exists()
    assert runner(settings(tmp_path, "vault"))("key", "create", "--signer-key", "key-1").exit_code == 0


class Kms:
    """What stands for AWS: it takes what the real client's model knows, and signs."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        client = boto3.session.Session().client(
            "kms", region_name="eu-west-1", aws_access_key_id="none", aws_secret_access_key="none"
        )
        self.model = client.meta.service_model

    def get_public_key(self, **given: Any) -> dict[str, bytes]:
        assert set(given) == set(self.model.operation_model("GetPublicKey").input_shape.required_members)
        return {"PublicKey": self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)}

    def sign(self, **given: Any) -> dict[str, bytes]:
        shape = self.model.operation_model("Sign").input_shape
        assert set(shape.required_members) <= set(given) <= set(shape.members)
        for name in ("SigningAlgorithm", "MessageType"):
            assert given[name] in shape.members[name].enum
        return {"Signature": self.key.sign(given["Message"])}


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_the_example_of_the_page_signs_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class KmsKey" in block]
    points = re.findall(r"^# (\[project\.entry-points\.\"checkvalve\.signers\"\]|aws = .*)$", code, re.MULTILINE)
    assert points == ['[project.entry-points."checkvalve.signers"]', 'aws = "my_kms:open_key"']
    kms = Kms()
    client: Callable[..., Any] = lambda name: kms if name == "kms" else None  # noqa: E731
    monkeypatch.setattr(boto3, "client", client)
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "my_kms", code, "[checkvalve.signers]\naws = my_kms:open_key\n")
    mine = settings(tmp_path, "aws")
    place = log_place(mine)
    place.create(ORIGIN, "alias/checkvalve-log")
    with Store.open(mine.database_url) as store:
        write(store, 2)
        assert place.sealer(store).seal().added == 2
        assert is_signed(mine, store)
    sys.modules.pop("my_kms")
