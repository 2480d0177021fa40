"""Can the versions be read that the manifest pins? The folders are looked at here; where the tools are is said.

Guarantees: no file below a folder is opened; without a manifest nothing is pinned, and nothing is said.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.manifest import load_manifest
from checkvalve.gateway.doctor import Finding, ok, problem, warning
from checkvalve.gateway.settings import Settings

_CHECK = "pinned versions"


def pinned(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with the folders of pinned files, and where pinned calls can run at all."""
    if settings.manifest is None:
        return
    try:
        manifest = load_manifest(settings.manifest)
    except ConfigError:
        return  # said by the check of the files
    tools = [spec for spec in manifest.tools.values() if spec.pin]
    if not tools:
        return
    folders = sorted({pin.folder for spec in tools for pin in spec.pin if pin.file})
    wrong = [found for folder in folders if (found := _folder(Path(folder))) is not None]
    yield from wrong
    if settings.mode == "observe":
        yield warning(_CHECK, "mode observe asks nobody, so nothing is pinned", "set the mode to enforce")
    elif not wrong:
        yield ok(
            _CHECK,
            f"tools whose calls are pinned: {', '.join(spec.name for spec in tools)}. Their versions are read in the "
            "processes that have the agent's tools; what only decides (`checkvalve decide`) reads none",
        )


def _folder(folder: Path) -> Finding | None:
    what = f"the folder {folder} of pinned files"
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        reason = f"{what} cannot be looked at: {error.strerror}"
        return problem(_CHECK, reason, "make it, or name another; until then every such question is closed unanswered")
    if not stat.S_ISDIR(mode):
        return problem(_CHECK, f"{what} is none", "name a folder in the manifest's `pin`")
    if not os.access(folder, os.R_OK | os.X_OK):
        return problem(_CHECK, f"{what} cannot be read by this user", "let the user of the agent's process read it")
    return None


__all__ = ["pinned"]
