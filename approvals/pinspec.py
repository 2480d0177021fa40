"""What the deployer declares of the things that a call points at and that may change while a person thinks.

Guarantees: there are two kinds and no third: a local file that an argument names, or what another tool that only reads
says of a record. Nothing of it is chosen by a model. Whether tools, arguments and fields exist is checked with the
whole manifest (:mod:`pin_declared`).
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from checkvalve.approvals.fieldspec import Declared
from checkvalve.approvals.undospec import LookSpec, LookValue

SECONDS: Final = 10
"""How long reading a version may take where the manifest says nothing: question and call wait for it."""
MAX_SECONDS: Final = 60
MAX_BYTES: Final = 64 * 1024 * 1024
"""The largest file that is read where the manifest says nothing: about a third of a second on one core."""
MOST_BYTES: Final = 1024 * 1024 * 1024
MAX_PINS: Final = 4
MAX_FIELDS: Final = 8
_PATH: Final = re.compile(r"\$(?:\.[^.\s]{1,200}){0,16}")
_OF_A_FILE: Final = frozenset({"folder", "may_be_missing", "max_bytes"})
_OF_A_RECORD: Final = frozenset({"args", "version"})


def _is_path(path: str) -> str:
    if _PATH.fullmatch(path) is None:
        raise ValueError("a path starts with `$` and names members after dots, such as `$.etag`")
    return path


def _is_folder(folder: str) -> str:
    if folder and (not folder.startswith("/") or "\0" in folder or ".." in folder.split("/")):
        raise ValueError("write the folder from the root on and without `..`, such as /srv/agent/files")
    return folder


class PinSpec(Declared):
    """One thing whose version is read when a person is asked, and again right before the call: a file or a record."""

    file: str = Field("", max_length=200, description="the argument that names a local file; or give `tool`")
    folder: Annotated[str, AfterValidator(_is_folder)] = Field(
        "", max_length=1_000, description="of a file: the folder that it has to be in, from the root on"
    )
    may_be_missing: bool = Field(
        default=False, description="of a file: that it is not there yet is a version, too; else it is refused"
    )
    max_bytes: int = Field(
        MAX_BYTES, ge=1, le=MOST_BYTES, description="of a file: a larger one is not read, and so is refused"
    )
    tool: str = Field("", max_length=200, description="a tool of the same server, with effect read; or give `file`")
    args: dict[str, LookValue] = Field(default_factory=dict, description="the arguments of that tool by name")
    version: tuple[Annotated[str, AfterValidator(_is_path)], ...] = Field(
        (),
        max_length=MAX_FIELDS,
        description="the fields of its result that say which version it is: `$.etag`; `$` is the whole record",
    )
    seconds: int = Field(SECONDS, ge=1, le=MAX_SECONDS, description="how long reading may take; then it has failed")

    @model_validator(mode="after")
    def _one_of_them(self) -> PinSpec:
        """Refuse a pin of nothing, of two things, or one with fields that mean nothing for it."""
        if bool(self.file) == bool(self.tool):
            raise ValueError("say what is pinned: the `file` that an argument names, or what a `tool` says of a record")
        if self.file and not self.folder:
            raise ValueError("say in which `folder` the file has to be")
        if self.tool and not self.version:
            raise ValueError("say in `version` which fields of the result are the version, or `$` for all of it")
        extra = sorted(self.model_fields_set & (_OF_A_RECORD if self.file else _OF_A_FILE))
        if extra:
            raise ValueError(f"`{extra[0]}` means nothing for a {'file' if self.file else 'record'}; leave it out")
        return self

    @property
    def of(self) -> str:
        """What is pinned, in the manifest's words: the argument, or the reading tool."""
        return self.file or self.tool

    @property
    def look(self) -> LookSpec | None:
        """The reading call, where it is one."""
        return LookSpec(tool=self.tool, args=self.args) if self.tool else None


__all__ = ["MAX_BYTES", "MAX_PINS", "MAX_SECONDS", "SECONDS", "PinSpec"]
