"""Reversible tokens: a value leaves the text and stays in the content store, and comes back only where it may be read.

1. Each value becomes ``⟨EMAIL_1⟩``; the same value is the same token in one thread. 2. Text that already looks like a
token is itself replaced, so that nobody can write a token into content. 3. Restoring looks the token up, reads the
value with its label, and puts it in only when everybody who will see it is among its readers. 4. A token that nobody
made is an error, never left in a call.

Guarantees: nothing but the store holds values; ``restore`` of what ``tokenise`` made is the original, character by
character, for readers who may see all of it; text outside of tokens is not touched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.labels import Label, Readers
from checkvalve.filters.outcomes import Edit, apply_edits
from checkvalve.filters.pii.detect import PiiHit
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.tainted import ContentStore, Reference, Tainted

TOKEN: Final = re.compile(r"⟨([A-Z][A-Z-]{1,20})_([0-9]{1,9})⟩")
FORGED: Final = "text"
"""The kind of what only looks like a token."""
_DEPTH: Final = 64


@dataclass(slots=True)
class Vault:
    """The tokens of one thread. ``to_json`` is what to keep of it: references, and no value.

    A vault that is loaded again goes on counting; values it has not seen since get new tokens.
    """

    store: ContentStore
    thread: str
    _references: dict[str, Reference] = field(default_factory=dict)
    _tokens: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _counts: dict[str, int] = field(default_factory=dict)

    def tokenise(self, text: str, hits: Iterable[PiiHit], label: Label) -> str:
        """Return ``text`` with a token in the place of each hit; the values are stored under ``label``.

        ``hits`` are disjoint, as :func:`checkvalve.filters.pii.detect.find_pii` returns them.
        """
        found = [(hit.start, hit.end, hit.kind) for hit in hits]
        found += [(*match.span(), FORGED) for match in TOKEN.finditer(text)]
        edits = [Edit(start, end, self._token(kind, text[start:end], label), kind) for start, end, kind in found]
        return apply_edits(text, edits)[0]

    def restore(self, text: str, audience: Collection[str] | Readers) -> str:
        """Return ``text`` with the values that ``audience`` may read put back in; other tokens stay as they are.

        Args:
            text: what holds tokens.
            audience: everybody who will see the result; ``Readers.everyone()`` for a public place.

        Raises:
            HostileInputError: ``unknown_token``: a token that this thread never made.
        """
        return TOKEN.sub(lambda match: self._value(match[0], audience) or match[0], text)

    def restore_args(self, value: JSON, audience: Collection[str] | Readers, *, depth: int = 0) -> JSON:
        """Return a call's arguments with the values put back into every string of them, keys included.

        To be called before the call is decided: the decision has to be over what will run.

        Raises:
            HostileInputError: ``unknown_token``, ``unreadable_token`` for a value that the audience may not see, or
                ``too_deep``. A call never runs with a token in it.
        """
        if depth > _DEPTH:
            raise HostileInputError("too_deep", "the value is nested too deeply")
        if isinstance(value, str):
            if any(self._value(match[0], audience) is None for match in TOKEN.finditer(value)):
                raise HostileInputError("unreadable_token", "a value in this call is not for those who would see it")
            return self.restore(value, audience)
        if isinstance(value, Mapping):
            return {
                str(self.restore_args(key, audience)): self.restore_args(item, audience, depth=depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.restore_args(item, audience, depth=depth + 1) for item in value]
        return value

    def to_json(self) -> dict[str, JSON]:
        """Return the tokens with their references, to be kept with the thread."""
        return {
            token: {"id": one.id, "kind": one.kind, "size": one.size} for token, one in sorted(self._references.items())
        }

    @classmethod
    def load(cls, store: ContentStore, thread: str, tokens: Mapping[str, Mapping[str, object]]) -> Vault:
        """Return the vault that ``to_json`` was taken of."""
        vault = cls(store, thread)
        for token, one in tokens.items():
            match = TOKEN.fullmatch(token)
            if match is None:
                raise HostileInputError("not_a_token", "the vault's record holds a name that is no token")
            vault._references[token] = Reference(str(one["id"]), str(one["kind"]), int(str(one["size"])))
            vault._counts[match[1]] = max(vault._counts.get(match[1], 0), int(match[2]))
        return vault

    def _token(self, kind: str, value: str, label: Label) -> str:
        place = (kind, hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest())
        known = self._tokens.get(place)
        if known is not None and label == self._label(known):
            return known
        name = kind.upper()
        self._counts[name] = self._counts.get(name, 0) + 1
        token = f"⟨{name}_{self._counts[name]}⟩"
        self._references[token] = self.store.put(Tainted(value, label), thread=self.thread, kind=kind)
        self._tokens[place] = token
        return token

    def _label(self, token: str) -> Label:
        return self.store.get(self._references[token]).label

    def _value(self, token: str, audience: Collection[str] | Readers) -> str | None:
        """Return the value behind ``token``, or None where the audience may not see it."""
        reference = self._references.get(token)
        if reference is None:
            raise HostileInputError("unknown_token", "a placeholder in the text was made by nobody")
        value, label = self.store.get(reference).reveal()
        return value if reference.kind == FORGED or _may_read(label.readers, audience) else None


def _may_read(readers: Readers, audience: Collection[str] | Readers) -> bool:
    """Say whether everybody of ``audience`` is among ``readers``. Nobody at all is not an audience."""
    if isinstance(audience, Readers):
        return readers.public or (not audience.public and bool(audience.names) and audience.names <= readers.names)
    return bool(audience) and all(readers.allows(name) for name in audience)
