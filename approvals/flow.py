"""Whether outgoing data may go where a call sends it: readers of the data against the targets, links inside it.

Guarantees: pure; data without declared readers goes only where the user said; data the deployer declared as the
owner's own additionally needs the user to name *it*; links and addresses in outgoing content are targets too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf, in_field, said_so
from checkvalve.approvals.named import is_chosen
from checkvalve.approvals.toolspec import ArgumentSpec, Principal, Role, ToolSpec
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority, Readers
from checkvalve.filters.links import Link, links
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Field
from checkvalve.filters.values import canonical, url_host
from checkvalve.filters.words import stem, tokens

OWNER: Final = "@owner"
DOMAIN: Final = "@domain"
_INSIDE: Final = frozenset({"user", "channel", "path"})


def resolve_readers(declared: tuple[str, ...] | str | None, principal: Principal) -> Readers:
    """Turn the manifest's words for readers into a set; nothing declared means nobody."""
    if declared is None:
        return Readers.nobody()
    if declared == "public":
        return Readers.everyone()
    owner = {OWNER, *principal.owner}
    if declared == "owner":
        return Readers.of(owner)
    return Readers.of(owner | {DOMAIN}) if declared == "domain" else Readers.of(owner | set(declared))


def may_flow(leaves: Sequence[AttributedLeaf], tool: ToolSpec, index: AttributionIndex, principal: Principal) -> bool:
    """Say whether the content of a call may go to its targets.

    1. Content that is entirely the user's words is the user's to send. 2. All other content counts as a mixture of
    everything the session has read, since a model may paraphrase or encode. 3. Each target must be a reader of that
    mixture, or be chosen by the user; 4. and even then data that only the owner may read has to be named as well.
    """
    content = [item for item in leaves if not item.authority_bearing or tool.leaves_domain]
    if all(_is_users(item) for item in content):
        return True
    mixture = index.content_readers()
    targets = [item for item in leaves if item.spec.role is Role.TARGET]
    if mixture.public or all(_reads(mixture, item, principal) for item in targets):
        return True
    if not all(is_chosen(item, index, tool) for item in targets):
        return False
    return not any(_is_secret(field) and not _named(field, index) for field in index.content_fields())


def _is_users(item: AttributedLeaf) -> bool:
    text = str(item.leaf.value)
    return any(
        origin.field.authority > Authority.NONE and not origin.negated for origin in item.attribution.origins
    ) or not any(True for _ in tokens(normalise(text).text))


def _reads(readers: Readers, item: AttributedLeaf, principal: Principal) -> bool:
    value = canonical(item.spec.kind, str(item.leaf.value)) or str(item.leaf.value)
    if readers.allows(value):
        return True
    host = (
        value.rpartition("@")[2] if item.spec.kind == "email" else url_host(value) if item.spec.kind == "url" else None
    )
    inside = item.spec.kind in _INSIDE or (host is not None and host in {name.casefold() for name in principal.domain})
    owner = value in {name.casefold() for name in principal.owner}
    return (inside and readers.allows(DOMAIN)) or (owner and readers.allows(OWNER))


def _is_secret(field: Field) -> bool:
    return not field.readers.public and bool(field.readers.names) and not field.readers.allows(DOMAIN)


def _named(field: Field, index: AttributionIndex) -> bool:
    said = {stem(word) for word, *_ in tokens(index.user_text())}
    last = next((step for step in reversed(field.path.split(".")) if not step.isdigit()), "")
    name = [stem(word) for word, *_ in tokens(last.replace("_", " ").casefold())]
    return bool(name) and any(word in said for word in name if word not in {"number", "id", "numb"})


def foreign_links(
    items: Iterable[AttributedLeaf], tool: ToolSpec, index: AttributionIndex, principal: Principal
) -> Iterator[Link]:
    """Yield the links and addresses inside content that neither the user nor a trusted field named.

    A link to a host of the deployer's own domain is at home; one that nobody wrote (the model composed it) is foreign.
    """
    for item in items:
        if item.authority_bearing or not isinstance(item.leaf.value, str):
            continue
        for link in links(item.leaf.value):
            if link.host is not None and link.host in {name.casefold() for name in principal.domain}:
                continue
            spec = ArgumentSpec(role=Role.TARGET, kind=link.kind)
            origins = index.attribute(link.target, link.kind).origins
            if not any(said_so(origin, spec, tool) or in_field(origin, spec) for origin in origins):
                yield link
