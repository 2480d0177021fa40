"""The two-agent pipeline. Its names load when they are asked for: most programs need a part of this folder."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkvalve.graphs.limits import PipelineLimits
    from checkvalve.graphs.pipeline import Pipeline, build_pipeline
    from checkvalve.graphs.runs import RunResult
    from checkvalve.graphs.services import Services

__all__ = ["Pipeline", "PipelineLimits", "RunResult", "Services", "build_pipeline"]

_HOMES = {
    "Pipeline": "pipeline",
    "PipelineLimits": "limits",
    "RunResult": "runs",
    "Services": "services",
    "build_pipeline": "pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
