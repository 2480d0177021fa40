"""What holds the keys of the audit log, as the settings name it: a token, or a signer that somebody installed.

1. ``pkcs11`` is a token, which ``audit_pkcs11_module`` and ``audit_pkcs11_token`` name. Its PIN comes from a variable
   or a file for its owner alone, is read when a session is opened, and is in no text.
2. Any other name is an entry point of the group :data:`GROUP`: a function that takes a key's label, as the key service
   knows it, and returns a :class:`~checkvalve.approvals.signers.KeyHolder`.
3. Nothing is loaded or opened before something is signed with such a key; a gateway whose log is signed elsewhere does
   neither.
"""

from __future__ import annotations

import importlib.metadata
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checkvalve.approvals.errors import SignerError
from checkvalve.approvals.pkcs11_tokens import token_of
from checkvalve.approvals.signers import Holders, KeyHolder, Source
from checkvalve.gateway.working_folder import without_working_folder

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

PKCS11: Final = "pkcs11"
"""The name of the signer that is a token."""
GROUP: Final = "checkvalve.signers"
"""The group of entry points."""
_OTHERS: Final = 0o077
_MAX_PIN: Final = 1_024  # bytes of a file; tokens take some tens


def holders_of(settings: Settings) -> Holders:
    """Return what opens the keys that are held elsewhere; nothing is opened yet."""
    return Holders(lambda signer: _of_token(settings) if signer == PKCS11 else _of_program(signer))


def _of_token(settings: Settings) -> Source:
    if settings.audit_pkcs11_module is None or not settings.audit_pkcs11_token:
        raise SignerError(
            "nobody said which token holds the key", remedy="set audit_pkcs11_module and audit_pkcs11_token"
        )
    return token_of(str(settings.audit_pkcs11_module), settings.audit_pkcs11_token).source(lambda: _pin(settings))


def _pin(settings: Settings) -> str:
    if settings.audit_pkcs11_pin is not None:
        return settings.audit_pkcs11_pin.get_secret_value()
    file = settings.audit_pkcs11_pin_file
    if file is None:
        raise SignerError(
            "nobody gave the PIN of the token", remedy="set audit_pkcs11_pin_file, or CHECKVALVE_AUDIT_PKCS11_PIN"
        )
    text = _read(file)
    if not text:
        raise SignerError(f"{file} holds no PIN", remedy="put the PIN into it, and nothing else")
    return text


def _read(file: Path) -> str:
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:  # a pipe must not hold up the log
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
                raise SignerError(f"others may read the file of the PIN {file}", remedy=f"chmod 600 {file}")
            return stream.read(_MAX_PIN).decode("utf-8").strip()
    except OSError as error:
        raise SignerError(
            f"the file of the PIN {file} cannot be read: {error.strerror}", remedy="check its owner and permissions"
        ) from error
    except UnicodeError:
        raise SignerError(f"{file} holds no PIN", remedy="put the PIN into it, and nothing else") from None


def _of_program(name: str) -> Source:
    with without_working_folder():  # what says who is installed is a file, too
        listed = [one for one in importlib.metadata.entry_points(group=GROUP) if one.name == name]
    if len(listed) != 1:
        said = "there is no" if not listed else "there are several"
        raise SignerError(f"{said} signer {name!r} installed", remedy=f"install one package with it (group {GROUP})")
    return Source(lambda label: _loaded(listed[0], label))


def _loaded(entry: importlib.metadata.EntryPoint, label: str) -> KeyHolder:
    try:
        with without_working_folder():
            program: Any = entry.load()
        holder: Any = program(label)
    except Exception as error:  # somebody else's code
        raise SignerError(
            f"the signer {entry.name!r} cannot be loaded ({type(error).__name__})", remedy="mend its package"
        ) from error
    if not callable(getattr(holder, "public_key", None)) or not callable(getattr(holder, "sign", None)):
        raise SignerError(
            f"the signer {entry.name!r} has no methods `public_key` and `sign`", remedy="follow the documented protocol"
        )
    found: KeyHolder = holder
    return found


__all__ = ["GROUP", "PKCS11", "holders_of"]
