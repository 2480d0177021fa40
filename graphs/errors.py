"""The error tree of ``graphs``.

GraphError
└── CheckpointError  a checkpoint holds something that is not on the allowlist; it is refused, never rebuilt
"""

from __future__ import annotations


class GraphError(Exception):
    """Root of every error that ``checkvalve.graphs`` raises on purpose."""


class CheckpointError(GraphError):
    """A checkpoint row that was not written by this program, or was changed since."""
