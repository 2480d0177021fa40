"""From the settings to an organisation's sign-in; the secret is read from its file here, and nowhere else."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Final

from checkvalve.gateway.errors import MissingExtraError, SettingsError
from checkvalve.gateway.oidc import OidcRules, Provider
from checkvalve.gateway.oidc_settings import parse_domains, parse_roles

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

PAGES: Final = "/review"
CALLBACK: Final = f"{PAGES}/oidc/callback"
"""Where the issuer sends browsers back to; tell it ``review_origin`` with this."""
_MAX_SECRET: Final = 4_096


def origin_of(settings: Settings, port: int | None = None) -> str:
    """Return where people reach the pages: as the settings say, else this machine by name, as passkeys need it."""
    return settings.review_origin or f"http://localhost:{settings.port if port is None else port}"


def provider_of(settings: Settings, origin: str) -> Provider | None:
    """Return the sign-in that the settings name, None where they name none; ``origin`` is that of these pages.

    Raises:
        SettingsError: a part is missing, or the secret cannot be read.
        MissingExtraError: the extra ``oidc`` is not installed.
    """
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_client_id:
        raise SettingsError("oidc_issuer is set, and oidc_client_id is not", "name the client that the issuer knows")
    if settings.oidc_auto_add and not (settings.oidc_roles or settings.oidc_domains):
        raise SettingsError(
            "oidc_auto_add would let everybody in whom the issuer knows", "set oidc_roles or oidc_domains as well"
        )
    for module in ("joserfc", "httpx"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError.for_extra(module, "oidc")
    return Provider(
        OidcRules(
            settings.oidc_issuer,
            settings.oidc_client_id,
            f"{origin}{CALLBACK}",
            _secret(settings),
            settings.oidc_name,
            settings.oidc_groups_claim,
            parse_roles(settings.oidc_roles),
            parse_domains(settings.oidc_domains),
            settings.oidc_auto_add,
        )
    )


def _secret(settings: Settings) -> str:
    file = settings.oidc_client_secret
    if file is None:
        return ""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"oidc_client_secret: {file} cannot be read", "check the file and its owner") from error
    if not text or len(text) > _MAX_SECRET:
        raise SettingsError(f"oidc_client_secret: {file} holds no secret", "put the secret into it, and nothing else")
    return text


__all__ = ["CALLBACK", "PAGES", "origin_of", "provider_of"]
