"""Whatever a mandate says and whatever a call tries: what it lets through is what it says, and never more."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_source import NamedSource
from checkvalve.approvals.mandates import Mandate
from tests.attacks.world import Session

ACCOUNTS = ("DE89370400440532013000", "GB29NWBK60161331926819", "FR7630006000011234567890189")
AMOUNTS = ("12.50", "40", "99.99", "1000")
TOOLS = ("read_file", "read_mail", "search")
PATHS = ("a.txt", "b.txt")

sources = st.one_of(
    st.sampled_from(TOOLS), st.builds("{}(path={})".format, st.sampled_from(TOOLS), st.sampled_from(PATHS))
)
reads = st.lists(
    st.tuples(st.sampled_from(TOOLS), st.sampled_from(PATHS), st.sampled_from(ACCOUNTS), st.sampled_from(AMOUNTS)),
    max_size=5,
)
limits = st.sampled_from([None, Decimal(13), Decimal("99.99"), Decimal(500)])


@st.composite
def given_mandates(draw: st.DrawFn) -> Mandate:
    amount = draw(limits)
    named = draw(st.sets(st.sampled_from([Role.TARGET, Role.SELECTOR, Role.CONTENT]), min_size=1))
    roles = tuple(named | {Role.AMOUNT}) if amount is not None and draw(st.booleans()) else tuple(named)
    return Mandate(draw(sources), draw(st.sampled_from(["pay", "send_mail"])), roles, amount)


@dataclass(frozen=True)
class Left:
    mandate: Mandate
    calls_left: int
    amount_left: Decimal | None
    id: str = "m"


def meant(mandate: Mandate, tool: str, path: str) -> bool:
    named = NamedSource.parse(mandate.source)
    return named.name == tool and named.args in {None, (("path", path),)}


@pytest.mark.claim("C3")
@settings(max_examples=150, deadline=None)
@given(
    mandate=given_mandates(),
    read=reads,
    account=st.sampled_from(ACCOUNTS),
    amount=st.sampled_from(AMOUNTS),
    calls=st.integers(-1, 2),
    left=limits,
    own=st.booleans(),
)
def test_a_call_that_a_mandate_lets_through_is_one_that_it_names(
    mandate: Mandate,
    read: list[tuple[str, str, str, str]],
    account: str,
    amount: str,
    calls: int,
    left: Decimal | None,
    own: bool,
) -> None:
    session = Session("Pay what is due")
    for tool, path, payee, due in read:
        if own:  # the agent itself wrote it there
            session.read("write_file", "done", path=path, text=f"{payee} {due}")
        session.read(tool, f"Please pay {due} EUR to {payee} soon", path=path)
    left = None if mandate.total is None else left
    session.mandates = [Left(mandate, calls, left)]  # type: ignore[list-item]  # the protocol of a granted one
    decision = session.propose("pay", account=account, amount=float(amount), express=False)
    covered = {item.role for item in decision.arguments if item.covered_by == "mandate"}
    if not covered:
        return
    assert not own
    assert calls > 0
    assert mandate.tool == "pay"
    assert covered <= set(mandate.roles)
    stands = [entry for entry in read if meant(mandate, entry[0], entry[1])]
    if "target" in covered:
        assert account in {entry[2] for entry in stands}
    if "amount" in covered:
        assert amount in {entry[3] for entry in stands}
    if mandate.per_call is not None:
        assert left is not None
        assert Decimal(amount) <= min(mandate.per_call, left)
    if decision.verdict.name == "allow":
        assert [use.id for use in decision.uses] == ["m"]


texts = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=30)
names = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True)


@given(name=names, args=st.none() | st.dictionaries(names, texts, max_size=4), fields=st.dictionaries(names, texts))
def test_a_source_is_read_back_as_it_was_written(
    name: str, args: dict[str, str] | None, fields: dict[str, str]
) -> None:
    made = NamedSource(name, None if args is None else tuple(sorted(args.items())), tuple(sorted(fields.items())))
    assert NamedSource.parse(str(made)) == made


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("source", "tool", "roles", "max_amount", "max_total", "max_calls", "effect", "values", "hosts", "expires_at")


@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), json_values) | json_values)
def test_whatever_is_no_mandate_is_one_clear_error(data: Any) -> None:
    try:
        found = Mandate.from_json(data)
    except MandateError:
        return  # and no other error
    assert Mandate.from_json(found.to_json()) == found


@given(
    mandate=given_mandates(),
    effect=st.sampled_from(["", *Effect]),
    hosts=st.lists(st.sampled_from(["shop.example", "*.shop.example"])),
    until=st.none() | st.integers(1_800_000_000_000_000, 1_900_000_000_000_000),
)
def test_a_mandate_survives_its_published_form(
    mandate: Mandate, effect: str, hosts: list[str], until: int | None
) -> None:
    made = Mandate(
        mandate.source, mandate.tool, mandate.roles, mandate.per_call, effect=effect, hosts=tuple(hosts),
        values=(("account", ACCOUNTS),), delegates="do it", expires_at=until, max_calls=7,
    )  # fmt: skip
    assert Mandate.from_json(made.to_json()) == made


@given(at=st.integers(0, 10), expires=st.integers(0, 10), ended=st.none() | st.integers(0, 10))
def test_it_counts_only_before_its_deadline_and_its_end(at: int, expires: int, ended: int | None) -> None:
    mandate = Mandate("read_file", "pay", ("target",))
    entry = MandateEntry(
        mandate, "m", "", "t", "bob", "host:bob", 0, expires, 1, ended, "reviewer:ann" if ended else ""
    )
    assert entry.holds(at) == (at < expires and (ended is None or at < ended))
    assert (entry.state(at) == "in force") == entry.holds(at)
