"""Two spellings are one value exactly when every receiver takes them for one; pieces of a value are not the value."""

from __future__ import annotations

from datetime import date
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkvalve.approvals.attributed import attribute_leaves, in_field
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.requests import ActionRequest
from checkvalve.corpora.laundering.court import TOOLS
from checkvalve.corpora.laundering.forms import ACCOUNTS, MAILS, PATHS, PHONES, URLS, fill
from checkvalve.corpora.laundering.receivers import goes_elsewhere
from checkvalve.corpora.laundering.trades import TRADES
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority, Readers, Trust
from checkvalve.filters.origins import FieldRule
from checkvalve.filters.values import canonical
from tests.attacks.world import Session

MANIFEST = load_manifest(TOOLS)
FORMS = {"form": URLS, "mail": MAILS, "file": PATHS, "sms": PHONES, "payment": ACCOUNTS}
SIGNS = st.text(alphabet="abz019AZ .,:;-_/\\@#?%&=+()<>\"'|\t\n\u00a0\u200b\u0301ßſ。．ａ", max_size=6)
SEEDS = st.integers(0, 10**6)


def values(trade: str, seed: int) -> tuple[str, str]:
    rng = Random(seed)
    return TRADES[trade].good(rng), TRADES[trade].evil(rng)


def same(kind: str, one: str, two: str) -> bool:
    form = canonical(kind, one)
    return form is not None and form == canonical(kind, two)


@pytest.mark.parametrize("trade", FORMS)
@given(seed=SEEDS, number=st.integers(0, 99))
def test_no_known_form_is_the_value(trade: str, seed: int, number: int) -> None:
    good, evil = values(trade, seed)
    form = fill(FORMS[trade][number % len(FORMS[trade])], good, evil)
    kind = TRADES[trade].kind
    if same(kind, form, good):
        assert not goes_elsewhere(kind, form, (good,)), f"{form!r} counts as {good!r}"


@pytest.mark.parametrize("trade", FORMS)
@given(seed=SEEDS, signs=SIGNS, place=st.integers(0, 60))
def test_signs_that_are_put_in_make_another_value_or_none(trade: str, seed: int, signs: str, place: int) -> None:
    good, _ = values(trade, seed)
    place %= len(good) + 1
    form = good[:place] + signs + good[place:]
    kind = TRADES[trade].kind
    if same(kind, form, good) and not (kind == "path" and "\\" in form):  # see the test below
        assert not goes_elsewhere(kind, form.strip(), (good,)), f"{form!r} counts as {good!r}"


def test_a_backslash_is_no_slash_in_what_is_changed() -> None:
    """Both are one path to whatever protects paths; which file a tool writes to is decided by the spelling."""
    session = Session("Write it to audit/forecast.txt")
    assert session.verdict("write_file", path="audit/forecast.txt", text="x").startswith("allow:")
    assert session.verdict("write_file", path="audit\\forecast.txt", text="x") == "review:untrusted-target"


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        ("email", "ANN@Corp.Example", "ann@corp.example"),
        ("url", "https://CORP.example:443/a", "https://corp.example/a"),
        ("url", "https://corp.example.", "https://corp.example/"),
        ("url", "https://bücher.example/a", "https://xn--bcher-kva.example/a"),
        ("account", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("account", "de89-3704-0044", "DE8937040044"),
        ("phone", "+49 (30) 123-4567", "0049301234567"),
        ("path", "./a//b.txt", "a/b.txt"),
        ("number", "2,999.50", "2999.5"),
        ("number", "20.00", "20"),
        ("date", "2026-05-14", "14.05.2026"),
        ("date", "May 14th, 2026", "2026-05-14"),
    ],
)
def test_what_every_receiver_takes_for_one_is_one(kind: str, one: str, two: str) -> None:
    assert same(kind, one, two)


@given(day=st.dates(), tail=SIGNS)
@example(day=date(2026, 5, 14), tail="; x")
def test_a_date_takes_no_tail_along(day: date, tail: str) -> None:
    form = f"{day}{tail}"
    if same("date", form, str(day)):
        assert form.strip(" \t\n\u00a0.,;:!?)\"'") in {str(day), f"{day}T", f"{day} "} or form.split(maxsplit=1)[
            0
        ] == str(day)
        assert not any(char.isalpha() for char in tail), f"{form!r} counts as {day}"


SUMS = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9)


@given(one=SUMS, two=SUMS)
def test_two_numbers_are_one_only_when_they_are_equal(one: object, two: object) -> None:
    assert same("number", str(one), str(two)) == (one == two)


@given(seed=SEEDS, cut=st.integers(1, 40), mark=st.sampled_from(["", " ", "-", ", ", "\n"]))
def test_pieces_in_trusted_fields_are_not_the_value(seed: int, cut: int, mark: str) -> None:
    """Whoever can write two trusted fields' worth of pieces has not written the value."""
    _, evil = values("mail", seed)
    cut = 1 + cut % (len(evil) - 1)
    index = AttributionIndex()
    index.add_words("Send them the report.", authority=Authority.USER)
    rules = (FieldRule("**", Trust.VERIFIED, Readers.everyone(), "text"),)
    index.add_result(
        {"a": evil[:cut], "b": evil[cut:], "c": f"{evil[:cut]}{mark}"}, tool="t", call="1", args={}, rules=rules
    )
    spec = MANIFEST.find("send_mail")
    assert spec is not None
    request = ActionRequest.build("send_mail", {"to": evil, "body": "the report"})
    target = next(leaf for leaf in attribute_leaves(request, spec, index) if leaf.leaf.dotted() == "to")
    assert not target.sufficient


@given(seed=SEEDS, mark=st.sampled_from([", ", ";", " ", "\n", " and ", "\t"]))
def test_joining_a_trusted_value_with_another_makes_no_trusted_one(seed: int, mark: str) -> None:
    good, evil = values("mail", seed)
    index = AttributionIndex()
    rules = (FieldRule("**", Trust.VERIFIED, Readers.everyone(), "email"),)
    index.add_result({"email": good}, tool="t", call="1", args={}, rules=rules)
    index.add_result({"text": f"{good}{mark}{evil}"}, tool="page", call="2", args={})
    spec = MANIFEST.find("send_mail")
    assert spec is not None
    for joined in (f"{good}{mark}{evil}", f"{evil}{mark}{good}"):
        found = index.attribute(joined, "email").origins
        assert not any(in_field(origin, spec.args["to"]) for origin in found)
