"""A program with its own identity at the provider becomes no reviewer; people do, whatever their provider says."""

from __future__ import annotations

from typing import Any

import pytest

from checkvalve.gateway.oidc_machines import is_machine

CLIENT = "gate"
PERSON: dict[str, Any] = {"sub": "u-17", "azp": CLIENT, "aud": CLIENT, "email": "ann@corp.example"}
MACHINES: dict[str, dict[str, Any]] = {
    "an app of Entra": {**PERSON, "idtyp": "app"},
    "client credentials of Auth0": {"sub": "abc@clients", "azp": "abc", "gty": "client-credentials"},
    "client credentials among others": {**PERSON, "gty": ["password", "client_credentials"]},
    "a client of Auth0 by its subject": {**PERSON, "sub": "abc@clients"},
    "a service account of Keycloak": {"sub": "u-9", "preferred_username": "service-account-ci", "azp": CLIENT},
    "a service account of Google": {"sub": "u-9", "email": "ci@project.iam.gserviceaccount.com"},
    "a subject that is the client": {"sub": "ci", "client_id": "ci", "name": "CI"},
    "a service app of Okta": {"sub": "0oa1", "cid": "0oa1", "name": "CI"},
    "a subject that is our client": {**PERSON, "sub": CLIENT},
    "our client where no claim names it": {"sub": CLIENT, "name": "CI"},
    "nothing that a person would have": {"sub": "u-9", "azp": CLIENT, "aud": CLIENT},
    "empty claims": {"sub": "u-9", "email": "", "name": None, "amr": []},
}
PEOPLE: dict[str, dict[str, Any]] = {
    "with an address": PERSON,
    "with a name alone": {"sub": "u-17", "name": "Ann"},
    "with the moment of a sign-in": {"sub": "u-17", "auth_time": 1_800_000_000},
    "with the means of a sign-in": {"sub": "u-17", "amr": ["pwd", "otp"]},
    "whom Entra calls a user": {**PERSON, "idtyp": "user"},
    "whose name looks alike": {**PERSON, "preferred_username": "my-service-account"},
}


@pytest.mark.claim("C4")
@pytest.mark.parametrize("kind", MACHINES)
def test_a_program_is_known(kind: str) -> None:
    assert is_machine(MACHINES[kind], CLIENT)


@pytest.mark.parametrize("kind", PEOPLE)
def test_a_person_is_none(kind: str) -> None:
    assert not is_machine(PEOPLE[kind], CLIENT)
