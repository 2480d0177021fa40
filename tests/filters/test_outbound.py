"""What leaves: links in every form, hosts, registered values and the text of prompts."""

from __future__ import annotations

import base64
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.links import links
from checkvalve.filters.outbound.hosts import HostRules, address_of
from checkvalve.filters.outbound.judge import LinkRules, has_blob, nested
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outcomes import ContentOutcome, Status
from tests.filters.outbound_texts import EVIL, FORMS, KEPT, PROMPT, RULES, origins, out

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
