"""Personal data that a model never sees: tokens in what it reads, and the values back in what it says.

1. Before a model is called, the personal data in results of the tools that the settings name becomes tokens
(``⟨EMAIL_1⟩``), and so does the same value wherever the conversation repeats it. Text that looks like a token is itself
replaced, so content cannot bring one along. 2. In what the model says, a token becomes its value again where the person
whose agent it is may read that value; the arguments of calls are restored before they are decided. 3. A token that
stays in a call is refused: it stands for a value that is not for those who would see it, or for nothing.

Guarantees: the state of the agent holds values and never tokens, so nothing has to be kept, and another process gives
the same tokens to the same conversation. What cannot be looked at in full is withheld from the model. The tokens of one
call to a model stand for nothing in another conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from checkvalve.approvals.flow import resolve_readers
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.labels import Label, Readers, Trust
from checkvalve.filters.pii.detect import PiiHit, UnscannedError, find_pii
from checkvalve.filters.pii.vault import TOKEN, Vault
from checkvalve.filters.tainted import Reference, Tainted
from checkvalve.gateway.answer_parts import Clean, cleaned_value
from checkvalve.gateway.block_words import block_words
from checkvalve.gateway.inbound import EVERY, TokenRules
from checkvalve.graphs.labelling import label_of

_WITHHELD: Final = "[content withheld by the gateway: unscanned]"
_REASONING: Final = frozenset({"reasoning", "thinking"})  # signed by providers, so nothing in them is exchanged
_SAID_BEFORE: Final = Label(Trust.UNTRUSTED, readers=Readers.everyone())
"""The label of what only looks like a token: it stands for itself, whoever reads it."""


@dataclass(slots=True)
class _Held:
    """Where the values of one call to a model are, for as long as it takes."""

    values: dict[str, Tainted[str]] = field(default_factory=dict)

    def put(self, content: Tainted[str], *, thread: str, kind: str = "text") -> Reference:  # noqa: ARG002 - its form
        reference = Reference(str(len(self.values)), kind, len(content.reveal()[0].encode("utf-8", "surrogatepass")))
        self.values[reference.id] = content
        return reference

    def get(self, reference: Reference) -> Tainted[str]:
        return self.values[reference.id]


@dataclass(slots=True)
class _Repeated:
    """The tokens of values, found wherever a text repeats one: the longest, from the left.

    Linear in the text, however many values there are and whatever they begin with: people outside choose both.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    starts: set[str] = field(default_factory=set)
    lengths: list[int] = field(default_factory=list)  # the longest first

    def add(self, value: str, token: str) -> None:
        """Remember the token of a value, unless it has one."""
        self.tokens.setdefault(value, token)
        self.starts.add(value[:1])
        if len(value) not in self.lengths:
            self.lengths = sorted({*self.lengths, len(value)}, reverse=True)

    def exchanged(self, text: str) -> str:
        """Return ``text`` with tokens in the place of known values."""
        if not self.tokens:
            return text
        pieces, end = [], 0
        for found in re.finditer("|".join(map(re.escape, sorted(self.starts))), text):
            place = found.start()
            if place >= end and (value := self._value(text, place)):
                pieces += [text[end:place], self.tokens[value]]
                end = place + len(value)
        return "".join([*pieces, text[end:]]) if pieces else text

    def _value(self, text: str, place: int) -> str:
        parts = (text[place : place + length] for length in self.lengths)
        return next((part for part in parts if part in self.tokens), "")


class Spoken:
    """The tokens of one call to a model."""

    def __init__(self, rules: TokenRules, manifest: Manifest, servers: Mapping[str, str]) -> None:
        """Make tokens by ``rules``; ``servers`` names the server of each tool that has one."""
        self._rules = rules
        self._manifest = manifest
        self._servers = servers
        self._vault = Vault(_Held(), "")
        self._tokens = _Repeated()
        self._audience = resolve_readers("owner", manifest.principal)

    def heard(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return ``messages`` as the model may read them."""
        first = [self._result(one) if isinstance(one, ToolMessage) else one for one in messages]
        return [self._changed(one, self._known if isinstance(one, ToolMessage) else self._as_tokens) for one in first]

    def said(self, message: BaseMessage) -> BaseMessage:
        """Return what a model said with the values back that the agent's person may read."""
        return self._changed(message, self._restored)

    def value(self, value: Any) -> Any:
        """Return a structured answer with the values back."""
        return cleaned_value(value, self._restored)

    def _result(self, message: ToolMessage) -> ToolMessage:
        tool = message.name or ""
        kinds = self._rules.get(tool, frozenset()) | self._rules.get(EVERY, frozenset())
        label = label_of(self._manifest.find(tool, self._servers.get(tool, "")), self._manifest)
        content = block_words(message.content, lambda text: self._tokenised(text, kinds, label))
        return message if content is message.content else message.model_copy(update={"content": content})

    def _tokenised(self, text: str, kinds: frozenset[str], label: Label) -> str:
        try:
            hits = find_pii(text, kinds) if kinds else []
        except UnscannedError:
            return _WITHHELD
        for hit in hits:
            value = text[hit.start : hit.end]
            self._tokens.add(value, self._vault.tokenise(value, [PiiHit(0, len(value), hit.kind)], label))
        return self._vault.tokenise(text, hits, label)

    def _changed(self, message: BaseMessage, change: Clean) -> BaseMessage:
        """Return a message with its words, and the arguments of its calls, exchanged."""
        changes = {"content": _exchanged(message.content, change)}
        changes["additional_kwargs"] = cleaned_value(message.additional_kwargs, change)
        if isinstance(message, AIMessage):
            changes["tool_calls"] = cleaned_value(message.tool_calls, change)
        changed = {name: value for name, value in changes.items() if value is not getattr(message, name)}
        return message.model_copy(update=changed) if changed else message

    def _as_tokens(self, text: str) -> str:
        return self._known(self._vault.tokenise(text, [], _SAID_BEFORE))

    def _known(self, text: str) -> str:
        """Return ``text`` with the values that became tokens somewhere as those tokens, whatever repeats them."""
        return self._tokens.exchanged(text)

    def _restored(self, text: str) -> str:
        return TOKEN.sub(lambda found: self._one(found[0]), text)

    def _one(self, token: str) -> str:
        try:
            return self._vault.restore(token, self._audience)
        except HostileInputError:
            return token  # nobody made it: it stays what it is, and a call with it is refused


def _exchanged(content: Any, change: Clean) -> Any:
    """Return the content of a message with its strings exchanged, but for reasoning."""
    if isinstance(content, str):
        return change(content)
    new = [one if _is_reasoning(one) else cleaned_value(one, change) for one in content]
    return content if all(one is other for one, other in zip(new, content, strict=True)) else new


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _REASONING


def has_token(value: Any) -> bool:
    """Say whether a string anywhere in ``value`` looks like a token."""
    return cleaned_value(value, lambda text: "" if TOKEN.search(text) else text) is not value
