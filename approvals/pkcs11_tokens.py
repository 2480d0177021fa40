"""Keys in a token: a hardware security module, a smart card, or anything else that speaks PKCS#11.

1. A key is Ed25519 (``CKM_EDDSA`` of PKCS#11 3.0); its private half is made in the token, and does not leave it.
2. A session is opened when something is signed, with a PIN that is read then. Several keys of one token share it.
3. After an error the session is given up, and the next signature begins anew: the module is started again, so a token
   that was taken out and put back, or a network HSM that was restarted, is found.
4. A PIN that was refused is not tried again until it is another one: a token locks itself after a few.

PKCS#11 is one state for a whole process, so this module keeps one :class:`Token` for each token of a module; starting a
module again also ends sessions that other code of the process has with it. The package ``python-pkcs11`` is an extra.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from checkvalve.approvals.errors import SignerError
from checkvalve.approvals.signers import Source

_OID: Final = bytes.fromhex("06032b6570")  # id-Ed25519, RFC 8410
_WRAPPED: Final = b"\x04\x20"  # an OCTET STRING of 32 bytes: how most modules give a point
_SIZE: Final = 32
_ID: Final = 16  # bytes of the id that ties the two halves of a key

Pin = Callable[[], str]
"""Reads the PIN now. It raises :class:`SignerError` where it cannot."""


class Token:
    """One token of one module. Safe to use from several threads."""

    def __init__(self, module: str, label: str) -> None:
        """``module`` is the path of the vendor's library; nothing is opened yet."""
        self._module, self._label = module, label
        self._session: Any = None
        self._keys: dict[tuple[Any, str], Any] = {}  # of this session: looking for one takes longer than signing
        self._failed = False
        self._refused = ""  # the PIN that the token did not take

    def source(self, pin: Pin) -> Source:
        """Return this token as a way to hold keys."""
        return Source(lambda label: TokenKey(self, label, pin), lambda: self.create(pin))

    def create(self, pin: Pin) -> str:
        """Make a key in the token, and return its label.

        Raises:
            SignerError: the token cannot be reached, or does not make one.
        """
        label = f"checkvalve-{secrets.token_hex(4)}"
        with _LOCK:
            self._close()
            self.run(pin, lambda session: _generate(session, label), writing=True)
            self._close()
        return label

    def run(self, pin: Pin, ask: Callable[[Any], bytes], *, writing: bool = False) -> bytes:
        """Ask for something in the session, which is opened where there is none.

        Raises:
            SignerError: it cannot be had; the session is given up.
        """
        pkcs11 = _package()
        with _LOCK:
            try:
                if self._session is None:
                    self._session = self._opened(pkcs11, pin, writing=writing)
                return ask(self._session)
            except SignerError:
                self._fail()
                raise
            except pkcs11.exceptions.PKCS11Error as error:
                self._fail()
                why = type(error).__name__
                raise SignerError(
                    f"the token {self._label!r} does not sign: {_WORDS.get(why, 'it answers ' + why)}",
                    remedy="look at the token and its module; it is asked again at the next checkpoint",
                ) from None  # what was given must not show

    def _opened(self, pkcs11: Any, pin: Pin, *, writing: bool) -> Any:
        given = pin()
        if given == self._refused:
            raise SignerError(
                f"the token {self._label!r} refused the PIN, which is not tried again: it would lock itself",
                remedy="give the right PIN, and start again what signs",
            )
        library = pkcs11.lib(self._module)
        if self._failed:
            _start_again(library, self._module)
            self._failed = False
        token = library.get_token(token_label=self._label)
        try:
            return token.open(user_pin=given, rw=writing)
        except (pkcs11.exceptions.PinIncorrect, pkcs11.exceptions.PinInvalid, pkcs11.exceptions.PinLenRange):
            self._refused = given
            raise

    def key(self, session: Any, kind: Any, label: str) -> Any:
        """Return one half of a key, while the session is used.

        Raises:
            SignerError: there is none, or there are several.
        """
        pkcs11 = _package()
        if (found := self._keys.get((kind, label))) is not None:
            return found
        try:
            found = session.get_key(object_class=kind, key_type=pkcs11.KeyType.EC_EDWARDS, label=label)
        except pkcs11.exceptions.NoSuchKey:
            said = "there is no Ed25519 key"
        except pkcs11.exceptions.MultipleObjectsReturned:
            said = "there are several keys"
        else:
            self._keys[kind, label] = found
            return found
        raise SignerError(
            f"{said} {label!r} in the token {self._label!r}",
            remedy="look what is there with the tools of the token; both halves of a key have the same label",
        )

    def _fail(self) -> None:
        self._close()
        self._failed = True

    def _close(self) -> None:
        session = self._session
        self.forget()
        if session is not None:
            with suppress(Exception):  # it may be gone already
                session.close()

    def forget(self) -> None:
        """Drop a session that the module has ended, or that is being closed."""
        self._session = None
        self._keys.clear()


