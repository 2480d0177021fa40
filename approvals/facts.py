"""The facts that policy decides on, computed from a call and its attributions: flat, bounded, without any content.

Guarantees: pure; every fact is a bool or a short word, since Cedar has no quantifiers and must never see raw
arguments; a fact that cannot be established takes its strict value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf, asking_words, in_field
from checkvalve.approvals.complete import crossed, left_out
from checkvalve.approvals.described import is_booked, is_computed
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role, WritableBy
from checkvalve.approvals.flow import (
    OWNER,
    foreign_links,
    is_composed,
    is_outgoing,
    may_flow,
    reader_args,
    resolve_readers,
)
from checkvalve.approvals.guarded import is_guarded
from checkvalve.approvals.named import Chosen, is_final
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.filters.asking import asks_for, describes
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Trust
from checkvalve.filters.origins import Field, FieldRule
from checkvalve.filters.retold import is_shortened
from checkvalve.filters.values import canonical, url_host

PROFILES: Final = ("strict", "contacts")
"""What counts as trusted. ``strict``: fields that no outsider can write; ``contacts``: also people the user knows,
where the user's words describe a destination. (``mandates`` and ``drafted`` are no engines of their own: they are
``strict`` with mandates, and with the manifest that ``policy draft`` wrote.)"""

_PICKS: Final = frozenset({Effect.DELETE, Effect.PAY, Effect.SEND, Effect.CONFIGURE})
"""Effects that pick a record for good, or show it to somebody: the user has to have chosen it."""
_ROLES: Final = {
    Role.TARGET: "targets_ok",
    Role.SELECTOR: "selectors_ok",
    Role.COMMAND: "commands_ok",
    Role.CREDENTIAL: "credentials_ok",
    Role.AMOUNT: "amounts_ok",
    Role.CONTROL: "controls_ok",
}


def field_rules(spec: ToolSpec, manifest: Manifest) -> tuple[FieldRule, ...]:
    """Turn the declared result fields of a tool into the index's rules, as the ``strict`` profile reads them."""
    return tuple(
        FieldRule(
            path=field.path,
            trust=Trust.VERIFIED if field.trusted else Trust.UNTRUSTED,
            readers=resolve_readers(field.readers, manifest.principal),
            reader_args=reader_args(field.readers, spec),
            kind=field.kind,
            names_record=field.names_record,
            keys=field.keys,
            when=tuple((path, _resolve(allowed, manifest)) for path, allowed in field.when.items()),
            contact=field.contact,
            stamped=field.writable_by is WritableBy.STAMPED,
        )
        for field in spec.result
    )


def reader_rules(tool: str, manifest: Manifest) -> tuple[FieldRule, ...]:
    """Return who alone may read what a tool of this name returns, where it came in by another way than its call.

    It is trusted for nothing then; and it goes nowhere that the declaration does not let it go, whichever server it is
    from. A field for everybody is left out: what did not come through the gateway has no readers of that kind.
    """
    named = (spec for spec in manifest.tools.values() if spec.name.rpartition("/")[2] == tool.rpartition("/")[2])
    rules = (rule for spec in named for rule in field_rules(spec, manifest))
    return tuple(FieldRule(rule.path, readers=rule.readers, keys=rule.keys) for rule in rules if rule.readers.names)


def _resolve(allowed: Sequence[str], manifest: Manifest) -> frozenset[str]:
    """Return the values that a condition accepts, in lower case, with the principal's names for ``@owner``."""
    names = (manifest.principal.owner if name == OWNER else (name,) for name in allowed)
    return frozenset(unicodedata.normalize("NFC", name).lower() for group in names for name in group)


