"""The anchor with a retention lock, against a server of its kind on this machine: what is put there stays there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.anchor_s3 import S3Anchor, parse_s3
from checkvalve.approvals.anchors import parse_anchor
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import Desk, write

BUCKET = "evidence"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    import pytest_socket
    from moto.server import ThreadedMotoServer

    pytest_socket.enable_socket()
    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()
    pytest_socket.disable_socket(allow_unix_socket=True)


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    import boto3
    import pytest_socket

    pytest_socket.enable_socket()
    for name, value in (("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "made-up"), ("DEFAULT_REGION", "eu-central-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    client = boto3.client("s3", endpoint_url=server)
    place = {"LocationConstraint": "eu-central-1"}
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place, ObjectLockEnabledForBucket=True)
    client.create_bucket(Bucket="plain", CreateBucketConfiguration=place)
    yield client
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{server}/moto-api/reset", method="POST")).close()


@pytest.fixture
def anchor(server: str, s3: Any) -> S3Anchor:
    return S3Anchor(BUCKET, "log", 30, server, every=0)


@pytest.fixture
def log(tmp_path: Path, anchor: S3Anchor) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk(store, tmp_path, more=[anchor])


def place(log: Desk, anchor: S3Anchor) -> LogPlace:
    return LogPlace(key=log.folder / "absent", signed=log.signed, anchors=(anchor,))


@pytest.mark.claim("C5")
def test_each_checkpoint_is_an_object_that_nobody_removes(log: Desk, anchor: S3Anchor, s3: Any) -> None:
    for _ in range(2):
        write(log.store, 3)
        assert log.sealer.seal().failed == {}
    listed = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    assert [one["Key"] for one in listed] == [f"log/{3:020d}.note", f"log/{6:020d}.note"]
    head = s3.head_object(Bucket=BUCKET, Key=listed[0]["Key"])
    assert head["ObjectLockMode"] == "COMPLIANCE"
    assert head["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=29)
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(Bucket=BUCKET, Key=listed[0]["Key"], VersionId=listed[0]["VersionId"])
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(
            Bucket=BUCKET, Key=listed[0]["Key"], VersionId=listed[0]["VersionId"], BypassGovernanceRetention=True
        )
    report = verify(log.store, keys=log.key.public, outside=place(log, anchor).outside())
    assert report.ok, report.findings
    assert "anchor s3:evidence/log (2 checkpoints)" in report.compared


@pytest.mark.claim("C5")
def test_what_is_cut_off_or_put_back_shows_even_when_objects_are_hidden(log: Desk, anchor: S3Anchor, s3: Any) -> None:
    write(log.store, 3)
    log.sealer.seal()
    write(log.store, 3)
    log.sealer.seal()
    s3.delete_object(Bucket=BUCKET, Key=f"log/{6:020d}.note")  # a marker hides it
    import sqlalchemy as sa

    with log.store.write() as connection:
        connection.execute(sa.text("DELETE FROM events WHERE seq > 4"))
        connection.execute(sa.text("UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM events WHERE seq = 4)"))
    log.signed.unlink()
    report = verify(log.store, keys=log.key.public, outside=place(log, anchor).outside())
    assert "truncated" in {found.code for found in report.findings}


@pytest.mark.claim("C5")
def test_another_history_of_the_same_size_stops_the_signing(log: Desk, anchor: S3Anchor, tmp_path: Path) -> None:
    write(log.store, 3)
    log.sealer.seal()
    (tmp_path / "other").mkdir()
    with Store.open(f"sqlite:///{tmp_path}/other/gate.db") as store:
        other = Desk(store, tmp_path / "other", key=log.key, more=[anchor])
        write(other.store, 3, text="another one")
        with pytest.raises(LogTamperedError, match="keeps another history"):
            other.sealer.seal()


@pytest.mark.claim("C5")
def test_the_log_that_follows_a_closed_one_is_kept_beside_it(log: Desk, anchor: S3Anchor, tmp_path: Path) -> None:
    write(log.store, 3)
    log.sealer.seal()
    (tmp_path / "other").mkdir()
    with Store.open(f"sqlite:///{tmp_path}/other/gate.db") as store:
        other = Desk(store, tmp_path / "other", key=LogKey.new("log.example/next"), more=[anchor])
        write(other.store, 3, text="another one")
        assert other.sealer.seal().failed == {}
        write(other.store, 1)
        assert other.sealer.seal().failed == {}
        kept = [text.split("\n")[:2] for text in anchor.kept()]
        assert sorted(kept) == [[log.key.origin, "3"], ["log.example/next", "3"], ["log.example/next", "4"]]
        mine = [Outside("s3", text) for text in anchor.kept() if text.startswith("log.example/next")]
        report = verify(store, keys=other.key.public, outside=mine)
        assert (report.ok, report.compared) == (True, ["s3 (2 checkpoints)"])


def test_the_same_checkpoint_again_is_the_same_object(log: Desk, anchor: S3Anchor, s3: Any) -> None:
    from checkvalve.approvals.checkpoints import parse_checkpoint
    from checkvalve.approvals.lastsigned import read_signed
    from checkvalve.approvals.notes import parse_note

    write(log.store, 3)
    log.sealer.seal()
    note = parse_note(str(read_signed(log.signed)))
    anchor.publish(note, parse_checkpoint(note.text), lambda _: [])
    assert len(s3.list_object_versions(Bucket=BUCKET)["Versions"]) == 1


def test_a_busy_log_puts_one_object_a_minute(log: Desk, anchor: S3Anchor, s3: Any, server: str) -> None:
    slow = S3Anchor(BUCKET, "slow", 30, server)
    log = Desk(log.store, log.folder, key=log.key, more=[slow])
    for _ in range(3):
        write(log.store, 1)
        log.sealer.seal()
    assert s3.list_objects_v2(Bucket=BUCKET, Prefix="slow/")["KeyCount"] == 1


@pytest.mark.claim("C5")
def test_a_store_that_does_not_lock_is_no_anchor(
    log: Desk, server: str, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = S3Anchor("plain", "", 30, server, every=0)
    write(log.store, 1)
    found = Desk(log.store, log.folder, key=log.key, more=[plain]).sealer.seal()
    assert list(found.failed) == ["s3:plain/"]
    lax = replace(plain)
    put = lax._s3.put_object

    def without_lock(**values: Any) -> Any:
        return put(**{name: value for name, value in values.items() if not name.startswith("ObjectLock")})

    monkeypatch.setattr(lax._client, "put_object", without_lock)
    write(log.store, 1)
    found = Desk(log.store, log.folder, key=log.key, more=[lax]).sealer.seal()
    assert "does not lock what it keeps" in found.failed["s3:plain/"]


def test_a_store_that_cannot_be_reached_costs_no_event_and_is_not_taken_for_compared(log: Desk) -> None:
    gone = S3Anchor(BUCKET, "log", 30, "http://127.0.0.1:9", every=0)
    write(log.store, 1)
    found = Desk(log.store, log.folder, key=log.key, more=[gone]).sealer.seal()
    assert found.checkpoint.size == 1
    assert "cannot be used" in found.failed["s3:evidence/log"]
    with pytest.raises(LogError, match="cannot be used"):
        list(place(log, gone).outside())


@pytest.mark.parametrize(
    ("text", "place_", "days", "endpoint"),
    [
        ("s3:evidence/log 365d", "s3:evidence/log", 365, ""),
        ("s3:evidence 30d https://minio.example:9000", "s3:evidence/", 30, "https://minio.example:9000"),
    ],
)
def test_settings_name_one(text: str, place_: str, days: int, endpoint: str) -> None:
    found = parse_anchor(text)
    assert isinstance(found, S3Anchor)
    assert (found.name, found.days, found.endpoint) == (place_, days, endpoint)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "evidence",
        "evidence/log",
        "evidence/log 0d",
        "evidence/log 30",
        "evidence/../x 30d",
        "e/l 30d ftp://x",
        "UP/l 30d",
    ],
)
def test_what_is_no_object_store_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="write s3:BUCKET/PREFIX 365d"):
        parse_s3(text)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"anchors-s3"):
        parse_s3("evidence/log 30d")
