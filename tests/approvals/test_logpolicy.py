"""The policy of witnesses: read strictly, evaluated by groups, and applied to what was cosigned."""

from __future__ import annotations

import itertools
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logpolicy import MAX_GROUPS, MAX_NESTED, PolicySyntaxError, parse_policy
from checkvalve.approvals.notes import ED25519_TIMED, PublicKey

LOG = LogKey.new("log.example/a")
WITNESSES = [LogKey.new(f"w{number}.example", classic=ED25519_TIMED) for number in range(6)]
V = [str(one.public[0]) for one in WITNESSES]
LOGLINES = "".join(f"log {key}\n" for key in LOG.public)
TWO_LEVELS = f"""# two houses
{LOGLINES}
 \twitness X1 {V[0]}  https://x1.example/
witness X2 {V[1]}
witness X3 {V[2]}
group  X\t2 X1 X2 X3

witness Y1 {V[3]}
witness Y2 {V[4]}
group Y any Y1 Y2
group both all X Y
quorum both
"""


def parsed(text: str) -> object:
    return parse_policy(text.encode())


@pytest.mark.claim("C5")
def test_a_quorum_of_two_levels_is_what_its_groups_say() -> None:
    policy = parse_policy(TWO_LEVELS.encode())
    assert policy.keys_of("") == policy.keys_of(LOG.origin) == LOG.public
    assert policy.keys_of("another.example") == ()
    names = ["X1", "X2", "X3", "Y1", "Y2"]
    for count in range(6):
        for chosen in itertools.combinations(names, count):
            there = frozenset(chosen)
            expected = len(there & {"X1", "X2", "X3"}) >= 2 and bool(there & {"Y1", "Y2"})
            assert policy.is_met(there) is expected, chosen
            assert bool(policy.lacks(there)) is not expected
    assert policy.lacks(frozenset({"X1"})) == [
        "2 of group both (X, Y)",
        "1 of group X (X2, X3)",
        "1 of group Y (Y1, Y2)",
    ]
    assert not policy.is_met(frozenset({"Y3", "both", "X", "Y"})), "nobody signs as a group"


def test_one_witness_and_none() -> None:
    one = parse_policy(f"witness w {V[0]}\nquorum w\n".encode())
    assert (one.is_met(frozenset()), one.is_met(frozenset({"w"})), one.lacks(frozenset())) == (
        False,
        True,
        ["witness w"],
    )
    assert parse_policy(b"quorum none\n").is_met(frozenset())
    several = parse_policy(f"log {LOG.public[0]}\nlog {LogKey.new('b.example').public[0]}\nquorum none\n".encode())
    assert (several.keys_of(""), several.keys_of(LOG.origin)) == ((), LOG.public[:1])


def test_a_witness_with_several_keys_is_named() -> None:
    keys = WITNESSES[0].public
    text = "".join(f"witness w{number} {key}\n" for number, key in enumerate(keys)) + "group g any w0\nquorum g\n"
    assert parse_policy(text.encode()).twice() == ([keys[0].name] if len(keys) > 1 else [])


