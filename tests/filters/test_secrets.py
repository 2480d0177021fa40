"""Secrets: keys by their form, values that a name gives away, and registered values in every encoding."""

from __future__ import annotations

import base64
import codecs
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.outcomes import ContentOutcome, Status
from checkvalve.filters.secrets.registered import Registered
from checkvalve.filters.secrets.scan import find_secrets, redact_secrets

DRAW = random.Random(20)


def made(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Return signs at random: nothing in this file is anybody's key."""
    return "".join(DRAW.choice(alphabet) for _ in range(size - 2)) + "a7"


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
VENDORS = {
    "aws-access-key": "AKIA" + made(16, UPPER).upper(),
    "google-api-key": "AIza" + made(35),
    "github-token": "ghp_" + made(36),
    "gitlab-token": "glpat-" + made(20),
    "slack-token": "xoxb-" + "12345678901-" + made(24),
    "slack-webhook": "hooks.slack.com/services/T" + made(9, UPPER) + "/B" + made(9, UPPER) + "/" + made(24),
    "telegram-token": "123456789:AA" + made(33),
    "stripe-key": "sk_live_" + made(24),
    "anthropic-key": "sk-ant-api03-" + made(60),
    "openai-key": "sk-proj-" + made(48),
    "model-api-key": "hf_" + made(34, string.ascii_letters).replace("7", "Q"),
    "jwt": "eyJ" + made(20) + ".eyJ" + made(30) + "." + made(43),
    "npm-token": "npm_" + made(36),
    "pypi-token": "pypi-AgE" + made(60),
    "sendgrid-key": "SG." + made(22) + "." + made(43),
    "twilio-key": "SK" + made(32, HEX),
    "azure-key": "AccountKey=" + made(86) + "==",
    "azure-secret": made(3) + "8Q~" + made(34),
    "digitalocean-token": "dop_v1_" + made(64, HEX),
    "databricks-token": "dapi" + made(32, HEX),
    "vault-token": "hvs." + made(28),
    "docker-token": "dckr_pat_" + made(27),
    "postman-key": "PMAK-" + made(24, HEX) + "-" + made(34, HEX),
}


@pytest.mark.parametrize(("code", "secret"), VENDORS.items(), ids=VENDORS)
@pytest.mark.parametrize("frame", ["{}", "use {} now", '"{}"', "汉{}汉", "k={};", "<b>{}</b>", "({})."])
def test_a_key_is_known_by_its_form_wherever_it_stands(code: str, secret: str, frame: str) -> None:
    text = frame.format(secret)
    (hit,) = find_secrets(text)
    assert (hit.code, text[hit.start : hit.end]) == (code, secret)


PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----"


def test_a_private_key_goes_with_all_its_lines_and_one_without_an_end_to_the_end() -> None:
    assert redact_secrets(f"a\n{PEM}\nb").text == "a\n⟨removed: private-key⟩\nb"
    assert redact_secrets(f"a\n{PEM[:60]}").text == "a\n⟨removed: private-key⟩"


@pytest.mark.parametrize(
    ("text", "code", "secret"),
    [
        ("postgresql://bob:t9Kd-w2@db.corp.example:5432/x", "connection-string", "t9Kd-w2"),
        ("mongodb+srv://u:Zx81_qq@c0.example/?w=1", "connection-string", "Zx81_qq"),
        ('api_key = "a8F3kZ01mmQ92x"', "named-secret", "a8F3kZ01mmQ92x"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCY0a1b2c3d4e", "named-secret", None),
        ('{"password": "9-Horses-Run-7"}', "named-secret", "9-Horses-Run-7"),
        ("The password is 9-Horses-Run-7.", "named-secret", "9-Horses-Run-7"),
        ("Das Kennwort lautet 9-Pferde-Laufen-7", "named-secret", "9-Pferde-Laufen-7"),
        ('{"url":"https://a.example","password":"9-Horses-Run-7"}', "named-secret", "9-Horses-Run-7"),
        ("Authorization: Bearer 0a1B2c3D4e5F6g7H", "authorization", "0a1B2c3D4e5F6g7H"),
        ("token: 5d41402abc4b2a76b9719d911017c592", "named-secret", "5d41402abc4b2a76b9719d911017c592"),
    ],
)
def test_a_value_is_a_secret_where_a_name_says_so(text: str, code: str, secret: str | None) -> None:
    (hit,) = find_secrets(text)
    assert hit.code == code
    assert secret is None or text[hit.start : hit.end] == secret


@pytest.mark.parametrize(
    "text",
    [
        "commit 5d41402abc4b2a76b9719d911017c592aabbccdd",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 123e4567-e89b-12d3-a456-426614174000, order 4000-1234-1234-1234",
        "AKIAIOSFODNN7EXAMPLE is what the manual shows",
        "set API_KEY=your-api-key-here, or api_key: <your-token-1>",
        "password: ${DB_PASSWORD_2}; token = os.environ['TOKEN_1234567']",
        "postgres://user:password@localhost/db and redis://:***@cache/0 and mysql://u:${PW}@h/d",
        "The token bucket refills 100 tokens per second; the secret garden; password reset link",
        "import { apiKeyFromEnvironment2 } from './config'; const token = getToken(user1234);",
        "sk-learn, skip-1, sk_test_, xoxo-hugs, ghp_, AIza, SK2024 and SG. are no keys",
        "password must have 12 characters, 1 digit",
        "https://a.example/password-reset/token=?asfbuy3y2cdaqhvei and www.a.example/#token=8f3kz0a1b2c3d4e5",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert find_secrets(text) == []
    assert redact_secrets(text).status is Status.CLEAN


def test_redaction_says_what_was_taken_and_where_and_leaves_the_rest_byte_for_byte() -> None:
    text = f"é {VENDORS['npm-token']} ü"
    result = redact_secrets(text)
    assert (result.text, result.outcome) == ("é ⟨removed: npm-token⟩ ü", ContentOutcome.SANITISE)
    (finding,) = result.findings
    assert text.encode()[finding.start : finding.end].decode() == VENDORS["npm-token"]
    assert "npm_" not in repr(result.findings)


VALUE = "Tr0ub4dor&3-staging"
PLAIN = VALUE.encode()
ENCODED = {
    "as it stands": VALUE,
    "upper case": VALUE.upper(),
    "reversed": VALUE[::-1],
    "base64": base64.b64encode(PLAIN).decode(),
    "base64, one byte before": base64.b64encode(b"k" + PLAIN + b"xx").decode(),
    "base64, two bytes before": base64.b64encode(b"k=" + PLAIN + b"x").decode(),
    "base64 for addresses": base64.urlsafe_b64encode(b"\xff\xfe\xfd" + PLAIN).decode(),
    "base64 in lines": "\n".join([base64.b64encode(PLAIN).decode()[:9], base64.b64encode(PLAIN).decode()[9:]]),
    "base64 twice": base64.b64encode(base64.b64encode(PLAIN)).decode(),
    "base64 of hex": base64.b64encode(PLAIN.hex().encode()).decode(),
    "base64 of it reversed": base64.b64encode(PLAIN[::-1]).decode(),
    "base32": base64.b32encode(b"1" + PLAIN).decode(),
    "hex": PLAIN.hex(),
    "hex with colons": ":".join(f"{byte:02X}" for byte in PLAIN),
    "percent": "".join(f"%{byte:02x}" for byte in PLAIN),
    "some percent": VALUE.replace("&", "%26").replace("-", "%2D"),
    "backslash": "".join(f"\\x{byte:02x}" for byte in PLAIN),
    "unicode escapes": "".join(f"\\u{byte:04x}" for byte in PLAIN),
    "entities": "".join(f"&#{byte};" for byte in PLAIN),
    "rot13": codecs.encode(VALUE, "rot13"),
    "blanks": " ".join(VALUE),
    "lines": "\n".join(VALUE),
    "full stops": ".".join(VALUE),
    "invisible signs": "\u200b".join(VALUE),
    "full width": "".join(chr(ord(char) + 0xFEE0) for char in VALUE),
}


@pytest.mark.parametrize("form", ENCODED.values(), ids=ENCODED)
def test_a_registered_value_is_found_in_every_encoding_and_nothing_of_it_stays(form: str) -> None:
    registered = Registered([("registered-value", VALUE)])
    text = f"See: {form} ok"
    (hit,) = registered.find(text)
    assert hit.start == 5
    assert text[hit.end :] in {" ok", "; ok"}


@given(st.text(alphabet=string.ascii_letters + string.digits + "-_&!", min_size=10, max_size=40), st.binary(max_size=9))
def test_any_value_is_found_inside_any_base64(value: str, before: bytes) -> None:
    if sum(map(str.isalnum, value)) >= 10:
        registered = Registered([("registered-value", value)])
        assert registered.find(base64.b64encode(before + value.encode() + b"!").decode())


def test_an_order_number_does_not_match_a_registered_value_and_a_short_value_has_to_stand_whole() -> None:
    registered = Registered([("registered-value", "STG-004"), ("registered-value", "hunter-2024-blue")])
    assert registered.find("order 004-STG, STG-0042, aSTG-004, STG - 004, hunter 2024") == []
    assert [hit.start for hit in registered.find("key STG-004.")] == [4]


def test_a_value_that_is_too_short_is_refused_without_repeating_it() -> None:
    with pytest.raises(HostileInputError) as raised:
        Registered([("registered-value", "ab-12")])
    assert raised.value.code == "value_too_short"
    assert "ab-12" not in str(raised.value)
    assert repr(Registered([("registered-value", VALUE)])) == "<Registered, 1 values>"
