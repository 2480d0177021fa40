"""What the deployer declares of trying a tool: how a person is shown what a call would do before it is decided.

Guarantees: there are two ways and no third: another tool that only reads, or the tool itself with one fixed argument
that makes it try and not do. Nothing of it is chosen by a model. Whether tools and arguments exist is checked with the
whole manifest (:mod:`preview_declared`).
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, model_validator

from checkvalve.approvals.fieldspec import Declared
from checkvalve.approvals.undospec import LookSpec, LookValue
from checkvalve.filters.strictjson import JSON

RULE: Final = "preview"
"""The rule by which a dry run is allowed: the manifest says that the tool only tries, and who decides is a person."""
SECONDS: Final = 10
"""How long a preview may take where the manifest says nothing: the question stands meanwhile, and the agent waits."""
MAX_SECONDS: Final = 60
Fixed = Annotated[dict[str, str | bool | int], Field(max_length=1)]


class PreviewSpec(Declared):
    """How the effect of a tool is previewed: by another ``tool`` that reads, or by the tool itself as a ``dry_run``."""

    tool: str = Field("", max_length=200, description="a tool of the same server, with effect read; or give `dry_run`")
    args: dict[str, LookValue] = Field(default_factory=dict, description="the arguments of that tool by name")
    dry_run: Fixed = Field(
        default_factory=dict,
        description="the one argument, with its fixed value, that makes this very tool try and not do",
    )
    seconds: int = Field(SECONDS, ge=1, le=MAX_SECONDS, description="how long it may take; then there is no preview")

    @model_validator(mode="after")
    def _one_of_them(self) -> PreviewSpec:
        """Refuse a preview by nothing, or by two tools."""
        if bool(self.tool) == bool(self.dry_run):
            raise ValueError("say how it is previewed: by another `tool` that reads, or with `dry_run`")
        if self.args and self.dry_run:
            raise ValueError("a dry run takes the arguments of the call; leave `args` out")
        return self

    @property
    def look(self) -> LookSpec | None:
        """The reading call, where it is one."""
        return LookSpec(tool=self.tool, args=self.args) if self.tool else None

    @property
    def fixed(self) -> tuple[str, JSON] | None:
        """The argument that the gateway alone gives, and its value, where this is a dry run."""
        return next(iter(self.dry_run.items()), None)


__all__ = ["MAX_SECONDS", "RULE", "SECONDS", "PreviewSpec"]
