"""One spelling for one value: RFC 8785, and the digest over it that everything else binds to.

Guarantees: equal values have equal bytes whatever the order of keys; ``true`` and ``1`` differ; ``1`` and ``1.0`` are
the same JSON number. Size limits are not checked here: that is ``filters.strictjson``'s work, on input.
"""

from __future__ import annotations

import hashlib

import rfc8785

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON


def canonical(value: JSON) -> bytes:
    """Return the RFC 8785 form of ``value``.

    Raises:
        HostileInputError: ``big_integer`` beyond 2**53 - 1, ``not_finite``, ``too_deep``, ``surrogate``, or
            ``not_json`` for a type or a key that JSON does not have.
    """
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
