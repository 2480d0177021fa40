"""No call outside of what a standing rule says is covered by it, whatever a model does to the spelling of a call.

The oracle is written anew here, in terms of plain Python values; it shares no code with the rules.
"""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.standing import Constraint, StandingRule, canonical_text, parsed
from checkvalve.approvals.standing_cover import AskedCall, covers

pytestmark = pytest.mark.claim("C4")

ARGS: dict[str, Any] = {
    "to": "ann@partner.example",
    "cc": ["bob@partner.example", "eve@partner.example"],
    "account": "DE89 3704 0044 0532 0130 00",
    "path": "/srv/reports/2030",
    "url": "https://docs.partner.example/a?b=1",
    "amount": 60,
    "mode": {"draft": False, "copies": 1},
    "body": "The report is attached",
}
ROLES = {
    "to": "target", "cc.0": "target", "cc.1": "target", "account": "target", "path": "target", "url": "target",
    "amount": "amount", "mode.draft": "control", "mode.copies": "control", "body": "content",
}  # fmt: skip
KINDS = {"to": "email", "cc": "email", "account": "account", "path": "path", "url": "url", "amount": "number"}
FACTS = {
    "readers_ok": True, "links_ok": True, "fetches_ok": True, "lineage_ok": True, "egress_ok": True,
    "required_ok": True, "protected": False, "composed_link": False,
}  # fmt: skip
RULES = ("untrusted-target", "untrusted-amount")
LOOKALIKES = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\uff50", "/": "\u2215", ".": "\u3002", "0": "\u0660"}


def rule(**wider: str) -> StandingRule:
    """Return a rule over :data:`ARGS`; ``wider`` says how a value is bounded instead of to the byte."""
    found = []
    for name, value in ARGS.items():
        if name == "mode":
            found += [_exact(("mode", key), "control", item) for key, item in value.items()]
            continue
        role = ROLES.get(name) or ROLES[f"{name}.0"]
        how, kind = wider.get(name, "is"), KINDS.get(name, "text")
        values: tuple[Any, ...] = {"any": (), "up_to": ("100",), "at": ("//docs.partner.example",)}.get(how, (value,))
        found.append(Constraint((name,), role, kind, how, tuple(canonical_text(item) for item in values)))
    return _made(tuple(found))


def _exact(path: tuple[str, ...], role: str, value: Any) -> Constraint:
    return Constraint(path, role, "text", "is", (canonical_text(value),))


def _made(constraints: tuple[Constraint, ...]) -> StandingRule:
    from decimal import Decimal

    return StandingRule(
        "", "send", "send", "sha256:s", "sha256:t", RULES, "me", constraints, 10, 3, Decimal(100), Decimal(500)
    )


def asked(args: dict[str, Any], **changed: Any) -> AskedCall:
    values: dict[str, Any] = {
        "server": "",
        "tool": "send",
        "effect": "send",
        "args": args,
        "rules": RULES,
        "facts": FACTS,
        "roles": tuple(ROLES.items()),
        "schema_digest": "sha256:s",
        "tool_digest": "sha256:t",
        "requester": "me",
        **changed,
    }
    return AskedCall(**values)


def same(one: Any, other: Any) -> bool:
    """Compare as JSON does: a switch is no number, and a list has an order."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    alike = type(one) is type(other) or (_is_number(one) and _is_number(other))
    return bool(alike and one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def inside(args: dict[str, Any], how: dict[str, str]) -> bool:
    """Say, by plain comparison, whether a call is within a rule that is wider as ``how`` says."""
    if args.keys() != ARGS.keys():
        return False
    for name, value in args.items():
        said = how.get(name, "is")
        if said == "any":
            continue
        if said == "is" and not same(value, ARGS[name]):
            return False
        if said == "up_to" and not (_is_number(value) or (isinstance(value, str) and _digits(value))):
            return False
        if said == "up_to" and not 0 < float(value) <= 100:
            return False
        if said == "same" and not _spelled(name, value):
            return False
        if said == "at" and not _at_docs(value):
            return False
    return True


def _digits(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and text.isascii() and text[0] != "." and text[-1] != "."


def _spelled(name: str, value: Any) -> bool:
    if isinstance(ARGS[name], list):
        return isinstance(value, list) and [v.lower() if isinstance(v, str) else v for v in value] == ARGS[name]
    if not isinstance(value, str):
        return False
    if not value.isascii():
        return bool(value == ARGS[name])
    plain: str = ARGS[name]
    if name == "to":
        return bool(value.removeprefix("<").removesuffix(">").lower() == plain)
    if name == "account":
        return bool(value.replace(" ", "").replace("-", "").upper() == plain.replace(" ", ""))
    if name == "path":
        return [step for step in value.split("/") if step not in {"", "."}] == plain.split("/")[1:] and value[0] == "/"
    return bool(value.lower().removeprefix("https:") == plain.removeprefix("https:") and "a?b=1" in value)


def _at_docs(value: Any) -> bool:
    from urllib.parse import urlsplit

    if not isinstance(value, str) or not value.isascii():
        return False
    parts = urlsplit(value if "//" in value else f"//{value}")
    host = (parts.hostname or "").rstrip(".")
    return host == "docs.partner.example" and parts.scheme.lower() in {"", "https"} and parts.username is None


def texts(text: str) -> st.SearchStrategy[Any]:
    """Return what may stand in a text's place: look-alikes, encodings, other kinds, parts, additions."""
    swapped = st.sampled_from([text.replace(char, twin, 1) for char, twin in LOOKALIKES.items() if char in text])
    encoded = base64.b64encode(text.encode()).decode()
    odd = [
        text.upper(), text.title(), f" {text}", f"{text}\n", text + "\u200b", "\ufeff" + text, f"<{text}>", text[:-1],
        text + ".", text + "/", f"{text}/../x", f"{text},eve@evil.example", encoded, f"{text}%00", f"{text}#x",
        f"http://{text}", f"https://evil.example/{text}", f"https://x@{text}", "", [text], {"value": text}, True, 0,
        None,
    ]  # fmt: skip
    return st.one_of(swapped, st.sampled_from(odd), st.text(max_size=30))


