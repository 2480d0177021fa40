"""What the gateway may be told about an organisation's sign-in (OpenID Connect); these are settings like all others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from checkvalve.approvals.roles import Role
from checkvalve.gateway.channel_settings import ChannelSettings

OIDC_PATHS: Final = frozenset({"oidc_client_secret"})
_DOMAIN: Final = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
_LOCAL: Final = frozenset({"localhost", "127.0.0.1"})


class OidcSettings(ChannelSettings):
    """The settings of an organisation's sign-in. Without ``oidc_issuer`` there is none."""

    oidc_issuer: str = Field("", description="the issuer of your organisation's sign-in, such as https://id.example")
    oidc_client_id: str = Field("", max_length=300, description="how the issuer knows these pages")
    oidc_client_secret: Path | None = Field(None, description="the file with the secret that the issuer gave")
    oidc_name: str = Field("", max_length=60, description="what people call it, for the button; default: the issuer")
    oidc_groups_claim: str = Field("groups", max_length=100, description="the claim with somebody's groups")
    oidc_roles: str = Field(
        "", description="roles by group: gate-team=approver,responder; gate-admins=administrator. Others are refused"
    )
    oidc_domains: str = Field("", description="domains of verified addresses that may sign in: a.example; default: all")
    oidc_auto_add: bool = Field(False, description="whoever may sign in there has an account here, without invitation")

    @field_validator("oidc_issuer")
    @classmethod
    def _is_issuer(cls, value: str) -> str:
        parts = urlsplit(value)
        fine = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)
        if value and not (fine and parts.hostname and not parts.query and not parts.fragment and not parts.username):
            raise ValueError("an issuer is an https:// address without a query")
        return value.rstrip("/") if value.count("/") == 3 else value  # noqa: PLR2004  # scheme and an empty path

    @field_validator("oidc_roles")
    @classmethod
    def _are_roles(cls, value: str) -> str:
        parse_roles(value)
        return value

    @field_validator("oidc_domains")
    @classmethod
    def _are_domains(cls, value: str) -> str:
        for domain in parse_domains(value):
            if not _DOMAIN.fullmatch(domain):
                raise ValueError(f"{domain!r} is no domain; write: corp.example, other.example")
        return value


def parse_roles(text: str) -> dict[str, frozenset[Role]]:
    """Return roles by group.

    Raises:
        ValueError: the text is not of this form, or there is no such role.
    """
    found: dict[str, frozenset[Role]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        group, sign, names = part.rpartition("=")
        words = [name.strip() for name in names.split(",") if name.strip()]
        if not sign or not group.strip() or not words or not set(words) <= set(Role):
            raise ValueError(f"write GROUP=ROLE,ROLE; GROUP=ROLE with roles of: {', '.join(Role)}")
        found[group.strip()] = frozenset(Role(word) for word in words)
    return found


def parse_domains(text: str) -> frozenset[str]:
    """Return the domains of a setting."""
    return frozenset(part.strip().lower() for part in text.split(",") if part.strip())


__all__ = ["OIDC_PATHS", "OidcSettings", "parse_domains", "parse_roles"]
