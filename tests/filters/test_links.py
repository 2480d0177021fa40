"""Links in every written form: whatever shows the text may follow them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters import links as links_module
from checkvalve.filters.links import links

SCHEME_NAMES = links_module._SCHEME_NAMES
FORMS = [
    ("see [here](https://drop.example.net/a)", False),
    ("see <https://drop.example.net/a>", False),
    ("see https://drop.example.net/a.", False),
    ("see drop.example.net/a", False),
    ("see [here][r]\n\n[r]: https://drop.example.net/a", False),
    ("![x](https://drop.example.net/a)", True),
    ("![x][r]\n\n[r]: https://drop.example.net/a", True),
    ("![r]\n\n[r]: <https://drop.example.net/a>", True),
    ("<img src=https://drop.example.net/a>", True),
    ('<img srcset="//drop.example.net/a 2x">', True),
    ("<p style=\"background:url('https://drop.example.net/a')\">", True),
    ("<form action='https://drop.example.net/a'>", True),
    ("<i&#109;g src='https://drop.example.net/a'>", True),
    ("https://drop\u200b.example.net/a", False),
    ("https&#58;//drop.example.net/a", False),
]


@pytest.mark.parametrize(("text", "fetched"), FORMS)
def test_each_form_is_found_with_its_host(text: str, fetched: bool) -> None:
    found = [link for link in links(text) if link.host == "drop.example.net"]
    assert found
    assert found[0].auto_fetch is fetched


def test_addresses_count_and_file_names_do_not() -> None:
    found = list(links("Mail bob@x.example about report.pdf, notes.txt and main.py"))
    assert [(link.kind, link.target) for link in found] == [("email", "bob@x.example")]


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(link.target for link in links(text))


WORDS = st.sampled_from(
    [
        *SCHEME_NAMES,
        "ms-word",
        "SRC",
        "action",
        "formaction",
        "url",
        "@import",
        "<link",
        "<Image",
        "href",
        "K",
        "\u017f",
    ]
)
SIGNS = st.sampled_from(["=", ":", "(", " ", "\n", "//", "x.example", "'", ">", "-", "/plain,"])


@given(st.lists(WORDS | SIGNS, max_size=12).map("".join))
def test_looking_at_signs_alone_finds_what_looking_everywhere_finds(text: str) -> None:
    for pattern, sign, may_match in (
        (links_module._SCHEME, links_module._COLON, links_module._may_be_scheme),
        (links_module._FETCHING, links_module._FETCHING_SIGN, links_module._may_fetch),
    ):
        found = [match.span() for match in links_module._at_signs(pattern, text, sign, may_match)]
        assert found == [match.span() for match in pattern.finditer(text)]


@pytest.mark.parametrize("name", SCHEME_NAMES)
def test_each_scheme_that_is_looked_for_is_found(name: str) -> None:
    assert [link.target for link in links(f"see {name}:text/plain,abc")]
