"""Pictures that come with a text: each is read for its notes, none is called scanned, and a wrong label hides nothing.

Public faults of other systems: a picture beside a checked text passed as checked, the more of them the quicker; and
records in lines were taken as one text, or one chunk of a connection as one record.
"""

from __future__ import annotations

import base64
import json

import pytest

from checkvalve.corpora.texts.disguises import ATTACK, TWIN
from checkvalve.corpora.texts.surfaces import photograph, png
from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.outcomes import Channel, ScanResult, Status

PLAIN = png("Taken in May")


def mail(*pictures: tuple[str, bytes]) -> str:
    heads = "From: a@corp.example\r\nTo: b@corp.example\r\nSubject: Plan\r\nMIME-Version: 1.0\r\n"
    parts = ["Content-Type: text/plain\r\n\r\nsee picture"]
    for media, data in pictures:
        encoded = base64.b64encode(data).decode()
        parts.append(f"Content-Type: {media}\r\nContent-Transfer-Encoding: base64\r\n\r\n{encoded}")
    body = "".join(f"--xx\r\n{part}\r\n" for part in parts)
    return f"{heads}Content-Type: multipart/mixed; boundary=xx\r\n\r\n{body}--xx--\r\n"


def instructed(result: ScanResult) -> bool:
    return "instruction" in result.codes


@pytest.mark.parametrize("number", [1, 21])
def test_a_text_with_pictures_is_unscanned_and_the_note_of_the_last_one_is_read(number: int) -> None:
    harmless = scan_inbound(mail(*[("image/png", PLAIN)] * number))
    assert (harmless.status, harmless.reason) == (Status.UNSCANNED, "picture")
    assert not instructed(harmless)
    last = scan_inbound(mail(*[("image/png", PLAIN)] * (number - 1), ("image/png", png(ATTACK))))
    assert last.status is Status.UNSCANNED
    assert instructed(last)


@pytest.mark.parametrize("data", [PLAIN, photograph("Taken in May")], ids=["png", "jpeg"])
def test_a_picture_alone_is_unscanned(data: bytes) -> None:
    assert (scan_inbound(data).status, scan_inbound(data).reason) == (Status.UNSCANNED, "picture")


def test_a_picture_of_six_megabytes_is_unscanned_alone_and_in_a_mail() -> None:
    pixels = b"\x7f" * 6_000_000
    chunk = len(pixels).to_bytes(4, "big") + b"IDAT" + pixels + b"\x00\x00\x00\x00"
    large = PLAIN[:8] + chunk + png(ATTACK)[8:]
    alone = scan_inbound(large)
    assert alone.status is Status.UNSCANNED
    assert instructed(alone)  # its notes stand behind the pixels, and are read
    assert scan_inbound(mail(("image/png", large))).status is Status.UNSCANNED


@pytest.mark.parametrize("media", ["image/png", "image/jpeg", "image/webp", "application/octet-stream", "text/plain"])
@pytest.mark.parametrize("make", [png, photograph], ids=["png", "jpeg"])
def test_a_wrong_type_hides_no_picture(media: str, make: object) -> None:
    assert callable(make)
    result = scan_inbound(mail((media, make(ATTACK))))
    assert result.status is Status.UNSCANNED
    assert instructed(result)
    harmless = scan_inbound(mail((media, make(TWIN))))
    assert harmless.status is Status.UNSCANNED
    assert not instructed(harmless)


@pytest.mark.parametrize("media", ["image/png", "image/jpeg", "application/octet-stream"])
def test_a_text_that_calls_itself_a_picture_is_read_or_not_called_clean(media: str) -> None:
    result = scan_inbound(mail((media, ATTACK.encode())))
    assert result.status in {Status.FLAGGED, Status.UNSCANNED}
    assert scan_inbound(mail((media, TWIN.encode()))).status is not Status.FLAGGED


LINES = "".join(json.dumps({"id": number, "note": "The train leaves at nine."}) + "\n" for number in range(3))


def test_records_in_lines_are_each_read_and_half_a_record_as_well() -> None:
    bad = json.dumps({"id": 9, "note": ATTACK}) + "\n"
    assert scan_inbound(LINES).status is Status.CLEAN
    for text in (bad + LINES, LINES + bad, LINES + bad + LINES, LINES + bad[:-3], bad[:-1] + LINES):
        result = scan_inbound(text)
        assert result.status is Status.FLAGGED
        found = next(item for item in result.findings if item.code == "instruction")
        assert "Ignore" in text[found.start : found.end]
        assert found.channel in {Channel.VISIBLE, Channel.METADATA, Channel.DECODED}


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_records_leave_the_same_however_they_are_cut_into_chunks(size: int) -> None:
    text = LINES + json.dumps({"note": "![c](https://drop.example/c?q=1)"}) + "\n" + LINES
    whole = OutboundStream(OutboundRules())
    expected = whole.text(text) + whole.close().text
    stream = OutboundStream(OutboundRules())
    said = "".join(stream.text(text[at : at + size]) for at in range(0, len(text), size))
    said += stream.close().text
    assert said == expected
    assert "drop.example" not in said
    assert said.startswith(LINES)
