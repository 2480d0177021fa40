"""Every setting either is adopted by two people, or has a reason here why it decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from checkvalve.approvals.errors import NotAdoptedError
from checkvalve.approvals.records import State
from checkvalve.approvals.rulesets import RuleText
from checkvalve.gateway.adoption_settings import CONTENT, DECIDING
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.http_deciding import refused
from checkvalve.gateway.rulefiles import deciding_settings
from checkvalve.gateway.settings import Settings
from tests.gateway.review_world import reviewing
from tests.gateway.teams_world import room

PART = "its file is a part of its own"
PLACE = "a place: what is there decides nothing, or is compared in another way"
KEY = "a key or a credential: whoever has another one is let in nowhere"
SHOWN = "how something looks, or whether it is served at all"
LOG = "how the record is signed and watched: it changes no verdict"
CODE = "code, which is not adopted"
WAITS = "how long or how often something waits; no yes comes of it"
NOT_DECIDING = {
    "manifest": PART,
    "policy": PART,
    "review_rules": PART,
    "database_url": PLACE,
    "checkpoint_url": PLACE,
    "tenant": PLACE,
    "agent_workdir": PLACE,
    "sandbox_work": PLACE,
    "host": PLACE,
    "port": PLACE,
    "review_origin": PLACE,
    "channels": PLACE,
    "oncall": "whom to tell: who is on call gets no right by it",
    "agent_user": "it is for the doctor, who only tells",
    "api_tokens": KEY,
    "oidc_client_secret": KEY,
    "audit_key": KEY,
    "audit_signed": LOG,
    "audit_sealer": LOG,
    "audit_signer": LOG,
    "audit_pkcs11_module": LOG,
    "audit_pkcs11_token": LOG,
    "audit_pkcs11_pin": KEY,
    "audit_pkcs11_pin_file": KEY,
    "audit_anchors": LOG,
    "audit_policy": LOG,
    "audit_heartbeat_seconds": LOG,
    "log_format": SHOWN,
    "log_level": SHOWN,
    "oidc_name": SHOWN,
    "review_pages": SHOWN,
    "seeded_items": "made-up questions, which are no calls",
    "tools": CODE,
    "reader": CODE,
    "actor": CODE,
    "wait_for_review": WAITS,
    "max_runs": WAITS,
}
RANDOM = "0f1e2d3c4b5a69788796a5b4c3d2e1aa"


@pytest.mark.claim("C4")
def test_no_setting_is_forgotten() -> None:
    """A new setting has to be named in one of the two; where it weakens a decision or a filter, it is adopted."""
    adopted = {*DECIDING, CONTENT}
    assert adopted.isdisjoint(NOT_DECIDING)
    assert adopted | set(NOT_DECIDING) == set(Settings.model_fields)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", DECIDING)
def test_each_of_them_is_in_what_people_adopt_where_it_is_not_at_its_default(name: str) -> None:
    default = Settings.model_fields[name].default
    other = Settings().model_copy(update={name: "other" if isinstance(default, str) else not default})
    assert deciding_settings(Settings()).text == ""
    assert deciding_settings(other).text.startswith(f"{name} = ")


@pytest.mark.claim("C8")
@pytest.mark.parametrize("seconds", [1e-9, 0.0, 0.049])
def test_no_scan_is_left_too_little_time_to_find_anything(seconds: float) -> None:
    with pytest.raises(ValidationError, match="inbound_seconds"):
        Settings(inbound_seconds=seconds)
    assert deciding_settings(Settings(inbound_seconds=0.05)).text == "inbound_seconds = 0.05\n"


def listed(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    return deciding_settings(Settings(outbound_values=file)).text


@pytest.mark.claim("C8")
def test_values_that_never_leave_are_adopted_by_their_number_and_under_a_key_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "values.txt"
    assert listed(file, "first-value-1\ncanary: words-2-see\n") == 'outbound_values = "values: 1, canaries: 1"\n'
    assert listed(file, "") == 'outbound_values = "values: 0, canaries: 0"\n'
    keyed = [
        listed(file, f"# key: {RANDOM}\nfirst-value-1\n"),
        listed(file, f"# key: {RANDOM}\nother-value-1\n"),
        listed(file, f"# key: {RANDOM[::-1]}\nfirst-value-1\n"),
        listed(file, "first-value-1\n"),
    ]
    assert len(set(keyed)) == 4
    assert all(text.startswith('outbound_values = "values: 1, canaries: 0, hmac-sha256:') for text in keyed[:3])
    assert not any(word in text for text in keyed for word in (RANDOM, "value-1", str(tmp_path)))


@pytest.mark.parametrize("key", ["", "short", "0" * 64, "0123456789abcdef", RANDOM + "x", f"{RANDOM}\n# key: {RANDOM}"])
def test_a_key_that_could_be_guessed_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match="no random number") as error:
        listed(tmp_path / "values.txt", f"# key: {key}\nfirst-value-1\n")
    assert "first-value" not in str(error.value)


@pytest.mark.claim("C4")
def test_pages_take_no_yes_under_other_settings_and_say_so_and_take_a_no(tmp_path: Path) -> None:
    with reviewing(tmp_path) as review:
        row = review.poisoned()
        page = review.card(row)
        review.gateway.queue.adopted.required = True  # nothing was adopted, and now that is asked for
        answer = review.answer(row, page=page)
        assert (answer.status_code, "no yes is taken here" in answer.text) == (409, True)
        assert "nothing was adopted yet" in review.card(row)
        assert review.state(row) is State.PENDING
        assert review.answer(row, "no", page=page).status_code == 303
        assert review.state(row) is State.REJECTED


@pytest.mark.claim("C4")
def test_a_chat_takes_no_yes_under_other_settings_and_says_so_and_takes_a_no(tmp_path: Path) -> None:
    with room(tmp_path) as here:
        row = here.ask("low")
        here.queue.adopted.load([RuleText("settings", "single_user = true\n")])
        here.queue.adopted.required = True
        assert here.say(here.code(row)).startswith("Not done: this server was started with other rules")
        assert here.queue.get(row.id).state is State.PENDING
        here.say(here.code(row, "reject"))
        assert here.queue.get(row.id).state is State.REJECTED


def test_the_api_names_what_is_not_adopted() -> None:
    problem = refused(NotAdoptedError("rules.yaml differs", remedy="propose it"))
    assert (problem.status, problem.code, problem.remedy) == (409, "rules_not_adopted", "propose it")