class TokenKey:
    """One key of a token, as :class:`~checkvalve.approvals.signers.KeyHolder`."""

    def __init__(self, token: Token, label: str, pin: Pin) -> None:
        """Nothing is opened yet."""
        self._token, self._label, self._pin = token, label, pin

    def public_key(self) -> bytes:
        """Return the public half, 32 bytes."""
        pkcs11 = _package()

        def read(session: Any) -> bytes:
            kind = pkcs11.ObjectClass.PUBLIC_KEY
            return bytes(self._token.key(session, kind, self._label)[pkcs11.Attribute.EC_POINT])

        found = self._token.run(self._pin, read)
        return found.removeprefix(_WRAPPED) if len(found) == len(_WRAPPED) + _SIZE else found

    def sign(self, message: bytes) -> bytes:
        """Return the signature over ``message``, 64 bytes."""
        pkcs11 = _package()

        def sign(session: Any) -> bytes:
            key = self._token.key(session, pkcs11.ObjectClass.PRIVATE_KEY, self._label)
            return bytes(key.sign(message, mechanism=pkcs11.Mechanism.EDDSA))

        return self._token.run(self._pin, sign)


_LOCK: Final = threading.RLock()
_TOKENS: Final[dict[tuple[str, str], Token]] = {}
_WORDS: Final = {
    "PKCS11Error": "its module cannot be loaded",
    "NoSuchToken": "there is none of that label",
    "MultipleTokensReturned": "there are several of that label",
    "PinIncorrect": "the PIN is wrong, and is not tried again",
    "PinInvalid": "the PIN is wrong, and is not tried again",
    "PinLenRange": "the PIN is too short or too long, and is not tried again",
    "PinLocked": "it has locked itself after wrong PINs",
    "MechanismInvalid": "it has no Ed25519 (CKM_EDDSA)",
}


def token_of(module: str, label: str) -> Token:
    """Return the token of this process with that label."""
    with _LOCK:
        return _TOKENS.setdefault((module, label), Token(module, label))


def _start_again(library: Any, module: str) -> None:
    for (one, _), token in _TOKENS.items():
        if one == module:
            token.forget()
    library.reinitialize()


def _generate(session: Any, label: str) -> bytes:
    pkcs11 = _package()
    given = {pkcs11.Attribute.EC_PARAMS: _OID}
    parameters = session.create_domain_parameters(pkcs11.KeyType.EC_EDWARDS, given, local=True)
    private = {
        pkcs11.Attribute.SENSITIVE: True,
        pkcs11.Attribute.EXTRACTABLE: False,
        pkcs11.Attribute.PRIVATE: True,
    }
    parameters.generate_keypair(
        mechanism=pkcs11.Mechanism.EC_EDWARDS_KEY_PAIR_GEN,
        store=True,
        label=label,
        id=secrets.token_bytes(_ID),
        capabilities=pkcs11.MechanismFlag.SIGN | pkcs11.MechanismFlag.VERIFY,
        private_template=private,
    )
    return label.encode()


def _package() -> Any:
    try:
        import pkcs11  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise SignerError("this Python has no package for tokens", remedy="pip install 'checkvalve[pkcs11]'") from error
    return pkcs11


__all__ = ["Pin", "Token", "TokenKey", "token_of"]
