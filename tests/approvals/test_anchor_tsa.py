"""The anchor in time, against an authority on this machine: OpenSSL's, which answers as RFC 3161 says."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from checkvalve.approvals.anchor_tsa import TimestampAnchor, parse_tsa
from checkvalve.approvals.anchors import parse_anchor
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import Desk, write

CONFIG = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


def certificates(folder: Path) -> None:
    """Make a root and an authority that it vouches for."""
    now, keys = dt.datetime.now(dt.UTC), [rsa.generate_private_key(65_537, 2_048) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("test root", "test authority")]
    for number, (file, authority) in enumerate((("root", True), ("tsa", False))):
        builder = (
            x509.CertificateBuilder()
            .subject_name(names[number])
            .issuer_name(names[0])
            .public_key(keys[number].public_key())
            .serial_number(number + 1)
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(keys[number].public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[0].public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(not authority, not authority, False, False, False, authority, authority, False, False),
                critical=True,
            )
        )
        if not authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        made = builder.sign(keys[0], hashes.SHA256())
        (folder / f"{file}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    key = keys[1].private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "tsa.key").write_bytes(key)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    import pytest_socket

    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("OpenSSL's program is not installed")
    program: str = openssl
    folder = tmp_path_factory.mktemp("tsa")
    certificates(folder)

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query, reply = folder / "query", folder / "reply"
            query.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            command: list[str] = [program, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply.read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    pytest_socket.enable_socket()
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder
    server.shutdown()
    thread.join()
    server.server_close()
    pytest_socket.disable_socket(allow_unix_socket=True)


@pytest.fixture
def anchor(authority: tuple[str, Path], tmp_path: Path) -> TimestampAnchor:
    import pytest_socket

    pytest_socket.enable_socket()
    url, folder = authority
    return TimestampAnchor(url, tmp_path / "stamps.jsonl", folder / "root.pem", every=0)


@pytest.fixture
def log(tmp_path: Path, anchor: TimestampAnchor) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk(store, tmp_path, more=[anchor])


def place(log: Desk, anchor: TimestampAnchor) -> LogPlace:
    return LogPlace(key=log.folder / "absent", signed=log.signed, anchors=(anchor,))


@pytest.mark.claim("C5")
def test_an_authority_stamps_checkpoints_and_a_cut_log_shows(log: Desk, anchor: TimestampAnchor) -> None:
    for _ in range(2):
        write(log.store, 3)
        assert log.sealer.seal().failed == {}
    report = verify(log.store, keys=log.key.public, outside=place(log, anchor).outside())
    assert report.ok, report.findings
    assert f"anchor {anchor.name} (2 checkpoints)" in report.compared
    import sqlalchemy as sa

    with log.store.write() as connection:
        connection.execute(sa.text("DELETE FROM events WHERE seq > 4"))
        connection.execute(sa.text("UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM events WHERE seq = 4)"))
    log.signed.unlink()
    report = verify(log.store, keys=log.key.public, outside=place(log, anchor).outside())
    assert "truncated" in {found.code for found in report.findings}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("change", ["note", "stamp", "cut", "other"])
def test_a_stamp_that_is_none_of_its_checkpoint_is_found(log: Desk, anchor: TimestampAnchor, change: str) -> None:
    for _ in range(2):
        write(log.store, 1)
        log.sealer.seal()
    first, second = (json.loads(line) for line in anchor.file.read_text().splitlines())
    changed = {
        "note": {**first, "note": first["note"].replace("\n1\n", "\n2\n", 1)},
        "stamp": {**first, "stamp": "AAAA"},
        "cut": {"note": first["note"]},
        "other": {**first, "stamp": second["stamp"]},
    }
    anchor.file.write_text(json.dumps(changed[change]) + "\n")
    with pytest.raises(LogTamperedError, match=r"line 1 of .* is no stamp of a checkpoint"):
        list(anchor.kept())


@pytest.mark.claim("C5")
def test_an_authority_that_the_root_does_not_vouch_for_is_no_anchor(
    log: Desk, anchor: TimestampAnchor, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    certificates(other)
    wrong = TimestampAnchor(anchor.url, tmp_path / "none.jsonl", other / "root.pem", every=0)
    write(log.store, 1)
    found = Desk(log.store, log.folder, key=log.key, more=[wrong]).sealer.seal()
    assert "no stamp that" in found.failed[wrong.name]
    assert not wrong.file.exists()


def test_one_stamp_an_hour_and_none_where_nobody_answers(log: Desk, anchor: TimestampAnchor, tmp_path: Path) -> None:
    slow = TimestampAnchor(anchor.url, tmp_path / "slow.jsonl", anchor.root)
    gone = TimestampAnchor("http://127.0.0.1:9", tmp_path / "gone.jsonl", anchor.root, every=0)
    desk = Desk(log.store, log.folder, key=log.key, more=[slow, gone])
    for _ in range(3):
        write(log.store, 1)
        assert "cannot be reached" in desk.sealer.seal().failed[gone.name]
    assert len(slow.file.read_text().splitlines()) == 1
    assert list(gone.kept()) == []


def test_settings_name_one(tmp_path: Path) -> None:
    found = parse_anchor(f"tsa:https://tsa.example/tsr {tmp_path}/stamps.jsonl {tmp_path}/root.pem")
    assert isinstance(found, TimestampAnchor)
    assert found.name == "tsa:https://tsa.example/tsr"
    for text in ("", "https://tsa.example", "https://tsa.example a b", f"ftp://x {tmp_path}/a {tmp_path}/b"):
        with pytest.raises(ValueError, match="write tsa:https://host/path"):
            parse_tsa(text)
