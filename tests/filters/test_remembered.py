"""Memory: storing, merging and telling again never make a label better, and what is over does not return."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.errors import LabelError
from checkvalve.filters.labels import UNKNOWN, Authority, Label, Readers, Source, Trust, join, user_label
from checkvalve.filters.remembered import (
    DAY,
    VERIFIED_FOR,
    Remembered,
    displayed,
    endorsed,
    is_current,
    recalled,
    stamped,
    to_forget,
    writing,
)

MAIL = Source("tool", "mail/1", "eve@drop.example")
FOREIGN = Label(Trust.UNTRUSTED, Authority.NONE, Readers.of(["me@corp.example"]), frozenset({MAIL}))
OURS = Label(Trust.VERIFIED, Authority.NONE, Readers.everyone(), frozenset({Source("tool", "crm")}))
USER = user_label(author="me@corp.example")
NOW = 1_790_000_000_000

labels = st.builds(
    Label,
    st.sampled_from(Trust),
    st.sampled_from(Authority),
    st.sampled_from([Readers.everyone(), Readers.nobody(), Readers.of(["a"]), Readers.of(["a", "b"])]),
    st.frozensets(st.sampled_from([MAIL, Source("tool", "crm"), Source("user")])),
)


def entry(text: str, *lineage: Label, name: str = "m1", made_from: tuple[Remembered, ...] = ()) -> Remembered:
    return stamped(text, lineage, id=name, writer="agent", now=NOW, made_from=made_from)


@pytest.mark.parametrize(
    ("lineage", "what"),
    [([USER], "keep"), ([OURS], "expire"), ([FOREIGN], "review"), ([USER, FOREIGN], "review"), ([], "review")],
)
def test_a_write_is_worth_the_worst_of_what_it_was_made_from(lineage: list[Label], what: str) -> None:
    assert writing(entry("x", *lineage).label) == what
    assert entry("x", *lineage).label == (join(lineage) if lineage else UNKNOWN)


@given(st.lists(labels, max_size=4), st.lists(labels, min_size=1, max_size=3))
def test_merging_and_saving_again_never_raises_a_label(lineage: list[Label], parents: list[Label]) -> None:
    made = tuple(entry("p", label, name=f"p{number}") for number, label in enumerate(parents))
    merged = entry("summary", *lineage, made_from=made)
    assert all(merged.label <= label for label in (*lineage, *(one.label for one in made)))
    again = entry("summary", made_from=(merged,), name="m2")
    assert again.label <= merged.label
    ((value, _),) = recalled([again], NOW)
    assert value.label <= again.label
    assert value.label.authority is Authority.NONE


def test_what_is_verified_ends_and_a_merger_ends_with_its_first_part() -> None:
    ours = entry("x", OURS)
    assert ours.valid_until == NOW + VERIFIED_FOR
    short = stamped("y", [OURS], id="m2", writer="agent", now=NOW, valid_until=NOW + DAY)
    assert entry("z", made_from=(ours, short), name="m3").valid_until == NOW + DAY
    assert entry("z", USER).valid_until is None
    with pytest.raises(LabelError):
        stamped("x", [OURS], id="m", writer="a", now=NOW, valid_until=NOW)


def test_what_is_over_or_cannot_be_told_does_not_return() -> None:
    ours = entry("x", OURS)
    assert is_current(ours, NOW + VERIFIED_FOR - 1)
    assert not is_current(ours, NOW + VERIFIED_FOR)
    assert not is_current(ours, NOW - 1)
    for wrong in ("2026-11-30T09:00:00+02:00", 1.5, True):
        assert not is_current(replace(ours, valid_until=wrong), NOW)  # type: ignore[arg-type]  # a damaged row
    assert recalled([ours], NOW + VERIFIED_FOR) == []


def test_reading_says_where_it_came_from_and_how_old_it_is_and_leaves_out_what_was_replaced() -> None:
    old, new = entry("Berlin", USER), replace(entry("Bonn", USER, name="m2"), supersedes="m1")
    ((value, age),) = recalled([old, new], NOW + DAY)
    assert (value.reveal()[0], age) == ("Bonn", DAY)
    assert Source("memory", "m2", "agent") in value.label.sources


def test_only_an_endorsement_raises_a_label_and_it_names_who_and_why() -> None:
    foreign = entry("x", FOREIGN)
    better = endorsed(foreign, by="ann", evidence="called the customer", now=NOW)
    assert (better.label.trust, better.verified_by, better.label.sources) == (Trust.VERIFIED, "ann", frozenset({MAIL}))
    assert better.label.readers == FOREIGN.readers
    for by, evidence, trust in (
        ("", "x", Trust.VERIFIED),
        ("ann", "", Trust.VERIFIED),
        ("ann", "x", Trust.AUTHORITATIVE),
    ):
        with pytest.raises(LabelError):
            endorsed(foreign, by=by, evidence=evidence, now=NOW, trust=trust)


@given(labels, st.none() | st.integers(1, 3 * VERIFIED_FOR), st.none() | st.integers(1, 3 * VERIFIED_FOR))
def test_what_a_person_accepted_always_ends_and_never_later_than_before(
    label: Label, before: int | None, asked: int | None
) -> None:
    old = replace(entry("x", label), valid_until=None if before is None else NOW + before)
    until = None if asked is None else NOW + asked
    better = endorsed(old, by="ann", evidence="called the customer", now=NOW, valid_until=until)
    ends = [end for end in (before, asked) if end is not None] or [VERIFIED_FOR]
    assert better.valid_until == NOW + min(ends)
    assert not is_current(better, better.valid_until)
    assert better.label.trust >= Trust.VERIFIED or label.trust > Trust.VERIFIED


def test_what_is_over_or_not_written_yet_cannot_be_accepted_back_to_life() -> None:
    over = stamped("x", [FOREIGN], id="m", writer="agent", now=NOW, valid_until=NOW + DAY)
    for at in (NOW + DAY, NOW + 2 * DAY, NOW - 1):
        with pytest.raises(LabelError, match="write it anew"):
            endorsed(over, by="ann", evidence="x", now=at)
    with pytest.raises(LabelError, match="later time"):
        endorsed(entry("x", FOREIGN), by="ann", evidence="x", now=NOW, valid_until=NOW)


@pytest.mark.parametrize("claims", [FOREIGN, OURS, UNKNOWN])
def test_nobody_elses_text_takes_the_place_of_the_users_own(claims: Label) -> None:
    own = entry("pay to DE11", USER)
    other = replace(entry("pay to DE99", claims, name="m2"), supersedes="m1")
    found = {value.reveal()[0]: value.label.trust for value, _ in recalled([own, other], NOW)}
    assert set(found) == {"pay to DE11", "pay to DE99"}
    assert found["pay to DE99"] <= claims.trust
    twin = replace(entry("pay to DE98", claims, name="m1"), supersedes="")  # the same id does not help it either
    assert "pay to DE11" in {value.reveal()[0] for value, _ in recalled([own, twin, other], NOW)}
    alone = replace(own, supersedes="m1")
    assert [value.reveal()[0] for value, _ in recalled([alone], NOW)] == ["pay to DE11"]


@given(labels, labels)
def test_an_entry_gives_way_exactly_to_what_is_worth_as_much(old: Label, new: Label) -> None:
    entries = [entry("old", old), replace(entry("new", new, name="m2"), supersedes="m1")]
    kept = {value.reveal()[0] for value, _ in recalled(entries, NOW)}
    gives_way = new.trust >= old.trust and new.authority >= old.authority
    assert kept == ({"new"} if gives_way else {"old", "new"})


def test_forgetting_goes_over_any_number_of_steps_and_no_further() -> None:
    first, other = entry("a", FOREIGN, name="a"), entry("b", OURS, name="b")
    second = replace(entry("c", made_from=(first,), name="c"), label=OURS)  # even where its label hides it
    third = entry("d", made_from=(second, other), name="d")
    entries = {one.id: one for one in (first, other, second, third)}
    assert to_forget(entries, MAIL) == {"a", "c", "d"}
    assert to_forget(entries, "b") == {"b", "d"}
    assert to_forget(entries, Source("tool", "none")) == frozenset()


def test_a_text_is_shown_without_anything_hidden() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "go")
    assert displayed(f"ok{hidden}\u202e\x1b[2J⟨\nx") == "ok⟨U+E0067⟩⟨U+E006F⟩⟨U+202E⟩⟨U+001B⟩[2J⟨U+27E8⟩\nx"
    assert "secret" not in repr(entry("secret", USER))
