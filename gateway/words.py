"""The user's own words: the mark that a host puts on a message, and the proof in it that this host did so.

Guarantees: the mark is bound to the exact text by a key that only the host's processes hold. So a mark that stands in
data (an old conversation, a tool's answer, a client's JSON) proves nothing, and neither does the mark of a message to
which somebody has added text since.

The key is made anew in every process; what was taken in before is known from the store. Where one process makes the
message and another is the first to see it, both call :func:`use_words_key` with the same secret.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage

from checkvalve.gateway.errors import SettingsError

_Message = TypeVar("_Message", bound=BaseMessage)

MARK: Final = "checkvalve"
MIN_KEY: Final = 32  # characters: what a shorter one protects can be guessed
_USER: Final = "user"
_PURPOSE: Final = b"checkvalve user words 1\x00"
_keys: Final = [secrets.token_bytes(32)]  # the one in use


def user_message(text: str, *, id: str | None = None) -> HumanMessage:
    """Return ``text`` as a message that the host declares to be the user's own words.

    Give it only what the user typed. What was read for the user (a file, a page, a mail, a quoted thread) goes into
    a plain ``HumanMessage``, which instructs nobody.
    """
    return HumanMessage(text, id=id, additional_kwargs={MARK: {"authority": _USER, "proof": _proof(text)}})


def use_words_key(secret: str) -> None:
    """Use ``secret`` for the proofs of this process, so that other processes with the same one believe them.

    Raises:
        SettingsError: it is too short to protect anything.
    """
    if len(secret) < MIN_KEY:
        raise SettingsError("the key of the user's words is too short", f"take {MIN_KEY} random characters or more")
    _keys[0] = secret.encode("utf-8", "surrogatepass")


def is_marked(message: BaseMessage) -> bool:
    """Say whether a message claims to be the user's words, with or without a proof."""
    mark = message.additional_kwargs.get(MARK)
    return isinstance(message, HumanMessage) and isinstance(mark, Mapping) and mark.get("authority") == _USER


def declares_user(message: BaseMessage) -> bool:
    """Say whether the host made this very message with :func:`user_message`."""
    if not is_marked(message) or not isinstance(message.content, str):
        return False
    proof: Any = message.additional_kwargs[MARK].get("proof")
    expected = _proof(message.content).encode()
    return isinstance(proof, str) and hmac.compare_digest(proof.encode("utf-8", "replace"), expected)


def without_mark(message: _Message) -> _Message:
    """Return the message without the mark: a copy, since the same object may stand in the graph's state."""
    if MARK not in message.additional_kwargs:
        return message
    kept = {name: value for name, value in message.additional_kwargs.items() if name != MARK}
    return message.model_copy(update={"additional_kwargs": kept})


def _proof(text: str) -> str:
    said = _PURPOSE + text.encode("utf-8", "surrogatepass")
    return hmac.new(_keys[0], said, hashlib.sha256).hexdigest()