def compute(  # noqa: PLR0913 - each fact names what it needs
    spec: ToolSpec,
    leaves: Sequence[AttributedLeaf],
    index: AttributionIndex,
    manifest: Manifest,
    *,
    calls_so_far: Mapping[str, int],
    protected: Sequence[str],
    profile: str,
    repeated: bool = False,
    put_in: Mapping[str, Sequence[Field]] | None = None,
    written: Collection[str] = (),
) -> dict[str, bool | str]:
    """Return the Cedar context for one call. Every ``*_ok`` fact is true only when it was positively established."""
    said, chosen = index.user_text(), Chosen(index, spec)
    outgoing = is_outgoing(spec, leaves)
    answering = spec.name == "answer"
    facts: dict[str, bool | str] = {name: _role_ok(leaves, role) for role, name in _ROLES.items()}
    facts["targets_ok"] = facts["targets_ok"] and _has_target(spec, leaves) and _fit_words(spec, leaves, said, chosen)
    facts["amounts_ok"] = all(_amount_ok(item, spec, leaves, index) for item in leaves)
    missed = {role for role in _ROLES if left_out(spec, leaves, role)} | crossed(spec, leaves, index)
    facts |= {name: facts[name] and role not in missed for role, name in _ROLES.items()}
    facts |= {
        "profile": profile,
        "leaves_domain": spec.leaves_domain,
        "reversible": spec.reversible,
        "asked": asks_for(said, asking_words(spec), spec.about) or any(item.delegated for item in leaves),
        "repeated": repeated and spec.effect not in {Effect.READ, Effect.WRITE, Effect.REMEMBER},
        "anchored": _is_anchored(leaves) or (spec.effect is Effect.REMEMBER and _is_told(leaves, index)),
        "record_named": spec.effect not in _PICKS or all(_record_named(item, spec, chosen) for item in leaves),
        "readers_ok": answering
        or not outgoing
        or may_flow(leaves, spec, index, manifest.principal, put_in, chosen=chosen),
        **_link_facts(spec, leaves, index, manifest, outgoing=outgoing, written=written),
        "lineage_ok": spec.effect is not Effect.REMEMBER or _lineage_ok(leaves, index),
        "within_limits": _within_limits(spec, leaves, calls_so_far),
        "egress_ok": _egress_ok(spec, leaves),
        "required_ok": all(item.sufficient or item.spec.unattributed != "deny" for item in leaves),
        "protected": any(_is_protected(item, protected) for item in leaves),
    }
    return facts


def _link_facts(
    spec: ToolSpec,
    leaves: Sequence[AttributedLeaf],
    index: AttributionIndex,
    manifest: Manifest,
    *,
    outgoing: bool,
    written: Collection[str],
) -> dict[str, bool]:
    """Return what there is to say of links in content. Only as many are looked at as it takes to say it.

    An answer may hold links that are no model's; in what goes elsewhere one foreign link is as bad as many.
    """
    answering = spec.name == "answer"
    matters = outgoing and not answering
    foreign, fetches, composed = False, False, False
    for item in leaves:
        for link in foreign_links((item,), spec, index, manifest.principal):
            foreign, fetches = True, fetches or link.auto_fetch
            composed = composed or (answering and is_composed(link, index, written))
            if not answering and not link.auto_fetch:
                break  # the rest of this text loads nothing by itself
    return {"links_ok": not matters or not foreign, "fetches_ok": not fetches, "composed_link": composed}


def _role_ok(leaves: Sequence[AttributedLeaf], role: Role) -> bool:
    return all(item.sufficient for item in leaves if item.spec.role is role)