WRONG: dict[str, tuple[int, str, str]] = {
    "no quorum": (2, "no line that says the quorum", f"witness w {V[0]}\n"),
    "empty": (1, "no line that says the quorum", ""),
    "two quorums": (3, "said before", f"witness w {V[0]}\nquorum w\nquorum none\n"),
    "a quorum of nobody": (1, "no line before defines", "quorum w\n"),
    "a quorum that comes later": (1, "no line before defines", f"quorum w\nwitness w {V[0]}\n"),
    "two names in the quorum": (2, "the form is", f"witness w {V[0]}\nquorum w w\n"),
    "an unknown word": (1, "begins with", "wittness w x\nquorum none\n"),
    "a word in capitals": (1, "begins with", "Quorum none\n"),
    "no key": (1, "the form is", "witness w\nquorum none\n"),
    "a broken key": (1, "no public key", "witness w x+y+z\nquorum none\n"),
    "a key with a changed byte": (1, "lost or changed", f"witness w {V[0].replace('w0.', 'w9.')}\nquorum none\n"),
    "a log's key for a witness": (1, "no key of a witness", f"witness w {LOG.public[0]}\nquorum none\n"),
    "a witness's key for a log": (1, "no key of a log", f"log {V[0]}\nquorum none\n"),
    "a third thing behind the key": (1, "the form is", f"log {LOG.public[0]} url more\nquorum none\n"),
    "the same name twice": (2, "defined before", f"witness w {V[0]}\nwitness w {V[1]}\nquorum none\n"),
    "a group like a witness": (2, "defined before", f"witness w {V[0]}\ngroup w any w\nquorum none\n"),
    "a witness called none": (1, "called none", f"witness none {V[0]}\nquorum none\n"),
    "none in a group": (1, "no line before defines none", "group g any none\nquorum none\n"),
    "the same key twice": (2, "line 1", f"witness a {V[0]}\nwitness b {V[0]}\nquorum none\n"),
    "a group of itself": (1, "no line before defines", "group g any g\nquorum g\n"),
    "an empty group": (1, "the form is", "group g any\nquorum none\n"),
    "a member twice": (2, "member already", f"witness w {V[0]}\ngroup g any w w\nquorum g\n"),
    "a member of two groups": (3, "member already", f"witness w {V[0]}\ngroup g any w\ngroup h any w\nquorum g\n"),
    "nobody needed": (2, "cannot be asked for", f"witness w {V[0]}\ngroup g 0 w\nquorum g\n"),
    "more needed than there are": (2, "cannot be asked for", f"witness w {V[0]}\ngroup g 2 w\nquorum g\n"),
    "a number with a sign": (2, "cannot be asked for", f"witness w {V[0]}\ngroup g +1 w\nquorum g\n"),
    "a number of another script": (2, "cannot be asked for", f"witness w {V[0]}\ngroup g ١ w\nquorum g\n"),
    "a carriage return": (1, "0x0d", "quorum none\r\n"),
    "a null byte": (2, "0x00", "# x\n# \x00\nquorum none\n"),
    "a line that was cut off": (2, "cut off", f"witness wx {V[0]}\nquorum w"),
    "a space that is none": (1, "begins with", "quorum\u00a0none\n"),
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("name", sorted(WRONG))
def test_whatever_is_not_of_the_form_is_an_error_that_names_its_line(name: str) -> None:
    line, words, text = WRONG[name]
    with pytest.raises(PolicySyntaxError, match=words) as told:
        parsed(text)
    assert told.value.line == line


def chain(count: int) -> str:
    """Return a policy of groups one within the other, the first with the only witness."""
    lines = [f"witness g0 {V[0]}", *(f"group g{number} 1 g{number - 1}" for number in range(1, count + 1))]
    return "\n".join([*lines, f"quorum g{count}", ""])


@pytest.mark.claim("C5")
def test_groups_are_nested_as_deep_as_may_be_and_no_deeper() -> None:
    policy = parse_policy(chain(MAX_NESTED).encode())
    assert policy.is_met(frozenset({"g0"}))
    assert policy.lacks(frozenset())[-1] == "1 of group g1 (g0)"
    assert len(policy.lacks(frozenset())) == MAX_NESTED
    for count in (MAX_NESTED + 1, 3_000):  # the second was too deep to say what is missing
        with pytest.raises(PolicySyntaxError, match="nested more than 32 deep") as told:
            parsed(chain(count))
        assert told.value.line == MAX_NESTED + 2


@pytest.mark.claim("C5")
def test_there_are_as_many_groups_as_may_be_and_no_more() -> None:
    """Each is a group of its own witness, beside the others."""
    keys = [PublicKey("w.example", ED25519_TIMED, number.to_bytes(32, "big")) for number in range(MAX_GROUPS + 1)]
    lines = [f"witness w{number} {key}\ngroup g{number} any w{number}\n" for number, key in enumerate(keys)]
    policy = parse_policy(("".join(lines[:-1]) + "quorum g7\n").encode())
    assert policy.is_met(frozenset({"w7"}))
    assert policy.lacks(frozenset({"w6"})) == ["1 of group g7 (w7)"]
    assert policy.twice() == ["w.example"]
    assert len(policy.groups) == MAX_GROUPS
    with pytest.raises(PolicySyntaxError, match="at most 1000 groups") as told:
        parsed("".join(lines) + "quorum g7\n")
    assert told.value.line == 2 * MAX_GROUPS + 2


def test_the_log_s_own_key_is_no_witness() -> None:
    later = [key for key in LOG.public if key.kind != LOG.public[0].kind]
    for key in later:  # ML-DSA-44 may be a log's and a witness's
        with pytest.raises(PolicySyntaxError, match="stands in line 1"):
            parsed(f"log {key}\nwitness w {PublicKey('w.example', key.kind, key.raw)}\nquorum w\n")


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=80), st.integers(0, len(TWO_LEVELS.encode())))
def test_any_bytes_are_a_policy_or_an_error_with_a_line(data: bytes, at: int) -> None:
    whole = TWO_LEVELS.encode()
    for text in (data, whole[:at] + data + whole[at:], whole[:at]):
        line = 1
        with suppress(PolicySyntaxError):
            try:
                parse_policy(text)
            except PolicySyntaxError as error:
                line = error.line
                raise
        assert 1 <= line <= text.count(b"\n") + 1
