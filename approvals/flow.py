"""Whether outgoing data may go where a call sends it: readers of the data against the targets, links inside it.

Guarantees: pure; data without declared readers goes only where the user said; data the deployer declared as the
owner's own additionally needs the user to name *it*; links and addresses in outgoing content are targets too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final
from urllib.parse import unquote

from checkvalve.approvals.attributed import AttributedLeaf, asking_words, in_field, said_so
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role, argument_of
from checkvalve.approvals.named import Chosen
from checkvalve.approvals.open_hosts import COVER as OPEN_HOST
from checkvalve.approvals.toolspec import Principal, ToolSpec
from checkvalve.filters.asking import asking_clauses
from checkvalve.filters.fields import place_name
from checkvalve.filters.index import DECODED, AttributionIndex
from checkvalve.filters.labels import Authority, Readers, Trust
from checkvalve.filters.links import Link, links
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Field, MatchKind
from checkvalve.filters.retold import is_retold
from checkvalve.filters.values import canonical, url_host
from checkvalve.filters.words import stem, tokens

OWNER: Final = "@owner"
DOMAIN: Final = "@domain"
PUBLIC: Final = Readers.everyone()
EXTRACTION: Final = "reader/extraction"
"""The tool whose results the answers of a quarantined reader count as: nobody declares it, so it is never trusted."""
_PLACE: Final = "@place:"
_AT_HOME: Final = frozenset({"path", "date", "number"})
_OUTGOING: Final = frozenset({Effect.SEND, Effect.PAY, Effect.CONFIGURE})
_TYPED: Final = frozenset({"email", "phone", "account"})
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
    if declared == "domain":
        return Readers.of(owner | {DOMAIN})
    return Readers.of(owner | {name for name in declared if argument_of(name) is None})


def reader_args(declared: tuple[str, ...] | str | None, tool: ToolSpec) -> tuple[tuple[str, str], ...]:
    """Return the arguments among declared readers: whoever reads what was read from there may have it back.

    The names that they stand for are those of this server and kind: a page of another server that is called like a
    repository is another place.
    """
    names = [name for item in declared or () if (name := argument_of(item)) is not None]
    return tuple((name, _place(tool.server, tool.args[name].kind)) for name in names)


def _place(server: str, kind: str) -> str:
    return f"{_PLACE}{server}/{kind}:"


def is_outgoing(tool: ToolSpec, leaves: Sequence[AttributedLeaf]) -> bool:
    """Say whether a call carries its content to somebody: by its effect, or because it names people or places."""
    if tool.leaves_domain or tool.effect in _OUTGOING:
        return True
    named = any(item.spec.role is Role.TARGET and item.spec.kind not in _AT_HOME for item in leaves)
    return named and tool.effect is not Effect.READ


def may_flow(
    leaves: Sequence[AttributedLeaf],
    tool: ToolSpec,
    index: AttributionIndex,
    principal: Principal,
    put_in: Mapping[str, Sequence[Field]] | None = None,
    *,
    chosen: Chosen,
) -> bool:
    """Say whether the content of a call may go to its targets.

    1. Content that is entirely the user's words is the user's to send, and what stands word for word in the source of a
    mandate may go to a target that it covers or the user chose; the target is spelled as it stands there. 2. All other
    content counts as a mixture of everything the session has read, since a model may paraphrase or encode; of an
    isolated model, which sees no content, as a mixture of all fields that were ``put_in``, and of what it was told of
    others. 3. A call without a target speaks to everybody, unless all its targets are declared optional. 4. Each target
    must be a reader of that mixture, or be chosen by the user, or by the deployer for this read; 5. and even then data
    that only the owner may read has to be named as well. An endorsement accepts a target, and says nothing about who
    may read what.
    """
    content = [item for item in leaves if not item.authority_bearing or tool.leaves_domain]
    read = None if put_in is None else [*_given(put_in, tool), *_told(index)]
    mixture = index.content_readers()
    if read is not None:
        mixture = reduce(Readers.meet, (field.readers for field in read), PUBLIC)
    said = index.user_words()
    targets = [item for item in leaves if item.spec.role is Role.TARGET]
    own = all(
        _is_users(item, said) or _is_closed(item, tool) or _is_mandated(item, targets, chosen) for item in content
    )
    if mixture.public or (own and all(_is_spelled(item) for item in targets)):
        return True
    if not targets:
        declared = [argument for argument in tool.args.values() if argument.role is Role.TARGET]
        return bool(declared) and all(argument.optional for argument in declared)
    if all(_reads(mixture, item, principal, tool.server) for item in targets):
        return True
    if not all(chosen(item) or item.covered_by == OPEN_HOST for item in targets):
        return False
    restricted = index.restricted_fields() if read is None else read
    return not any(_is_secret(field) and not _named(field, index, tool) for field in restricted)


def _is_spelled(item: AttributedLeaf) -> bool:
    """Say whether a target is spelled as its source has it, or plainly: a model's own letter case would say something.

    What outsiders wrote is no pattern, since they may write every spelling; of a covered value it is the source.
    """
    value = str(item.leaf.value)
    if canonical(item.spec.kind, value) in {value, value.removeprefix("+"), value.removeprefix("https:")}:
        return True
    return any(
        origin.match in {MatchKind.EXACT, MatchKind.REFERENCE}
        and (item.covered_by or origin.field.authority > Authority.NONE or origin.field.trust >= Trust.VERIFIED)
        for origin in item.attribution.origins
    )


def _is_mandated(item: AttributedLeaf, targets: Sequence[AttributedLeaf], chosen: Chosen) -> bool:
    """Say whether what stands in the source of a mandate goes only where that very mandate, or the user, lets it go."""
    given = {use.id for use in item.uses if use.kind == "mandate"}
    return bool(given and targets) and all(
        given & {use.id for use in target.uses} or chosen(target) for target in targets
    )


def _given(put_in: Mapping[str, Sequence[Field]], tool: ToolSpec) -> Iterator[Field]:
    """Yield what was put into arguments that carry something away."""
    for name, fields in put_in.items():
        role = tool.args[name].role if name in tool.args and not tool.args[name].fields else Role.CONTENT
        if role is Role.CONTENT or tool.leaves_domain:
            yield from fields


def _told(index: AttributionIndex) -> Iterator[Field]:
    """Yield what an isolated model was told of content: extractions, and text of the conversation itself."""
    yield from index.fields_of(EXTRACTION)
    yield from index.foreign_words()


def _is_closed(item: AttributedLeaf, tool: ToolSpec) -> bool:
    """Say whether content is a date: a closed type, which carries a few bits and no text, inside the trust domain."""
    if item.spec.kind != "date" or tool.leaves_domain:
        return False
    value = str(item.leaf.value)
    return canonical("date", value) in {value, value.replace("T", " ")}  # one spelling: others would say something, too


def _is_users(item: AttributedLeaf, said: str) -> bool:
    """Say whether content is the user's own: a stretch of the user's words, or those told again.

    A whole value that the user or the system said, and that has a form of its own (an address, a number), counts too.
    """
    text = str(item.leaf.value)
    if is_retold(text, said):  # blanks are no words: which ones they are can spell anything
        return True
    typed = item.spec.kind != "text" and canonical(item.spec.kind, text) == text
    return typed and any(
        origin.mention is not None and not origin.stale and origin.match is not MatchKind.DERIVED
        for origin in item.attribution.origins
    )


def _reads(readers: Readers, item: AttributedLeaf, principal: Principal, server: str) -> bool:
    value = canonical(item.spec.kind, str(item.leaf.value)) or str(item.leaf.value)
    if value.casefold() in {OWNER, DOMAIN} or value.casefold().startswith(_PLACE):
        return readers.public  # words of ours, and no destination's: a chat may well have somebody called @owner
    if readers.allows(value) or readers.allows(place_name(_place(server, item.spec.kind), str(item.leaf.value))):
        return True
    if _is_owners(value, item.spec.kind, principal):
        return True  # whoever may ask the agent may read what it has read, and the answer would tell them
    host = (
        value.rpartition("@")[2] if item.spec.kind == "email" else url_host(value) if item.spec.kind == "url" else None
    )
    inside = item.spec.kind in _INSIDE or (host is not None and host in {name.casefold() for name in principal.domain})
    owner = value in {name.casefold() for name in principal.owner}
    return (inside and readers.allows(DOMAIN)) or (owner and readers.allows(OWNER))


def _is_owners(address: str, kind: str, principal: Principal) -> bool:
    """Say whether an address in canonical form is the principal's own; a name could be anybody's."""
    return kind in _TYPED and any(canonical(kind, name) == address for name in principal.owner)


def _is_secret(field: Field) -> bool:
    return not field.readers.public and bool(field.readers.names) and not field.readers.allows(DOMAIN)


def _named(field: Field, index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether a clause that asks for the effect names a field, with all the words of its name in a row."""
    last = next((step for step in reversed(field.path.split(".")) if not step.isdigit()), "")
    name = [stem(word) for word, *_ in tokens(normalise(last.replace("_", " ")).text)]
    for clause in asking_clauses(index.user_text(), asking_words(tool)):
        said = [stem(word) for word, *_ in tokens(clause)]
        if name and any(said[start : start + len(name)] == name for start in range(len(said))):
            return True
    return False


