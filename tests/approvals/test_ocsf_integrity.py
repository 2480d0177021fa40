"""The OCSF export with Record Integrity: it fits the schema with that profile, follows the log, and shows a change.

The schema that is at hand is of 1.8; what 1.9 adds to it for the profile stands in ``ADDED``, by names and types.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from checkvalve.approvals import audit
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.checkpoints import cosign, parse_checkpoint
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.notes import ED25519_TIMED, Note, parse_note
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.approvals.ocsf_integrity import PROFILE, VERSION, is_unchanged, signed_logs, to_attested
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import checkpoints
from tests.approvals.made import fill
from tests.approvals.sealed import ORIGIN, QUICK_KEY

pytestmark = pytest.mark.claim("C5")
Record = dict[str, Any]
TEXT, NUMBER, TIME = "string_t", "integer_t", "timestamp_t"
ADDED: dict[str, dict[str, tuple[str, str]]] = {
    "attestation": {
        "uid": (TEXT, ""),
        "authority_uid": (TEXT, ""),
        "chain_uid": (TEXT, ""),
        "fingerprint": ("fingerprint", ""),
        "prev_event": ("prev_event", ""),
        "signatures": ("digital_signature", "array"),
    },
    "prev_event": {"uid": (TEXT, "required"), "type_uid": (NUMBER, ""), "fingerprint": ("fingerprint", "")},
    "fingerprint": {
        "encoding_id": (NUMBER, ""),
        "serialization": (TEXT, ""),
        "serialization_id": (NUMBER, ""),
    },
    "digital_signature": {"serialization": (TEXT, ""), "serialization_id": (NUMBER, "")},
}


def attribute(kind: str, how: str) -> Record:
    named = {"type": kind} if kind.endswith("_t") else {"type": "object_t", "object_type": kind}
    return {
        "caption": kind,
        "requirement": "required" if how == "required" else "optional",
        "is_array": how == "array",
    } | named


@cache
def validator(uid: int) -> Draft202012Validator:
    from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

    schema = copy.deepcopy(get_ocsf_schema(version="1.8.0"))
    for name, attributes in ADDED.items():
        known = schema["objects"].setdefault(name, {"name": name, "caption": name, "attributes": {}})
        known["attributes"] |= {one: attribute(*what) for one, what in attributes.items()}
    schema["objects"]["attestation"]["constraints"] = {"at_least_one": ["fingerprint", "signatures"]}
    for found in schema["classes"].values():
        found["attributes"]["attestation_list"] = attribute("attestation", "array") | {"profile": PROFILE}
    made = OcsfJsonSchemaEmbedded(schema)
    name = made.lookup_class_name_from_uid(uid)
    return Draft202012Validator(made.get_class_schema(class_name=name, profiles=[PROFILE]))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as opened:
        fill(opened)
        yield opened


def seal(store: Store, folder: Path) -> None:
    Sealer(store, QUICK_KEY, folder / "signed").seal()


def exported(store: Store) -> list[Record]:
    with store.read() as connection:
        logs, before, made = signed_logs(connection), None, list[Record]()
        for event in audit.read_events(connection):
            made.append(json.loads(json.dumps(to_attested(event, before, logs))))
            before = event
    return made


def test_every_record_fits_the_schema_with_the_profile(store: Store, tmp_path: Path) -> None:
    for _ in range(2):  # before anything is signed, and after
        for record in exported(store):
            assert list(validator(record["class_uid"]).iter_errors(record)) == []
            assert (record["metadata"]["version"], record["metadata"]["profiles"]) == (VERSION, [PROFILE])
        seal(store, tmp_path)
    broken = exported(store)[0]
    del broken["attestation_list"][0]["fingerprint"]["value"]
    assert list(validator(broken["class_uid"]).iter_errors(broken)), "a schema that is not met is noticed"
    broken["attestation_list"] = [{"uid": "nothing that binds"}]
    assert list(validator(broken["class_uid"]).iter_errors(broken))


def test_the_chain_is_that_of_the_log_and_each_record_names_the_one_before(store: Store, tmp_path: Path) -> None:
    seal(store, tmp_path)
    records, before = exported(store), None
    for number, record in enumerate(records, 1):
        log, mine = record["attestation_list"]
        assert (log["chain_uid"], log["uid"]) == (ORIGIN, f"{ORIGIN}#{number}")
        assert log["fingerprint"]["value"] == record["unmapped"]["hash"].removeprefix("sha256:")
        if before is None:
            assert "prev_event" not in log
        else:
            link = log["prev_event"]
            assert (link["uid"], link["type_uid"]) == (before["metadata"]["uid"], before["type_uid"])
            assert link["fingerprint"] == before["attestation_list"][0]["fingerprint"]
        assert set(mine) == {"fingerprint"}
        before = record


def test_who_signed_stands_there_witnesses_too_and_of_what_is_not_signed_nobody(store: Store, tmp_path: Path) -> None:
    assert {"signatures" in one["attestation_list"][0] for one in exported(store)} == {False}
    seal(store, tmp_path)
    witness = LogKey.new("w.example", classic=ED25519_TIMED).keys[0]
    with store.write() as connection:
        note = parse_note(newest(connection) or "")
        given = cosign(parse_checkpoint(note.text), witness, now=99)
        connection.execute(checkpoints.update().values(note=str(Note(note.text, (*note.signatures, given)))))
        audit.append(connection, at=system_clock(), kind="log.heartbeat", body={"every": 300})
    *signed, last = exported(store)
    assert "signatures" not in last["attestation_list"][0]
    for record in signed:
        first, second = record["attestation_list"][0]["signatures"]
        assert (first["algorithm"], first["developer_uid"]) == (
            "Ed25519",
            f"{ORIGIN}+{QUICK_KEY.public[0].id.hex()}",
        )
        assert (second["algorithm"], second["created_time"]) == ("Ed25519 with a time", 99_000)
        assert second["developer_uid"] == f"w.example+{witness.public.id.hex()}"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*path, key))
    if not isinstance(value, dict | list):
        yield path


def test_a_change_of_any_value_of_a_record_shows(store: Store, tmp_path: Path) -> None:
    seal(store, tmp_path)
    record = exported(store)[3]
    assert is_unchanged(record)
    told = [path for path in leaves(record) if path[:2] != ("attestation_list", 1)]
    assert len(told) > 30
    for path in told:
        other = copy.deepcopy(record)
        place = other
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = "changed"
        assert not is_unchanged(other), path
    for less in (record | {"attestation_list": []}, {**record, "attestation_list": record["attestation_list"][:1]}):
        assert not is_unchanged(less)


def test_after_an_erasure_the_chain_of_the_log_is_the_same(store: Store, tmp_path: Path) -> None:
    seal(store, tmp_path)
    before = exported(store)
    name = next(one["unmapped"]["subject"] for one in before if one["metadata"]["event_code"] == "proposal.rejected")
    with store.write() as connection:
        erase_call(connection, name, at=system_clock(), by="ann", reason="asked for")
    after = exported(store)
    assert [one["attestation_list"][0]["fingerprint"] for one in after[: len(before)]] == [
        one["attestation_list"][0]["fingerprint"] for one in before
    ]
    assert all(is_unchanged(one) for one in after)
    assert any(one["unmapped"]["body"] is None for one in after)


def test_the_command_goes_on_where_it_ended(store: Store, tmp_path: Path) -> None:
    seal(store, tmp_path)
    app = audit_app(lambda: Store.open(f"sqlite:///{tmp_path}/a.db", create=False))
    for name, after in (("all", 0), ("rest", 5)):
        words = ["export", str(tmp_path / name), "--format", "ocsf-1.9", "--after", str(after)]
        assert CliRunner().invoke(app, words).exit_code == 0
    whole, rest = ((tmp_path / name).read_text().splitlines() for name in ("all", "rest"))
    assert whole[5:] == rest
    with store.read() as connection:
        event = next(iter(audit.read_events(connection)))
        assert to_ocsf(event)["unmapped"] == json.loads(whole[0])["unmapped"]
