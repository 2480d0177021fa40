"""From settings to a pipeline that runs: tools, models, limits, and the place where paused runs are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver

from checkvalve.gateway.app import Gateway
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.places import checkpoint_place
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.tool_modules import load_tools
from checkvalve.graphs.checkpoint import postgres_checkpointer, sqlite_checkpointer
from checkvalve.graphs.limits import PipelineLimits
from checkvalve.graphs.models import load_chat_model
from checkvalve.graphs.pipeline import Pipeline, build_pipeline
from checkvalve.graphs.recorded import RecordedModel


@contextmanager
def open_pipeline(
    gateway: Gateway,
    *,
    tools: Sequence[Any] | None = None,
    requester: str = "",
    record: Path | None = None,
) -> Iterator[Pipeline]:
    """Open the pipeline that the settings of ``gateway`` describe.

    Args:
        gateway: the parts that decide and record.
        tools: the agent's tools; else those that the settings name.
        requester: on whose behalf runs act that name nobody else.
        record: a folder in which to record what both models say (``reader.jsonl`` and ``actor.jsonl``).

    Raises:
        SettingsError: no tools or models are named.
        ToolsError, ModelError, CheckpointError: one of them cannot be used.
    """
    settings = gateway.settings
    reader, actor = _model(settings, "reader", record), _model(settings, "actor", record)
    found = list(tools) if tools is not None else _tools(settings)
    with _checkpointer(settings) as saver:
        try:
            pipeline = build_pipeline(
                gateway.services,
                tools=found,
                reader=reader,
                actor=actor,
                checkpointer=saver,
                limits=limits_of(settings),
                requester=requester,
                on_new_message=settings.on_new_message,
            )
        except NotImplementedError as error:  # LangChain's way to say that a model has no bind_tools
            raise SettingsError(f"the actor {settings.actor} takes no tools", "use a model that calls tools") from error
        yield pipeline


def limits_of(settings: Settings) -> PipelineLimits:
    """Return the bounds of one task that the settings set."""
    return PipelineLimits(
        max_turns=settings.max_turns,
        max_calls=settings.max_calls,
        max_asks=settings.max_asks,
        bits_per_source=settings.bits_per_source,
    )


def _tools(settings: Settings) -> list[Any]:
    if not settings.tools:
        raise SettingsError("no tools are set", "name their module: --tools MODULE, or tools = ... in the settings")
    return list(load_tools(settings.tools))


def _model(settings: Settings, role: str, record: Path | None) -> BaseChatModel:
    name = settings.reader if role == "reader" else settings.actor
    if not name:
        raise SettingsError(
            f"no {role} is set", f"name its model: --{role} provider:model, or {role} = ... in the settings"
        )
    model = load_chat_model(name)
    return model if record is None else RecordedModel.recording(record / f"{role}.jsonl", model)


@contextmanager
def _checkpointer(settings: Settings) -> Iterator[BaseCheckpointSaver[Any]]:
    place = checkpoint_place(settings)
    if isinstance(place, Path):
        with sqlite_checkpointer(place) as in_file:
            yield in_file
    else:
        with postgres_checkpointer(place) as on_server:
            yield on_server