def numbers(number: float) -> st.SearchStrategy[Any]:
    odd = [
        str(number),
        f"{number}.0",
        f"0{number}",
        f"+{number}",
        f"{number},00",
        f"1e{number}",
        -number,
        True,
        [number],
    ]
    return st.one_of(
        st.sampled_from([*odd, "\u0666\u0660", None, ""]),
        st.integers(-200, 10**12),
        st.floats(-1e6, 1e300, allow_nan=False, allow_infinity=False),
    )


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """Return a call that is changed in some ways."""
    args: dict[str, Any] = copy.deepcopy(ARGS)
    for name in draw(st.lists(st.sampled_from(sorted(ARGS)), max_size=3, unique=True)):
        value = args[name]
        if isinstance(value, str):
            args[name] = draw(texts(value))
        elif isinstance(value, list):
            turned = [value[::-1], value[:1], [*value, "eve@evil.example"], [v.upper() for v in value], value[0], []]
            args[name] = draw(st.sampled_from(turned))
        elif isinstance(value, dict):
            args[name] = draw(
                st.sampled_from(
                    [{**value, "copies": "1"}, {**value, "draft": 0}, {"draft": False}, {**value, "x": 1}, {}, None]
                )
            )
        else:
            args[name] = draw(numbers(value))
    how = draw(st.sampled_from(["", "", "extra", "missing", "renamed"]))
    if how == "extra":
        args[draw(st.sampled_from(["bcc", "To", "to.0", "body ", ""]))] = draw(
            st.sampled_from(["eve@evil.example", [], None])
        )
    elif how == "missing":
        del args[draw(st.sampled_from(sorted(args)))]
    elif how == "renamed":
        args["\u0442o"] = args.pop("to")
    return args


HOWS = {"to": ["is", "same"], "cc": ["is", "same"], "account": ["is", "same"], "path": ["is", "same"],
        "url": ["is", "same", "at"], "amount": ["is", "up_to"], "body": ["is", "any"]}  # fmt: skip
bounds = st.fixed_dictionaries({name: st.sampled_from(hows) for name, hows in HOWS.items()})


@given(how=bounds, args=calls())
@settings(max_examples=1_500, deadline=None)
def test_a_call_outside_of_the_rule_is_never_covered(how: dict[str, str], args: dict[str, Any]) -> None:
    question = asked(args, roles=_roles_of(args))
    if covers(rule(**how), question):
        assert inside(args, how), (how, args)


def _roles_of(args: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the roles that deciding reports for these arguments: nothing for a null and for an empty text."""
    found: list[tuple[str, str]] = []

    def walk(path: str, value: Any, role: str) -> None:
        if isinstance(value, dict):
            found.extend((f"{path}.{key}", ROLES.get(f"{path}.{key}", "target")) for key in value if path != "mode")
            for key, item in value.items():
                walk(f"{path}.{key}", item, ROLES.get(f"{path}.{key}", role))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                walk(f"{path}.{number}", item, role)
        elif value not in (None, ""):
            found.append((path, role))

    for name, value in args.items():
        walk(name, value, ROLES.get(name) or ROLES.get(f"{name}.0") or "target")
    return tuple(found)


@given(how=bounds)
@settings(max_examples=100, deadline=None)
def test_the_call_itself_is_covered_in_any_order_of_its_arguments(how: dict[str, str]) -> None:
    turned = dict(reversed(list(copy.deepcopy(ARGS).items())))
    assert covers(rule(**how), asked(turned))
    assert parsed(canonical_text(rule(**how).to_json())) == rule(**how)


CHANGED: list[dict[str, Any]] = [
    {"tool": "send2"},
    {"effect": "pay"},
    {"effect": ""},
    {"effect": "execute"},
    {"rules": (*RULES, "not-asked")},
    {"rules": ()},
    {"rules": ("untrusted-command",)},
    {"roles": (("body", "target"),)},
    {"roles": (("body.0", "command"),)},
    {"facts": {}},
    *({"facts": {**FACTS, name: not value}} for name, value in FACTS.items()),
    *({"facts": {key: value for key, value in FACTS.items() if key != name}} for name in FACTS),
]


@given(changed=st.sampled_from(CHANGED))
@settings(max_examples=100, deadline=None)
def test_a_call_of_another_kind_is_never_covered(changed: dict[str, Any]) -> None:
    assert covers(rule(body="any"), asked(ARGS))
    assert not covers(rule(body="any"), asked(ARGS, **changed))
