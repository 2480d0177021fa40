"""Is this a person, or a program that has an identity of its own at the provider? A program never becomes a reviewer.

1. What says that it is a program is one: Entra's ``idtyp`` of an app, Auth0's ``gty`` of client credentials and its
subjects of clients, Keycloak's names of service accounts, Google's addresses of them, and a subject that is the client.
2. So is what says nothing that a person would have: no address, no name, no moment and no means of a sign-in.

Guarantees: pure; it only ever refuses, so whoever forges a claim here keeps themselves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_HUMAN: Final = (
    "email", "name", "given_name", "family_name", "preferred_username", "nickname", "phone_number", "auth_time", "amr",
)  # fmt: skip
"""Claims that come of somebody who sat there (OpenID Connect Core 1.0, 5.1 and 2; RFC 8176)."""
_CLIENTS: Final = ("azp", "client_id", "appid", "clientId", "cid")
"""Claims that name the client; ``cid`` is Okta's."""
_GRANTS: Final = frozenset({"client-credentials", "client_credentials"})
_SERVICE_NAME: Final = "service-account-"
_SERVICE_HOST: Final = ".gserviceaccount.com"


def is_machine(claims: Mapping[str, Any], client_id: str) -> bool:
    """Say whether signed claims are those of a program; ``client_id`` is ours at the issuer."""
    return _says_so(claims, client_id) or not any(claims.get(name) for name in _HUMAN)


def _says_so(claims: Mapping[str, Any], client_id: str) -> bool:
    subject, granted = str(claims.get("sub")), claims.get("gty")
    grants = granted if isinstance(granted, list) else [granted]
    return (
        str(claims.get("idtyp")).lower() == "app"
        or any(str(one).lower() in _GRANTS for one in grants)
        or subject in {client_id, *(str(claims.get(name)) for name in _CLIENTS)}
        or subject.endswith("@clients")
        or str(claims.get("preferred_username")).lower().startswith(_SERVICE_NAME)
        or str(claims.get("email")).lower().endswith(_SERVICE_HOST)
    )


__all__ = ["is_machine"]
