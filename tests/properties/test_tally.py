"""Counting votes: against a plain search over all ways to seat people, and never looser by a no or by fewer voices."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.plans import Need, Plan
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Role
from checkvalve.approvals.votes import Vote, reachable, shortfall, tally

ROLES = (Role.APPROVER, Role.AUDITOR, Role.RESPONDER)
PEOPLE = ("ann", "ben", "cem", "dan")
needs = st.lists(st.tuples(st.integers(1, 2), st.sampled_from(ROLES)), min_size=1, max_size=2, unique_by=lambda n: n[1])
alternatives = st.lists(needs, min_size=1, max_size=3).map(
    lambda found: tuple(tuple(Need(count, role) for count, role in one) for one in found)
)
voters = st.dictionaries(st.sampled_from(PEOPLE), st.sets(st.sampled_from(ROLES)), max_size=4)


def vote(person: str, roles: set[Role], *, yes: bool = True) -> Vote:
    return Vote("p", person, person, yes, frozenset(roles), "", "d", endorse=True, code="", note="", at=1)


def most_seated(places: list[Role], people: dict[str, set[Role]]) -> int:
    """Return how many places can be filled, by trying every order of people."""
    seats: list[str | None] = [*people, *([None] * len(places))]
    return max(
        sum(person is not None and role in people[person] for role, person in zip(places, order, strict=False))
        for order in permutations(seats, len(places))
    )


@given(alternatives, voters)
def test_what_is_missing_is_what_no_seating_can_fill(
    ways: tuple[tuple[Need, ...], ...], people: dict[str, set[Role]]
) -> None:
    for way in ways:
        places = [need.role for need in way for _ in range(need.count)]
        assert sum(need.count for need in shortfall(way, people)) == len(places) - most_seated(places, people)


@given(alternatives, voters)
def test_yes_needs_a_way_that_is_filled(ways: tuple[tuple[Need, ...], ...], people: dict[str, set[Role]]) -> None:
    plan = Plan(Tier.HIGH, approve=ways)
    found = tally(plan, [vote(person, roles) for person, roles in people.items()])
    assert (found.decided == "yes") == any(not shortfall(way, people) for way in ways)
    assert (found.decided == "yes") <= reachable(plan, people)


@given(alternatives, voters, st.sampled_from(PEOPLE), st.integers(1, 2))
def test_a_no_and_a_missing_voice_only_make_it_stricter(
    ways: tuple[tuple[Need, ...], ...], people: dict[str, set[Role]], who: str, deny: int
) -> None:
    plan = Plan(Tier.HIGH, approve=ways, deny=deny)
    cast = [vote(person, roles) for person, roles in people.items()]
    without = [one for one in cast if one.person != who]
    turned = [*without, vote(who, set(), yes=False)]
    if tally(plan, cast).decided != "yes":
        assert tally(plan, without).decided != "yes"
        assert tally(plan, turned).decided != "yes"
    assert (tally(plan, turned).decided == "no") == (deny == 1)


@given(
    alternatives, voters, st.sampled_from(PEOPLE), st.sampled_from([Tier.LOW, Tier.MEDIUM, Tier.HIGH, Tier.CRITICAL])
)
def test_the_editor_of_a_grave_call_never_decides_alone(
    ways: tuple[tuple[Need, ...], ...], people: dict[str, set[Role]], editor: str, tier: Tier
) -> None:
    plan = Plan(tier, approve=ways, edited_by=editor)
    found = tally(plan, [vote(person, roles) for person, roles in people.items()])
    if tier in {Tier.HIGH, Tier.CRITICAL} and found.decided == "yes":
        assert people.keys() - {editor}
    alone = tally(plan, [vote(editor, set(ROLES))])
    assert alone.decided == "" or tier in {Tier.LOW, Tier.MEDIUM}
