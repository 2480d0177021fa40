"""Folders of the agent's own: a write that can be taken back needs no origin for the path of a file in one.

Guarantees: pure; only a destination of kind path counts, only in a folder that the manifest lists, and only a plain
path: no step that is hidden or leads up, no root, and no sign that a file system or shell reads in another way. What a
model chooses freely there is the name of a file that nobody but the agent's own people sees.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.approvals.fieldspec import ArgumentSpec, Role
from checkvalve.approvals.open_hosts import COVER as OPEN_HOST
from checkvalve.approvals.open_hosts import is_open
from checkvalve.approvals.toolspec import ToolSpec

MAX_PATH: Final = 120
"""Characters of a plain path: a name that a person reads at a glance is shorter, a copied text longer."""
COVER: Final = "open_folder"
"""What a record says that the value rests on."""
_STEP: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|[ .](?=[A-Za-z0-9_]))*"
_PLAIN: Final = re.compile(rf"(?:{_STEP}/)+{_STEP}")


def is_in_open_folder(value: object, spec: ArgumentSpec, tool: ToolSpec) -> bool:
    """Say whether a value is a plain path in a folder that the deployer gave the agent for this write."""
    if not tool.open_folders or not isinstance(value, str):
        return False
    if spec.role is not Role.TARGET or spec.kind != "path" or "system" not in spec.accepts:
        return False
    plain = len(value) <= MAX_PATH and _PLAIN.fullmatch(value) is not None
    return plain and any(value.startswith(f"{folder.rstrip('/')}/") for folder in tool.open_folders)


def open_place(value: object, spec: ArgumentSpec, tool: ToolSpec) -> str:
    """Return why a destination needs no origin, or nothing: the deployer trusts the host, or gave the folder."""
    if is_open(value, spec, tool):
        return OPEN_HOST
    return COVER if is_in_open_folder(value, spec, tool) else ""


__all__ = ["COVER", "MAX_PATH", "is_in_open_folder", "open_place"]
