from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.checkpoints import Checkpoint, open_checkpoint, parse_checkpoint, sign
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.keyfile import load_key, save_key
from checkvalve.approvals.logkeys import LogKey, Rotation, Trust
from checkvalve.approvals.merkle import EMPTY
from checkvalve.approvals.notes import (
    ED25519,
    ED25519_TIMED,
    MLDSA44,
    PrivateKey,
    has_mldsa,
    is_name,
    parse_key,
    parse_keys,
    parse_note,
    signatures_of,
)

# the example of C2SP's signed-note
VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = (
    "This is an example message.\n\n\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYN"
    "ZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
NAME = "log.example/a"
POINT = Checkpoint(NAME, 7, bytes(range(32)))
KINDS = [ED25519, ED25519_TIMED, *([MLDSA44] if has_mldsa() else [])]


def private(kind: int, name: str = NAME, seed: int = 1) -> PrivateKey:
    return PrivateKey(name, kind, bytes([seed]) * 32)


def test_the_published_example_verifies() -> None:
    key, note = parse_key(VKEY), parse_note(NOTE)
    assert (str(key), str(note)) == (VKEY, NOTE)
    (signature,) = signatures_of(note, key)
    assert key.accepts(note.text.encode(), signature.data)
    assert not key.accepts(b"This is an example message!\n", signature.data)


def test_what_a_timed_signature_signs_is_what_the_specification_says() -> None:
    """Put together by hand from the text of tlog-cosignature."""
    note = sign(POINT, [private(ED25519_TIMED)], now=1679315147)
    signature = note.signatures[0].data
    assert signature[:8] == (1679315147).to_bytes(8, "big")
    signed = f"cosignature/v1\ntime 1679315147\n{NAME}\n7\n{base64.b64encode(POINT.root).decode()}\n"
    assert private(ED25519_TIMED).public.accepts(signed.encode(), signature[8:])


@pytest.mark.skipif(not has_mldsa(), reason="this `cryptography` has no ML-DSA-44")
def test_what_ml_dsa_signs_is_what_the_specification_says() -> None:
    signature = sign(POINT, [private(MLDSA44, "w")], now=5).signatures[0].data
    name, origin = b"\x01w", bytes([len(NAME)]) + NAME.encode()
    end = (0).to_bytes(8, "big") + (7).to_bytes(8, "big") + POINT.root
    signed = b"subtree/v1\n\x00" + name + (5).to_bytes(8, "big") + origin + end
    assert private(MLDSA44, "w").public.accepts(signed, signature[8:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_needs_every_key_that_is_asked_for(kind: int) -> None:
    mine, other = private(kind), private(kind, seed=2)
    text = str(sign(POINT, [mine], now=9))
    found = open_checkpoint(text, [mine.public])
    assert (found.checkpoint, found.signed_at) == (POINT, 0 if kind == ED25519 else 9)
    for keys in ([other.public], [mine.public, other.public], []):
        with pytest.raises(LogError):
            open_checkpoint(text, keys)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_of_a_signed_checkpoint_is_found(kind: int) -> None:
    key = private(kind)
    whole = str(sign(POINT, [key], now=9)).encode()
    step = 1 if kind != MLDSA44 else 97  # a long signature is sampled; its text is not
    text_end = whole.index(b"\n\n") * 8
    for bit in [*range(text_end), *range(text_end, len(whole) * 8, step)]:
        touched = bytearray(whole)
        touched[bit // 8] ^= 1 << bit % 8
        with pytest.raises((LogError, ValueError)):
            open_checkpoint(touched.decode("utf-8"), [key.public])


@settings(max_examples=200)
@given(st.text(max_size=300))
def test_no_text_makes_the_parsers_fall(text: str) -> None:
    for parse in (parse_note, parse_checkpoint, parse_key, parse_keys):
        try:
            parse(text)
        except ValueError:
            continue


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\n7\n",
        "\n7\nAAAA\n",
        "a\n07\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "a\n-1\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "a\n7\n" + base64.b64encode(bytes(31)).decode() + "\n",
        "a\n7\n" + base64.b64encode(bytes(32)).decode() + "\nextension\n",
        "a\n0\n" + base64.b64encode(bytes(32)).decode() + "\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no checkpoint"):
        parse_checkpoint(text)
    assert parse_checkpoint(Checkpoint("a", 0, EMPTY).text).size == 0


def test_names_and_keys_with_a_lost_character_are_refused() -> None:
    for broken in (VKEY[:-1], VKEY.replace("530d903a", "530d903b"), VKEY.replace("+", " "), "x+00000000+AA=="):
        with pytest.raises(ValueError, match=r"public key|no public"):
            parse_key(broken)
    with pytest.raises(ValueError, match="no public key in it"):
        parse_keys("# nothing\n")
    assert [is_name(name) for name in ("a.example/x", "", "a b", "a+b", "a\x07")] == [True, False, False, False, False]


def test_a_key_file_is_private_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "k.json"
    key = LogKey.new(NAME)
    save_key(key, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_key(file) == key
    assert "seed hidden" in repr(key)
    with pytest.raises(LogError, match="already"):
        save_key(LogKey.new(NAME), file)
    assert load_key(file) == key
    assert [path.name for path in file.parent.iterdir()] == ["k.json"]
    file.chmod(0o640)
    with pytest.raises(LogError, match="others may read"):
        load_key(file)
    file.chmod(0o600)
    for wrong in ("", "{}", "[]", '{"format": "checkvalve-log-key-1", "origin": "a", "keys": [], "rotations": []}'):
        file.write_text(wrong)
        with pytest.raises(LogError, match="no key file"):
            load_key(file)
    with pytest.raises(LogError, match="no key file"):
        load_key(tmp_path / "nothing")
    with pytest.raises(LogError, match="cannot be called"):
        LogKey.new("with space")


def test_a_rotation_makes_either_side_trusted_by_who_trusts_the_other() -> None:
    first = LogKey.new(NAME)
    second = first.rotated(10)
    third = second.rotated(20)
    for given_ in (first, second, third):
        trust = Trust.of(given_.public, third.rotations)
        for size, keys in ((1, first), (9, first), (11, second), (19, second), (21, third)):
            assert trust.keys_for(size) == [keys.public], (size, given_)
        assert trust.keys_for(10) == [first.public, second.public]
    assert Trust.of(first.public).keys_for(10_000) == [first.public]


@pytest.mark.claim("C5")
def test_a_rotation_that_the_old_key_did_not_sign_changes_nothing() -> None:
    first, thief = LogKey.new(NAME), LogKey.new(NAME)
    real = first.rotated(10).rotations[0]
    stolen = thief.rotated(10).rotations[0]
    forged = Rotation(
        NAME, 10, first.public, stolen.new, (*real.signatures[: len(first.keys)], *stolen.signatures[-2:])
    )
    for bad in (
        stolen,
        forged,
        Rotation(NAME, 11, real.old, real.new, real.signatures),
        Rotation("other.example", 10, real.old, real.new, real.signatures),
        Rotation(NAME, 10, real.old, real.new, real.signatures[:-1]),
    ):
        assert Trust.of(first.public, [bad]).sets == Trust.of(first.public).sets
    assert Rotation.from_json(real.to_json()) == real
    for broken in (None, {}, {"old": 1}):
        with pytest.raises(ValueError, match="no rotation"):
            Rotation.from_json(broken)
