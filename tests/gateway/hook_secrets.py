"""A secret of a webhook, and a file that holds such secrets."""

from __future__ import annotations

import base64
from pathlib import Path

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def secret_file(folder: Path, *lines: str) -> Path:
    file = folder / "hook.secret"
    file.write_text("\n".join(lines or (SECRET,)))
    file.chmod(0o600)
    return file
