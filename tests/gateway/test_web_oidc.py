"""An organisation's sign-in in Chromium: there and back across sites, with cookies that other sites cannot send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkvalve.gateway.oidc import Provider
from tests.gateway.oidc_provider import CLIENT, SECRET, issuing
from tests.gateway.review_world import reviewing
from tests.gateway.test_oidc import rules
from tests.gateway.test_web_browser import chromium, running  # noqa: F401  # a fixture
from tests.gateway.test_web_passkeys import HARMLESS, Desk

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]


def test_there_and_back_across_sites(tmp_path: Path, chromium: Any) -> None:  # noqa: F811  # that fixture
    (tmp_path / "secret").write_text(SECRET)
    with issuing() as issuer:
        options: dict[str, Any] = {"oidc_issuer": issuer.url, "oidc_client_id": CLIENT, "oidc_auto_add": True}
        options |= {"oidc_client_secret": tmp_path / "secret", "oidc_domains": "corp.example"}
        with reviewing(tmp_path, **options) as review, running(review) as port:
            desk = Desk(review, port, chromium)  # at localhost; the provider is at 127.0.0.1: another site
            found = rules(issuer, domains=frozenset({"corp.example"}), auto_add=True)
            changed = {name: getattr(found, name) for name in found.__slots__}
            back = f"{desk.origin}/review/oidc/callback"
            review.desk.door.provider = Provider(type(found)(**{**changed, "redirect": back}))
            page = desk.tab(device=False)
            page.goto(f"{desk.origin}/review/history")
            page.get_by_role("button", name="127.0.0.1").click()
            page.wait_for_url("**/review/history")
            assert "ann@corp.example" in page.locator("form.who").inner_text()
            cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
            assert "checkvalve_oidc" not in cookies
            assert {cookie["sameSite"] for cookie in cookies.values()} == {"Strict"}
            assert all(cookie["httpOnly"] for cookie in cookies.values())
            page.context.close()
            harmless = (*HARMLESS, "status of 404")  # the provider has no icon
            assert not [text for text in desk.said if not any(part in text for part in harmless)]
