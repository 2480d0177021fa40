"""What the gateway may be told about the adoption of its rules; this is a setting like all others."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from checkvalve.gateway.people_settings import PeopleSettings


class AdoptionSettings(PeopleSettings):
    """The setting that says whether rules have to be adopted before anything runs."""

    require_adoption: bool = Field(
        False, description="nothing runs before people adopted the rules; where some were adopted, these count anyway"
    )


SIGN_IN: Final = (
    "oidc_auto_add", "oidc_client_id", "oidc_domains", "oidc_groups_claim", "oidc_issuer", "oidc_roles",
)  # fmt: skip
"""Settings that decide who somebody is who comes from an organisation's sign-in, and what that person may do."""
DECIDING: Final = (
    *SIGN_IN,
    "agent_owner", "bits_per_source", "break_glass", "break_glass_open", "decide_within", "endorsed_for",
    "execute_within", "inbound_detectors", "inbound_filter", "inbound_keys", "inbound_keys_of", "inbound_max_tokens",
    "inbound_seconds", "inbound_tokens", "inbound_withhold", "max_asks", "max_calls", "max_questions", "max_turns",
    "mode", "on_new_message", "outbound_hosts", "outbound_images", "outbound_links", "outbound_mask", "profile",
    "require_adoption", "review_budget", "review_idle", "review_session", "sandbox", "sandbox_disk",
    "sandbox_memory", "sandbox_output", "sandbox_processes", "sandbox_reads", "sandbox_seconds", "single_user",
    "standing_rules",
)  # fmt: skip
"""Settings that decide what runs, and who has to agree. Places, addresses and how things look are none of these."""
CONTENT: Final = "outbound_values"
"""The setting whose file decides: its path is a place, and what stands in it is adopted."""

__all__ = ["CONTENT", "DECIDING", "SIGN_IN", "AdoptionSettings"]
