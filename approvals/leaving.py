"""What of a session may leave it: who named a link, which rules hold, and a detector over what calls carry away.

1. A link the user named, or that stands in a field which outsiders cannot write, is named; so is one of a source once
the user asks for links. One that stands so in what was read is a source's; every other one was composed by a model.
2. Hosts of the deployer's own domain are listed, and the instructions in force are protected, whatever is set.
3. The content of a call that goes outside may carry no registered value, key or prompt text, no personal data of the
kinds that a policy names, and no address that adds something to one which outsiders wrote: that is how data is sent.

Guarantees: pure; a detector only makes a verdict stricter; nothing of a value is in a finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf, said_so
from checkvalve.approvals.detectors import Finding
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.flow import is_composed, is_outgoing
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority, Trust
from checkvalve.filters.links import Link, links
from checkvalve.filters.origins import MatchKind, Origin
from checkvalve.filters.outbound.hosts import HostRules
from checkvalve.filters.outbound.judge import LinkOrigin, Origins
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.pii.detect import UnscannedError, find_pii
from checkvalve.filters.secrets.context import context_secrets
from checkvalve.filters.secrets.vendors import vendor_secrets
from checkvalve.filters.values import words
from checkvalve.filters.words import tokens

_SAYING: Final = ToolSpec(name="answer", effect=Effect.SEND, args={"text": ArgumentSpec(role=Role.CONTENT)})
_WORDS: Final = "link links url urls website websites homepage webseite lien liens enlace enlaces"
_ASKED_FOR: Final = frozenset(_WORDS.split())
_JOINT: Final = re.compile(r"[/?#&=.:_-]")
_MAX_JOINTS: Final = 12


def link_origins(index: AttributionIndex, written: Collection[str] = ()) -> Origins:
    """Return who named a link, as the session knows it; ``written`` names sources that are answers of a model."""
    asked = bool(_ASKED_FOR & {word for word, *_ in tokens(index.user_text())}) or "链接" in index.user_text()

    def origin(target: str) -> LinkOrigin:
        spec = ArgumentSpec(role=Role.SELECTOR, kind="url")
        found = index.attribute(target, "url").origins
        if any(said_so(one, spec, _SAYING) or _is_ours(one) for one in found):
            return LinkOrigin.NAMED
        if is_composed(Link(target, "url", None), index, written):
            return LinkOrigin.COMPOSED
        return LinkOrigin.NAMED if asked else LinkOrigin.SOURCE

    return origin


def _is_ours(one: Origin) -> bool:
    """Say whether an origin is content that outsiders cannot have written."""
    content = one.field.authority is Authority.NONE and not one.field.echo
    return content and one.field.trust >= Trust.VERIFIED and one.match is not MatchKind.DERIVED


def rules_in_force(rules: OutboundRules, manifest: Manifest, index: AttributionIndex) -> OutboundRules:
    """Return ``rules`` with what holds anyway: the deployer's own hosts are listed, the instructions are protected."""
    hosts = rules.links.hosts
    own = HostRules.of((*hosts.listed, *manifest.principal.domain), hosts.fetched)
    told = tuple(field.text for field in index.fields if field.authority is Authority.SYSTEM)
    prompts = rules.prompts or (_prompts(told) if told else rules.prompts)
    return replace(rules, links=replace(rules.links, hosts=own), prompts=prompts)


@lru_cache(maxsize=64)
def _prompts(texts: tuple[str, ...]) -> PromptText:
    return PromptText(texts)


@dataclass(frozen=True)
class Leaving:
    """The detector over the arguments of calls that carry something away."""

    rules: OutboundRules
    manifest: Manifest
    index: AttributionIndex

    def __call__(self, request: ActionRequest, leaves: Sequence[AttributedLeaf], /) -> Sequence[Finding]:
        """Return what may not leave with this call."""
        spec = self.manifest.find_called(request.tool, request.server, request.args)
        if spec is None or not is_outgoing(spec, leaves):
            return ()
        rules = rules_in_force(self.rules, self.manifest, self.index)
        said = words(self.index.user_text()) or ""
        found = {finding for item in leaves for finding in self._in(item, rules, said)}
        return sorted(found, key=lambda one: one.code)

    def _in(self, item: AttributedLeaf, rules: OutboundRules, said: str) -> Iterator[Finding]:
        text = item.leaf.value
        if not isinstance(text, str) or item.by_user or item.spec.role is Role.CREDENTIAL:
            return
        for hit in rules.registered.find(text):
            yield Finding("canary" if hit.code == CANARY else "registered-value", "deny")
        if rules.prompts.find(text):
            yield Finding("prompt-text", "deny")
        secrets = (*vendor_secrets(text), *context_secrets(text)) if rules.secrets else ()
        if any((words(text[hit.start : hit.end]) or "") not in said for hit in secrets):
            yield Finding("secret", "deny")
        if item.authority_bearing:
            return
        if any(self._adds_to_a_source(link) for link in links(text) if link.kind == "url"):
            yield Finding("extended-link", "deny")
        yield from _personal(text, rules)

    def _adds_to_a_source(self, link: Link) -> bool:
        """Say whether a composed address begins with a whole one that stands in what outsiders wrote."""
        if not is_composed(link, self.index, ()) or "//" not in link.target:
            return False
        start = link.target.index("//") + 2
        joints = [match.end() for match in _JOINT.finditer(link.target, start)][-_MAX_JOINTS:]
        places = {place for joint in joints for place in (joint - 1, joint) if place > start}
        return any(self._stands_in_a_source(link.target[:place]) for place in places if "." in link.target[start:place])

    def _stands_in_a_source(self, target: str) -> bool:
        found = self.index.attribute(target, "url").origins
        foreign = [one for one in found if one.match in {MatchKind.EXACT, MatchKind.NORMALISED} and not one.field.echo]
        return bool(foreign) and all(one.field.trust is Trust.UNTRUSTED for one in foreign)


def _personal(text: str, rules: OutboundRules) -> Iterator[Finding]:
    if not rules.pii:
        return
    try:
        if find_pii(text, rules.pii):
            yield Finding("personal-data")
    except UnscannedError:
        yield Finding("unscanned", "deny")
