"""Declared secrets are found again in texts, whatever signs they are made of: pure rules, without a store."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.declared_secrets import MAX_FORMS, told
from checkvalve.approvals.redaction import Veil, apart
from checkvalve.approvals.veiled import MARK

LONG = json.dumps(
    {
        "type": "robot",
        "project": "otter-lantern-eu",
        "mail": "robot@lantern.example",
        "more": "grey heron on a pole " * 14,
    },
    indent=1,
)


def hidden(text: str, *secrets: str) -> str:
    return Veil(b"k" * 32, told=told(secrets)).text(text)


def test_no_sign_that_there_is_makes_it_fail() -> None:
    odd = [char for char in map(chr, range(sys.maxunicode + 1)) if not char.isascii() and char.isalnum()]
    odd += ["\u3164", "\uffa0", "\u115f", "\U000e0041", "\u200b", "\ud800", "\uff9e", "\ufdfa", "\u0130"]
    told(char * size for char in odd[:: max(1, len(odd) // 400)] for size in (1, 6, 300))
    for char in odd[-9:]:
        for size in (6, 12, 300):
            told([char * size]).find("text")
            assert list(told([char * size]).find(f"a {char * size} b")) or not char.strip() or char == "\u200b"


@given(st.lists(st.text(max_size=300), max_size=4), st.text(max_size=60))
def test_any_secrets_and_any_text_have_an_answer(secrets: list[str], text: str) -> None:
    found = list(told(secrets).find(text))
    assert all(0 <= hit.start < hit.end <= len(text) for hit in found)


@pytest.mark.parametrize("secret", ["!#%&/()=?-+*!!", "a$$%%&&//((b)", "\u00e9!9?\u00a7", "\u3164" * 6, "#!/?"])
def test_a_secret_of_signs_is_found_as_it_stands(secret: str) -> None:
    text = hidden(f"use {secret} there", secret)
    assert secret not in text
    assert MARK.search(text)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"key": LONG}),
        json.dumps(json.dumps({"key": LONG})),
        " ".join(LONG.split()),
        "\n".join(textwrap.wrap(LONG, 60)),
        LONG.upper(),
    ],
)
def test_a_long_secret_is_found_escaped_and_wrapped(text: str) -> None:
    assert len(LONG) > MAX_FORMS
    found = hidden(f"see {text} so", LONG)
    assert found.startswith("see ")
    assert found.endswith(" so")
    for word in ("heron", "robot@", "otter"):
        assert word not in found.lower()


def test_a_part_of_a_long_secret_is_hidden_to_its_ends_and_no_further() -> None:
    key = "Q7x" + "".join(f"kZ9pLm2{number}" for number in range(60))
    for start in range(12):
        found = hidden(f"<{key[start : start + 50]}>", key)
        assert MARK.sub("", found) == "<>"
    assert hidden(f"<{key[:20]}>", key) == f"<{key[:20]}>"  # the limit


def test_names_that_would_look_the_same_stay_apart() -> None:
    found = apart(["a", "b", "a (2)"], lambda name: name[0])
    assert len(set(found.values())) == len(found) == 3
