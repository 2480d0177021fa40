"""Attack: read a password where somebody looks who should not have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from checkvalve.approvals.addresses import has_password, shown_address
from checkvalve.gateway.doctor_agent import is_secret
from checkvalve.gateway.settings import Settings, shown

pytestmark = pytest.mark.claim("C5")

PLACES = [
    "postgresql+psycopg://u:tops3cret@h/db",
    "postgresql+psycopg://u@h/db?password=tops3cret",
    "postgresql+psycopg:///db?host=h&user=u&PASSWORD=tops3cret&sslmode=require",
    "postgresql+psycopg://u@h/db?sslkey=k.pem&sslpassword=tops3cret",
    "postgresql+psycopg://u@h/db?password=a&password=tops3cret",
]


@pytest.mark.parametrize("url", PLACES)
def test_a_password_of_the_database_is_shown_nowhere(url: str, tmp_path: Path) -> None:
    settings = Settings(database_url=url)
    assert "tops3cret" not in json.dumps(shown(settings))
    assert "tops3cret" not in shown_address(make_url(url))
    assert is_secret("settings file", tmp_path / "checkvalve.toml", settings), "others must not read that file"


@pytest.mark.parametrize("url", ["sqlite:///gate.db", "postgresql+psycopg://u@h/db?sslmode=require"])
def test_harmless_twin_an_address_without_one_is_shown_as_it_is(url: str) -> None:
    assert shown_address(make_url(url)) == url
    assert not has_password(make_url(url))
