"""What leaves in signs that nobody sees, in other spellings of a value, and in links that are written oddly."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import chain, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.detectors import _hides
from checkvalve.filters.outbound.hosts import HostRules
from checkvalve.filters.outbound.judge import LinkOrigin, LinkRules
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.outcomes import ContentOutcome, Status
from checkvalve.filters.secrets.registered import Registered
from checkvalve.filters.secrets.scan import redact_secrets
from checkvalve.filters.secrets.unseen import unseen
from tests.effort import bounded

VALUE = "STG-0042-ABCDEF"
CANARY_TEXT = "zebra-quartz-5521"
KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
TOLD = "never tell anybody about the merger with umbrella limited"
ADDRESS = "https://drop.example.net/p?q=1"
WORDS = "Some words that people read, and more of them. "
RULES = OutboundRules(
    LinkRules(HostRules.of(["corp.example.com"])),
    Registered([("registered-value", VALUE), (CANARY, CANARY_TEXT)]),
    PromptText([f"You are the assistant. {TOLD} in May."]),
)


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


def selectors(text: str) -> str:
    return "".join(chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in text.encode())


def bits(text: str) -> str:
    return "".join("\u200b\u200c"[int(bit)] for byte in text.encode() for bit in format(byte, "08b"))


SPELLINGS = {"tags": tags, "selectors": selectors, "bits": bits}
SPELT = pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
FLAGS = [f"\U0001f3f4{tags(region)}\U000e007f" for region in ("gbeng", "gbsct", "gbwls")]


def out(text: str) -> str:
    return scan_outbound(text, RULES).text


def between(hidden: str, shown: str) -> str:
    return "".join(chain.from_iterable(zip_longest(shown, hidden, fillvalue="")))


# ---- hidden text


@pytest.mark.claim("C8")
@SPELT
@pytest.mark.parametrize(
    ("text", "mark"),
    [
        (VALUE, "⟨removed: registered-value⟩"),
        (KEY, "⟨removed: github-token⟩"),
        (TOLD, "⟨removed: prompt-text⟩"),
        (ADDRESS, "⟨removed: hidden-text⟩"),
        ("see you there", ""),
    ],
)
def test_nothing_leaves_in_signs_that_nobody_sees(spell: Callable[[str], str], text: str, mark: str) -> None:
    result = scan_outbound(f"Fine.{spell(text)} Bye", RULES)
    assert (result.text, result.status) == (f"Fine.{mark} Bye", Status.FLAGGED)


@pytest.mark.claim("C8")
@SPELT
def test_a_canary_that_nobody_sees_withholds_everything(spell: Callable[[str], str]) -> None:
    result = scan_outbound(f"Sure.{spell(CANARY_TEXT)} Anything else?", RULES)
    assert (result.outcome, result.text) == (ContentOutcome.WITHHOLD, "⟨withheld: canary⟩")


@SPELT
@pytest.mark.parametrize("text", [VALUE, KEY, TOLD, ADDRESS])
def test_signs_one_by_one_between_letters_do_not_leave_either(spell: Callable[[str], str], text: str) -> None:
    hidden = spell(text)
    left = out(between(hidden, WORDS * (len(hidden) // len(WORDS) + 1)))
    assert not set(left) & set(hidden)


@SPELT
def test_a_value_is_redacted_before_a_model_reads_it_too(spell: Callable[[str], str]) -> None:
    found = redact_secrets(f"Fine.{spell(VALUE)} Bye", RULES.registered)
    assert found.text == "Fine.⟨removed: registered-value⟩ Bye"


def test_a_value_of_which_nobody_sees_one_half_is_found() -> None:
    assert out(f"key STG-{tags('0042-ABCDEF')} ok") == "key ⟨removed: registered-value⟩ ok"


@pytest.mark.parametrize(
    "text",
    [
        *FLAGS,
        "👨\u200d💻 and ❤\ufe0f and 1\ufe0f\u20e3",
        "نامه\u200cای",
        "عربي \u200fabc\u200e",
        "葛\U000e0100城",
        "ภาษา\u200bไทย",
        "Zuc\u00adker",
    ],
)
def test_what_languages_and_emoji_need_leaves_as_it_is(text: str) -> None:
    assert scan_outbound(f"{text} ok", RULES).status is Status.CLEAN


@pytest.mark.parametrize("text", ["a\u200bb", "a\u200eb", "\u2060ab", "a\ufe05b", "ab\u202e"])
def test_a_stray_sign_goes_quietly(text: str) -> None:
    result = scan_outbound(f"x {text} y", RULES)
    assert (result.text, result.status, result.codes) == ("x ab y", Status.CHANGED, ("invisible",))


def test_rare_selectors_that_are_many_are_bytes() -> None:
    text = "".join(f"葛{sign}" for sign in selectors("the budget"))
    assert out(text) == "葛" * len("the budget")


@given(
    st.text(alphabet="ab \n.\u200b\u200c\u200d\u200e\u05d0\u0628\ufe0f\U0001f3f4" + tags("gbst09") + "\U000e007f👨葛")
)
@settings(max_examples=300, deadline=None)
def test_stretches_are_apart_and_a_stream_gives_the_whole(text: str) -> None:
    last = -1
    for start, end in unseen(text).strays:
        assert last < start < end <= len(text)
        last = end
    stream = OutboundStream(RULES)
    seen = "".join(map(stream.text, text))
    closed = stream.close()
    assert closed.result == scan_outbound(text, RULES)
    assert seen + closed.text == closed.result.text


@SPELT
def test_signs_nobody_sees_cost_no_time(spell: Callable[[str], str]) -> None:
    with bounded():
        scan_outbound((spell("a") + "x") * (50_000 // (len(spell("a")) + 1)), RULES)


# ---- other spellings of a value


CODES = [ord(char) for char in VALUE]
OTHERS = {
    "UTF-16": base64.b64encode(VALUE.encode("utf-16-le")).decode(),
    "UTF-16 from the big end, with something before": base64.b64encode(b"k" + VALUE.encode("utf-16-be")).decode(),
    "decimal": " ".join(map(str, CODES)),
    "a list": ",".join(map(str, CODES)),
    "octal": " ".join(f"{code:o}" for code in CODES),
    "hexadecimal with signs": ", ".join(map(hex, CODES)),
    "binary": " ".join(f"{code:08b}" for code in CODES),
    "Base85": base64.b85encode(VALUE.encode()).decode(),
    "ASCII85 with something around": base64.a85encode(f"key {VALUE} ok".encode()).decode(),
    "Cyrillic letters": "\u0405\u0422G-0042-\u0410\u0412\u0421D\u0415F",
    "Cyrillic letters as entities": "&#1029;TG-0042-ABCD&#1045;F",
    "bold": "STG-<b>0042</b>-ABCDEF",
    "bold, with an entity": "STG&#45;<b>0042</b>-ABCDEF",
    "terminal colours": "STG-\x1b[1m0042\x1b[0m-ABCDEF",
    "a comment": "STG-00<!-- x -->42-ABCDEF",
}


@pytest.mark.claim("C8")
@pytest.mark.parametrize("form", OTHERS.values(), ids=OTHERS)
def test_a_registered_value_leaves_in_no_other_spelling(form: str) -> None:
    assert out(f"It is {form} ok") == "It is ⟨removed: registered-value⟩ ok"
    stream = OutboundStream(RULES)
    assert "".join(map(stream.text, f"It is {form} ok")) + stream.close().text == out(f"It is {form} ok")


@pytest.mark.parametrize(
    "text", ["83 84 71 and 45", "STG-<b>0043</b>-ABCDEF", "\u0421\u0422\u0413-0042", "0101 0011 0101"]
)
def test_what_is_another_value_stays(text: str) -> None:
    assert out(text) == text


# ---- links


TABLE = {
    "https://corp.example.com@drop.example.net/x": False,
    "https://corp.example.com.drop.example.net/": False,
    "https://drop.example.net\\@corp.example.com/": False,
    "https://corp.example.com\\@drop.example.net/": False,
    "https://corp.example.com./a": True,
    "https://CORP.example.com:443/a": True,
    "https://corp.example.com%00.drop.example.net/": False,
    "http://2130706433/": False,
    "https://drop.example.net/#corp.example.com": False,
    "//drop.example.net/x": False,
    "https:drop.example.net": False,
    "https://\uff43\uff4f\uff52\uff50.example.com": False,
    "https://corp.example.com\u3002drop.example.net/": False,
    "https://corp.example.com/\u200bx": False,
    "https://corp.example.com/a\u2060b": False,
    f"https://corp.example.com/{tags('hi')}x": False,
}


@pytest.mark.claim("C8")
@pytest.mark.parametrize(("url", "allowed"), TABLE.items(), ids=map(ascii, TABLE))
@pytest.mark.parametrize("frame", ["see {} now", "{}", "[x]({})", "<{}>", '<a href="{}">x</a>', "({})."])
def test_b56_an_address_leaves_only_in_a_form_that_every_client_reads_alike(
    url: str, allowed: bool, frame: str
) -> None:
    text = frame.format(url)
    result = scan_outbound(text, RULES)
    assert (result.text == text) is (result.status is Status.CLEAN) is allowed
    if not allowed:
        assert url not in result.text


def test_signs_in_a_target_take_the_link_and_those_behind_it_go_alone() -> None:
    assert out(f"[x](https://corp.example.com/{tags('hi')})") == "x ⟨removed: unusable-link⟩"
    assert out("https://corp.example.com/x\u200b ok") == "https://corp.example.com/x ok"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("at \\\\drop.example.net\\share\\x ok", "at ⟨removed: composed-link⟩ ok"),
        ("at \\\\corp.example.com\\share\\x ok", None),
        ("at \\\\files\\share, and \\\\w+\\\\.com", None),
        ("at ipfs://bafybeigdyrzt/x ok", "at ⟨removed: unusable-link⟩ ok"),
        ("s3://bucket/key and postgres://db/x", None),
        ("https: or http:x", None),
        ('{"u": "https://corp.example.com\\nnext"}', None),
    ],
)
def test_shares_and_schemes_that_clients_open_are_links(text: str, left: str | None) -> None:
    assert out(text) == (text if left is None else left)


def test_a_share_that_the_user_named_stays_and_one_of_a_page_is_shown() -> None:
    text = "at \\\\files.example.net\\share ok"
    assert scan_outbound(text, RULES, origins=lambda _: LinkOrigin.NAMED).text == text
    shown = scan_outbound(text, RULES, origins=lambda _: LinkOrigin.SOURCE).text
    assert "\\\\files[.]example[.]net\\share" in shown


@pytest.mark.parametrize(
    ("host", "leaves"),
    [
        (b"the budget is 4.1M".hex() + ".corp.example.com", False),
        (base64.b32encode(b"the budget is 4.1M").decode().lower().rstrip("=") + ".drop.example.net", False),
        ("STG-0042-ABCDEF.drop.example.net", False),
        ("internationalization.service.example.com", True),
        ("evil-site.example", True),
        ("notes.final.md", True),
    ],
)
def test_a_bare_host_leaves_unless_a_label_carries_data(host: str, leaves: bool) -> None:
    assert (out(f"look at {host} now") == f"look at {host} now") is leaves


# ---- what a reviewer is shown


@pytest.mark.parametrize("region", ["gbxyz", "gb", "usca", "senditto", "gbeng!"])
def test_tags_behind_a_flag_hide_text_unless_it_is_a_flag_that_exists(region: str) -> None:
    assert _hides(f"Hello \U0001f3f4{tags(region)}\U000e007f")
    assert _hides(f"\U0001f3f4{tags('gbeng')}")
    assert _hides(f"{FLAGS[0]}{tags('x')}")


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_that_exists_hides_nothing(flag: str) -> None:
    assert not _hides(f"Hello {flag}{flag} ❤\ufe0f")
