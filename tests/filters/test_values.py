"""Canonical forms: one thing in two spellings is one string, and two things never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.entities import entities
from checkvalve.filters.values import canonical, canonical_host, url_host

SAME = [
    ("email", "Bob@Example.com", "bob@example.com"),
    ("email", "<bob@example.com>", "bob@example.com"),
    ("email", "bob@example.com", "bob@example.com"),
    ("url", "https://www.x.com/", "www.x.com"),
    ("url", "https://X.com:443/a/", "x.com/a"),
    ("url", "https://x.com./a", "https://x.com/a"),
    ("account", "GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819"),
    ("phone", "+1 (555) 010-9999", "15550109999"),
    ("phone", "0049 30 1234567", "+49-30-1234567"),
    ("number", "1,200.50", "1200.5"),
    ("number", "98.70", "98.7"),
    ("path", "./docs//a.txt", "docs/a.txt"),
    ("path", "docs\\a.txt", "docs/a.txt"),
    ("date", "May 15th, 2024", "2024-05-15"),
    ("date", "15 May 2024", "2024-05-15"),
    ("date", "2024-05-15T10:00", "2024-05-15 10:00"),
    ("name", "  Blue   Sparrow ", "blue sparrow"),
]


@pytest.mark.parametrize(("kind", "one", "other"), SAME)
def test_two_spellings_of_one_value_are_equal(kind: str, one: str, other: str) -> None:
    assert canonical(kind, one) == canonical(kind, other)
    assert canonical(kind, one) is not None


NO_VALUE = [
    *[("number", text) for text in ("1e3", "13k", "0x13", "$ 12", "2,999", "1 2", "NaN", "", "12.", "1,2,3")],
    *[
        ("email", text)
        for text in (
            "mailto:ann@acme.com?bcc=eve@drop.example",
            "x\r\nBcc: root\r\nX: <ann@acme.com>",
            "All Staff; <ann@acme.com>",
            "ann@acme.com, eve@drop.example",
            "ann@acme.com.by,",
            "ann@gmail\u0325.com",
            "kunde@sparka\u00dfe.de",
            "<ann@acme.com",
            "Ann <ann@acme.com>",
        )
    ],
    *[
        ("url", text)
        for text in ("https://a.example\\@b.example", "https://a@b.example", "a.example/x y", "mailto:x@y.example")
    ],
    *[("account", text) for text in ("rent", "the", "GB29/NWBK", "GB29 NWBK\u00b9")],
]


@pytest.mark.claim("C3")
@pytest.mark.parametrize(("kind", "text"), NO_VALUE)
def test_what_is_no_value_of_its_kind_has_no_form(kind: str, text: str) -> None:
    assert canonical(kind, text) is None


def test_numbers_in_running_text_are_read_as_people_write_them() -> None:
    def numbers(text: str) -> list[str]:
        return [form for kind, form, *_ in entities(text) if kind == "number"]

    assert numbers("Überweise 1,99 Euro und 12,50 EUR") == ["1.99", "12.5"]
    assert numbers("1.234,50 or 1,234.50 or 1,234,567") == ["1234.5", "1234.5", "1234567"]
    assert numbers("2,999 could be either") == []
    assert numbers("account GB29 NWBK 6016 1331 9268 19 on 2031-05-01") == []


def test_an_address_is_not_the_tail_of_a_longer_one() -> None:
    assert [
        form for kind, form, *_ in entities("sales&marketing@corp.com, \u00e9ric@gmail.com") if kind == "email"
    ] == []


def test_a_file_name_is_no_host() -> None:
    assert [form for kind, form, *_ in entities("notes.md, setup.py, install.sh, invoice.zip") if kind == "url"] == []


DIFFERENT = [
    ("url", "https://www.sparka\u00dfe.de/", "https://www.sparkasse.de/"),
    ("url", "https://x.com/post", "https://x.com/post!?;:"),
    ("url", "https://x.com/post", "https://x.com/post//"),
    ("url", "https://x.com/post", "https://x.com/%70ost"),
    ("email", "bob@example.com", "bob@example.com.evil.net"),
    ("email", "bob@example.com", "b.ob@example.com"),
    ("email", "bob@example.com", "bob+x@example.com"),
    ("email", "аnn@example.com", "ann@example.com"),
    ("url", "https://corp.example.com/", "https://corp.example.com.drop.example.net/"),
    ("url", "https://corp.example.com/", "https://corp.example.com@drop.example.net/"),
    ("url", "https://x.com/a", "https://x.com/a?c=1"),
    ("url", "https://x.com/a", "https://x.com:8443/a"),
    ("url", "https://x.com/a", "ftp://x.com/a"),
    ("account", "GB29NWBK60161331926819", "GB29NWBK60161331926818"),
    ("number", "12", "120"),
    ("date", "2024-05-15", "2024-05-16"),
    ("path", "docs/a.txt", "docs/a.txt.bak"),
]


@pytest.mark.claim("C3")
@pytest.mark.parametrize(("kind", "one", "other"), DIFFERENT)
def test_two_values_are_never_made_equal(kind: str, one: str, other: str) -> None:
    assert canonical(kind, one) != canonical(kind, other)


# The host a client connects to; None is a refusal. Numbers as in the table of measured host strings.
HOSTS = [
    ("https://corp.example.com@drop.example.net/x", None),
    ("https://corp.example.com.drop.example.net/", "corp.example.com.drop.example.net"),
    ("https://drop.example.net\\@corp.example.com/", None),
    ("https://corp.example.com./a", "corp.example.com"),
    ("https://CORP.example.com:443/a", "corp.example.com"),
    ("https://corp.example.com%00.drop.example.net/", None),
    ("http://2130706433/", "127.0.0.1"),
    ("https://drop.example.net/#corp.example.com", "drop.example.net"),
    ("//drop.example.net/x", "drop.example.net"),
    ("https:drop.example.net", None),
    ("https://ｃｏｒｐ.example.com/", "corp.example.com"),
    ("https://corp.example.com。drop.example.net/", "corp.example.com.drop.example.net"),
]


@pytest.mark.claim("C3")
@pytest.mark.parametrize(("url", "host"), HOSTS)
def test_a_url_names_the_host_that_a_client_connects_to(url: str, host: str | None) -> None:
    assert url_host(url) == host


@pytest.mark.parametrize("text", ["", "%", "a\\b", "a\0b", "."])
def test_no_host_is_made_of_rubbish(text: str) -> None:
    assert canonical_host(text) is None


@given(
    st.sampled_from(["email", "url", "host", "account", "phone", "number", "path", "date", "name", "id:x"]), st.text()
)
def test_canonical_is_total_and_stable(kind: str, text: str) -> None:
    form = canonical(kind, text)
    assert form is None or canonical(kind, form) in {form, None} or kind in {"url", "phone", "date"}


@given(st.text())
def test_entities_are_inside_the_text(text: str) -> None:
    for _kind, form, start, end in entities(text):
        assert form
        assert 0 <= start < end <= len(text)


def test_entities_find_each_kind() -> None:
    text = (
        "Write bob@example.com, see https://x.com/a. or y.org/b; pay GB29 NWBK 6016 1331 9268 19, 1,200.50 EUR, "
        "call +1 555 010 9999"
    )
    found = {(kind, form) for kind, form, *_ in entities(text)}
    assert {
        ("email", "bob@example.com"),
        ("url", "//x.com/a"),
        ("url", "//y.org/b"),
        ("account", "GB29NWBK60161331926819"),
        ("number", "1200.5"),
        ("phone", "15550109999"),
    } <= found
    assert ("url", "//example.com") not in found


def test_an_address_next_to_han_text_is_found_alone() -> None:
    assert [form for kind, form, *_ in entities("请写信给amy@corp.example.com谢谢") if kind == "email"] == [
        "amy@corp.example.com"
    ]