def foreign_links(
    items: Iterable[AttributedLeaf], tool: ToolSpec, index: AttributionIndex, principal: Principal
) -> Iterator[Link]:
    """Yield the links and addresses inside content that neither the user nor a trusted field named, when asked for.

    Those of each text that load by themselves come first.

    A link to a host of the deployer's own domain is at home, unless it names another place in its path or query: that
    is how a redirector and a proxy are used. One that nobody wrote (the model composed it) is foreign.
    """
    for item in items:
        if item.authority_bearing or not isinstance(item.leaf.value, str):
            continue
        for link in links(item.leaf.value):
            at_home = link.host is not None and link.host in {name.casefold() for name in principal.domain}
            if at_home and not _leads_elsewhere(link):
                continue
            spec = ArgumentSpec(role=Role.SELECTOR, kind=link.kind)  # to mention it is enough, it is not written to
            origins = index.attribute_trusted(link.target, link.kind).origins  # no other place could say so
            if not any(said_so(origin, spec, tool) or in_field(origin, spec) for origin in origins):
                yield link


def _leads_elsewhere(link: Link) -> bool:
    """Say whether a link of the own domain names another place: a whole address in it, as a redirector has.

    One that loads by itself has to be plain: no query, fragment, parameters or encodings, and no step of its path that
    looks like a host.
    """
    _, _, path = unquote(link.target).partition("//")[2].partition("/")
    steps = path.split("/")
    if "//" in path:
        return True
    return link.auto_fetch and (
        any(sign in link.target for sign in "?#;=&%,$!*'()") or any("." in s for s in steps[:-1])
    )


def is_composed(link: Link, index: AttributionIndex, written: Collection[str]) -> bool:
    """Say whether no source holds a link as it stands.

    What a model wrote is no source: neither what the reader extracted nor what a sub-agent answered (``written`` names
    those results), nor what comes back as it was passed to a tool; nor is a decoded form, since to decode it is to
    compose it.
    """
    return not any(
        origin.match is not MatchKind.DERIVED
        and not origin.field.path.endswith(DECODED)
        and not origin.field.echo
        and origin.source not in written
        and not origin.source.startswith(f"tool:{EXTRACTION}/")
        for origin in index.attribute(link.target, link.kind).origins
    )
