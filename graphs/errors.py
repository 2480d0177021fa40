"""The error tree of ``graphs``.

GraphError
├── CheckpointError  a checkpoint holds something that is not on the allowlist; it is refused, never rebuilt
├── PipelineError    a pipeline was built or used wrongly; nothing was started
├── ModelError       no such model, its provider is missing, or it has nothing to say
│   └── RecordingError  a recording has no answer to what is asked: the run differs from the recorded one
├── PromptError      there is no such prompt, or its header is incomplete
└── CodedError       something the actor asked for cannot be done: a stable code and a remedy, and no content
"""

from __future__ import annotations

from checkvalve.graphs.codes import REMEDIES


class GraphError(Exception):
    """Root of every error that ``checkvalve.graphs`` raises on purpose."""


class CheckpointError(GraphError):
    """A checkpoint row that was not written by this program, or was changed since."""


class PipelineError(GraphError):
    """A pipeline cannot be built or run like this. ``remedy`` is the one thing to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class ModelError(PipelineError):
    """A model cannot be made or has nothing to say. ``remedy`` is the one thing to do."""


class RecordingError(ModelError):
    """A run asks what the recorded one did not. It stops there, since going on would be another run."""


class PromptError(GraphError):
    """A prompt file is missing or incomplete."""


class CodedError(GraphError):
    """What the actor is told instead of an exception's text. ``place`` is a name that the actor itself wrote."""

    def __init__(self, code: str, place: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.place = place

    @property
    def remedy(self) -> str:
        """The one thing to do about it."""
        return REMEDIES[self.code]
