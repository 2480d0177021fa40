"""What browsers send when somebody makes or uses a passkey, and its check by the package ``webauthn`` (an extra).

Guarantees: whatever is sent, the answer is a checked value or one refusal in the same words; the person has to have
been verified by their device, at the one origin of these pages.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals.errors import AccountError, CredentialError
from checkvalve.approvals.people import folded

MAX_RESPONSE: Final = 16_384
"""Characters of what a browser sends; keys and signatures take some hundred bytes."""


@dataclass(frozen=True, slots=True)
class Site:
    """The pages as WebAuthn knows them: ``id`` is the host name, ``origin`` the address with its scheme and port."""

    id: str
    origin: str


def refused() -> CredentialError:
    """Return the one refusal, which does not say what was wrong."""
    return CredentialError("the passkey was not accepted", remedy="try again, or sign in another way")


def verified(how: str, response: str, site: Site, value: bytes, **stored: Any) -> Any:
    """Return what ``webauthn`` makes of an answer.

    Raises:
        CredentialError: it is not good, whatever is wrong with it.
    """
    webauthn = webauthn_package()
    if not value or len(response) > MAX_RESPONSE:
        raise refused()
    try:
        return getattr(webauthn, how)(
            credential=response,
            expected_challenge=value,
            expected_rp_id=site.id,
            expected_origin=site.origin,
            require_user_verification=True,
            **stored,
        )
    except Exception as error:  # its own errors, and those of the parsers below it, over what anybody may send
        raise refused() from error


def _parsed(response: str) -> dict[str, Any]:
    try:
        found = json.loads(response) if len(response) <= MAX_RESPONSE else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def credential_of(response: str) -> str:
    """Return the id of the passkey that an answer names, empty where it names none."""
    try:
        return as_text(from_text(str(_parsed(response).get("rawId", ""))))
    except (ValueError, binascii.Error):
        return ""


def named_handle(response: str) -> bytes | None:
    """Return the account that the device named, None where it named none."""
    inner = _parsed(response).get("response")
    named = inner.get("userHandle") if isinstance(inner, dict) else None
    if named is None or named == "":
        return None
    try:
        return from_text(str(named))
    except (ValueError, binascii.Error):
        return b""


def handle_of(name: str) -> bytes:
    """Return what a device knows an account by: nothing that says who it is."""
    return hashlib.sha256(f"checkvalve account {folded(name)}".encode()).digest()


def from_text(text: str) -> bytes:
    """Return the bytes of base64url without padding.

    Raises:
        ValueError: it is not that.
    """
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def as_text(data: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def has_extra() -> bool:
    """Say whether passkeys can be checked here: the extra ``passkeys`` is installed."""
    try:
        webauthn_package()
    except AccountError:
        return False
    return True


def webauthn_package() -> Any:
    """Return the package.

    Raises:
        AccountError: the extra ``passkeys`` is not installed.
    """
    try:
        import webauthn  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise AccountError(
            "passkeys cannot be checked here: webauthn is not installed", remedy="pip install 'checkvalve[passkeys]'"
        ) from error
    return webauthn


__all__ = [
    "MAX_RESPONSE", "Site", "as_text", "credential_of", "from_text", "handle_of", "has_extra", "named_handle",
    "refused", "verified", "webauthn_package",
]  # fmt: skip
