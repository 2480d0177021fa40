"""Hosts that the deployer trusts with the addresses of a read: visiting one needs no word of the user.

Guarantees: pure; only a read counts, only a host that the manifest lists by its exact name, and only a plain address:
https, no query, fragment, credentials, port or encoding, and a short path. What a model chooses freely there is the
path, and the host of the deployer's choice is the only one that sees it.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.approvals.fieldspec import ArgumentSpec, Role
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.values import canonical, canonical_host

MAX_PATH: Final = 120
"""Characters of the path of a plain address: a page of documentation has a shorter one, a copied text a longer one."""
COVER: Final = "open_host"
"""What a record says that the value rests on."""
_PLAIN: Final = re.compile(r"(?:https://)?([A-Za-z0-9.-]{1,253})((?:/[A-Za-z0-9._~-]*)*)")


def is_open(value: object, spec: ArgumentSpec, tool: ToolSpec) -> bool:
    """Say whether a value is a plain address at a host that the deployer listed for this read.

    1. The argument is its destination, a URL or a host. 2. The address is plain, see the module. 3. Its canonical host
    is on the list, which no manifest has but for a read that leaves the domain.
    """
    if not tool.open_hosts or not isinstance(value, str):
        return False
    if spec.role is not Role.TARGET or spec.kind not in {"url", "host"}:
        return False
    found = _PLAIN.fullmatch(value)
    if found is None or len(found[2]) > MAX_PATH or ".." in found[2] or canonical(spec.kind, value) is None:
        return False
    return canonical_host(found[1]) in {canonical_host(host) for host in tool.open_hosts}


__all__ = ["COVER", "MAX_PATH", "is_open"]
