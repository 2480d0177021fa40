"""Keys that are held elsewhere: a key service in this process, and a real token in software."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from checkvalve.approvals import pkcs11_tokens
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.signers import HeldKey, Holders, KeyHolder, Source
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.settings import Settings

PIN = "482913"
LABEL = "checkvalve tests"


@dataclass
class Service:
    """A key service: keys by label, whether it answers, and what it was asked."""

    keys: dict[str, Ed25519PrivateKey] = field(default_factory=dict)
    fails: Exception | None = None
    opened: list[str] = field(default_factory=list)
    signed: list[bytes] = field(default_factory=list)

    def holders(self) -> Holders:
        """Return what opens its keys, under any name of a signer."""
        return Holders(lambda _signer: Source(self.open, self.create))

    def create(self) -> str:
        """Make a key."""
        label = f"key-{len(self.keys) + 1}"
        self.keys[label] = Ed25519PrivateKey.generate()
        return label

    def open(self, label: str) -> KeyHolder:
        """Return one of its keys."""
        self.opened.append(label)
        return _Key(self, label)


@dataclass
class _Key:
    service: Service
    label: str

    def public_key(self) -> bytes:
        if self.service.fails is not None:
            raise self.service.fails
        return self.service.keys[self.label].public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        if self.service.fails is not None:
            raise self.service.fails
        self.service.signed.append(message)
        return self.service.keys[self.label].sign(message)


@cache
def module() -> Path:
    """Return the library of SoftHSM, where Debian and others have it."""
    known = ("lib/softhsm", "lib/*/softhsm", "lib64/softhsm", "lib64/pkcs11", "local/lib/softhsm")
    return next(path for folder in known for path in Path("/usr").glob(f"{folder}/libsofthsm2.so"))


@dataclass
class SoftToken:
    """A token of SoftHSM in a folder."""

    folder: Path

    @property
    def settings(self) -> dict[str, object]:
        """What a gateway is told of it, with the PIN in a file."""
        return {
            "audit_signer": "pkcs11",
            "audit_pkcs11_module": module(),
            "audit_pkcs11_token": LABEL,
            "audit_pkcs11_pin_file": self.folder / "pin",
        }

    def with_token(self, **more: object) -> Settings:
        """Return settings of a gateway over a database in this folder."""
        return Settings.model_validate(
            {"database_url": f"sqlite:///{self.folder}/checkvalve.db", **self.settings, **more}
        )

    def take_out(self) -> None:
        """Take the token away, as if its plug was pulled."""
        (self.folder / "tokens").rename(self.folder / "elsewhere")
        (self.folder / "tokens").mkdir()

    def put_back(self) -> None:
        """Put it back."""
        (self.folder / "tokens").rmdir()
        (self.folder / "elsewhere").rename(self.folder / "tokens")


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoftToken]:
    """Make a token, and let this process and its children see it alone; PKCS#11 is one state for a process."""
    (tmp_path / "tokens").mkdir()
    config = tmp_path / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(config))
    made = ["softhsm2-util", "--init-token", "--free", "--label", LABEL, "--so-pin", "73829164", "--pin", PIN]
    subprocess.run(made, check=True, capture_output=True, text=True)
    pin = tmp_path / "pin"
    pin.touch(mode=0o600)
    pin.write_text(f"{PIN}\n")
    try:
        yield SoftToken(tmp_path)
    finally:
        import pkcs11

        for one in pkcs11_tokens._TOKENS.values():
            one._close()
        pkcs11_tokens._TOKENS.clear()
        library = pkcs11.lib(str(module()))
        library.finalize()  # the next one reads the settings of another token


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/checkvalve.db") as opened:
        yield opened


def runner(settings: Settings) -> Callable[..., Any]:
    """Return what runs `checkvalve audit` with these settings."""
    app = typer.Typer()
    place = audit_app(lambda: Store.open(settings.database_url, create=False), lambda: log_place(settings))
    app.add_typer(place, name="audit")
    return lambda *args: CliRunner().invoke(app, ["audit", *map(str, args)], env={"COLUMNS": "250"})


def held(settings: Settings) -> HeldKey:
    """Return the key that is held elsewhere."""
    key = log_place(settings).load().keys[0]
    assert isinstance(key, HeldKey)
    return key


def is_signed(settings: Settings, store: Store) -> bool:
    """Say whether every event is signed; that what is signed is good holds in any case."""
    place = log_place(settings)
    report = verify(store, keys=place.public_keys(), outside=place.outside())
    assert report.ok
    return report.is_judged and "signed yet" not in " ".join(report.notes)


__all__ = ["LABEL", "PIN", "Service", "SoftToken", "held", "is_signed", "module", "runner", "store", "token"]
