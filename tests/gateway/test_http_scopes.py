"""Who may ask the HTTP API at all: every address names a credential, a client's token has scopes and an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from checkvalve.gateway import http_access, http_api, http_callers
from checkvalve.gateway.errors import TokenError
from checkvalve.gateway.http_tokens import MAX_DAYS, ApiTokens
from tests.gateway.review_world import FAST

pytestmark = pytest.mark.claim("C4")

FREE = {"/healthz"}
SIGNED = {"/channels/teams/{name}"}
"""Takes a signature over what was sent instead of a credential: tests/attacks/test_teams.py."""
KNOWN = {http_access._client, http_callers._caller}


def routers() -> Iterator[APIRouter]:
    modules = [value for name, value in vars(http_api).items() if name.startswith("http_")]
    yield http_api.router
    yield from (found for module in modules if isinstance(found := getattr(module, "router", None), APIRouter))


def asked(dependant: Dependant) -> Iterator[Any]:
    for one in dependant.dependencies:
        yield one.call
        yield from asked(one)


def test_every_address_asks_who_it_is() -> None:
    routes = [route for router in routers() for route in router.routes if isinstance(route, APIRoute)]
    assert len(routes) > 20
    open_ = {route.path for route in routes if not KNOWN & set(asked(route.dependant))}
    assert open_ == FREE | SIGNED


def test_a_token_ends_with_its_day(tmp_path: Path) -> None:
    tokens = ApiTokens(tmp_path / "tokens.json", FAST)
    short, long = tokens.add("ann", days=2), tokens.add("ann")
    client = tokens.authenticate(short)
    assert client.until > 0
    assert tokens.holds(client)
    start = tokens.clock()
    tokens.clock = lambda: start + 2 * 86_400 + 1
    with pytest.raises(TokenError, match="not accepted"):
        tokens.authenticate(short)  # also when it is remembered
    assert not tokens.holds(client)
    assert tokens.authenticate(long).until == 0
    for days in (-1, MAX_DAYS + 1):
        with pytest.raises(TokenError, match="days"):
            tokens.add("ann", days=days)


def test_a_file_of_an_older_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    token = ApiTokens(file, FAST).add("ann")
    file.write_text(file.read_text().replace(',\n   "until": 0', ""))
    assert "until" not in file.read_text()
    assert ApiTokens(file, FAST).authenticate(token).until == 0