def _amount_ok(item: AttributedLeaf, spec: ToolSpec, leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> bool:
    """Say whether an amount was stated, accepted, or follows from a record that the payment is about."""
    if item.spec.role is not Role.AMOUNT or item.by_user or item.covered_by:
        return True
    if spec.effect is not Effect.PAY:
        return item.sufficient
    return is_booked(item, leaves, index) or is_computed(item, leaves, index)


def _has_target(spec: ToolSpec, leaves: Sequence[AttributedLeaf]) -> bool:
    """Say whether something that leaves names where to: no recipient at all may well mean everybody.

    An argument declared optional sends nowhere when it is left out or empty.
    """
    if spec.effect not in {Effect.SEND, Effect.PAY} or spec.name == "answer":
        return True
    needed = [argument for argument in spec.args.values() if argument.role is Role.TARGET and not argument.optional]
    named = any(item.spec.role is Role.TARGET for item in leaves)
    return named or (bool(spec.args) and not needed)


def _fit_words(spec: ToolSpec, leaves: Sequence[AttributedLeaf], said: str, chosen: Chosen) -> bool:
    """Say whether each destination was chosen by the user, or the user's words describe one instead of naming it.

    "Tell Ann" must not let a model write to somebody else who happens to stand in a trusted list.
    """
    targets = [item for item in leaves if item.spec.role is Role.TARGET]
    if spec.effect is Effect.READ or all(item.covered_by or chosen(item) for item in targets):
        return True
    return describes(said, asking_words(spec))


def _is_anchored(leaves: Sequence[AttributedLeaf]) -> bool:
    """Say whether a call that has no destination is still tied to the user's words by at least one of its values.

    An attacker who cannot choose a destination can still dictate a whole record; what the user asked for shares at
    least a title, a name or a record with what the user said.
    """
    if not leaves or any(item.spec.role is Role.TARGET for item in leaves):
        return True
    return not all(_is_foreign(item) for item in leaves)


def _is_foreign(item: AttributedLeaf) -> bool:
    """Say whether a value stands in what outsiders wrote and nowhere better, or nowhere at all."""
    if item.by_user or item.covered_by or (item.sufficient and item.authority_bearing):
        return False
    return not any(
        in_field(origin, ArgumentSpec(role=Role.CONTENT, kind=item.spec.kind)) for origin in item.attribution.origins
    )


def _record_named(item: AttributedLeaf, spec: ToolSpec, chosen: Chosen) -> bool:
    """Say whether the user chose the record that a destructive call picks."""
    if item.spec.role not in {Role.SELECTOR, Role.TARGET} or item.covered_by:
        return True
    if item.spec.role is Role.TARGET and not is_final(spec):
        return True  # judged with the words that describe it, see _fit_words
    return chosen(item)


def _lineage_ok(leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> bool:
    if not index.tainted:
        return True
    return _is_told(leaves, index)


def _is_told(leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> bool:
    """Say whether everything is the user's own words, if with small words left out, or was accepted."""
    said = index.user_words()
    return all(item.by_user or item.covered_by or is_shortened(str(item.leaf.value), said) for item in leaves)


def _within_limits(spec: ToolSpec, leaves: Sequence[AttributedLeaf], calls_so_far: Mapping[str, int]) -> bool:
    most = spec.limits.calls_per_task
    if most is not None and calls_so_far.get(spec.name, 0) >= most:
        return False
    bound = spec.limits.amount
    amounts = [canonical("number", str(item.leaf.value)) for item in leaves if item.spec.role is Role.AMOUNT]
    return bound is None or all(amount is not None and abs(float(amount)) <= bound for amount in amounts)


def _egress_ok(spec: ToolSpec, leaves: Sequence[AttributedLeaf]) -> bool:
    """Say whether every address in a call is on the tool's list: each destination, and whatever looks like a link."""
    if not spec.egress:
        return True
    listed = {name.casefold() for name in spec.egress}
    for item in leaves:
        text = str(item.leaf.value)
        address = item.spec.kind in {"url", "host"} or (item.authority_bearing and "//" in text)
        if (address or item.spec.role is Role.TARGET) and url_host(text) not in listed:
            return False
    return True


def _is_protected(item: AttributedLeaf, protected: Sequence[str]) -> bool:
    """Say whether a value that is no content points into what no tool may touch, see :func:`is_guarded`."""
    value = item.leaf.value
    return isinstance(value, str) and item.spec.role is not Role.CONTENT and is_guarded(value, protected)
