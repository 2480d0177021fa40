"""One spelling for one value: RFC 8785, and the digest over it that everything else binds to.

Guarantees: equal values have equal bytes whatever the order of keys; ``true`` and ``1`` differ; ``1`` and ``1.0`` are
the same JSON number. Size limits are not checked here: that is ``filters.strictjson``'s work, on input.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final, cast

import rfc8785

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

_MOST: Final = 2**53 - 1
_DECIMAL: Final = re.compile(r"-?[0-9]+\.[0-9]*[1-9]")  # what Python and ECMAScript write alike: 0.5, not 1.0 or 1e30
_encoded: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: JSON) -> bytes:
    """Return the RFC 8785 form of ``value``.

    1. A value whose keys are ASCII and whose floats are plain decimals has the form that Python's own encoder writes
    with sorted keys: the two order such keys and escape text alike. It takes a third of the time, and nearly every
    record is of this kind.
    2. Everything else is written by ``rfc8785``; so is what step 1 could not write, for the right error.

    Raises:
        HostileInputError: ``big_integer`` beyond 2**53 - 1, ``not_finite``, ``too_deep``, ``surrogate``, or
            ``not_json`` for a type or a key that JSON does not have.
    """
    try:
        if _is_plain(value):
            return _encoded(value).encode()
    except (RecursionError, UnicodeEncodeError):
        pass
    return _by_the_book(value)


def _is_plain(value: object) -> bool:
    """Say whether the quick way writes the same bytes; of subclasses of the plain types nobody knows."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return -_MOST <= cast("int", value) <= _MOST
    if kind is float:
        return _DECIMAL.fullmatch(repr(value)) is not None
    if kind is dict:
        items = cast("dict[object, object]", value).items()
        return all(type(key) is str and key.isascii() and _is_plain(item) for key, item in items)
    return (kind is list or kind is tuple) and all(map(_is_plain, cast("list[object]", value)))


def _by_the_book(value: JSON) -> bytes:
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        raise HostileInputError("big_integer", "an integer beyond 2**53 - 1 has no canonical form") from None
    except rfc8785.FloatDomainError:
        raise HostileInputError("not_finite", "NaN and infinities have no canonical form") from None
    except UnicodeEncodeError:  # a lone surrogate in a key, which rfc8785 meets while sorting
        raise HostileInputError("surrogate", "text with a lone surrogate has no canonical form") from None
    except RecursionError:
        raise HostileInputError("too_deep", "the value is nested too deeply for a canonical form") from None
    except rfc8785.CanonicalizationError as error:
        raise HostileInputError(*_explain(error)) from None


def digest(value: JSON) -> str:
    """Return ``sha256:<hex>`` over the canonical form of ``value``."""
    return digest_bytes(canonical(value))


def digest_bytes(form: bytes) -> str:
    """Return ``sha256:<hex>`` over bytes that already are a canonical form."""
    return "sha256:" + hashlib.sha256(form).hexdigest()


def _explain(error: rfc8785.CanonicalizationError) -> tuple[str, str]:
    """Tell the two meanings of the library's root error apart without repeating its text."""
    if isinstance(error.__cause__, UnicodeEncodeError):
        return "surrogate", "text with a lone surrogate has no canonical form"
    return "not_json", "a type or a key that JSON does not have"
