"""A model whose answers are recorded once and replayed after that: runs that need no key and never differ.

Guarantees: an answer is found by the digest of the whole input (messages, tools, schema), so a run that asks anything
else than the recorded one stops at that question; the file keeps digests of inputs, not inputs. It does keep the
answers: guard it like the content they were made from.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from checkvalve.approvals.canonical import digest
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value, parse_strict
from checkvalve.graphs.errors import ModelError, RecordingError
from checkvalve.graphs.structured import can_be_held

_FORMAT: Final = "checkvalve-recording-1"
MAX_FILE: Final = 64 * 1024 * 1024  # a recording is for tests and for looking at; a larger one is something else


class RecordedModel(BaseChatModel):
    """Replays ``path``; with ``inner`` it asks that model and adds its answers to the file.

    The n-th question with one input gets the n-th answer that was recorded for it, and after the last one the last
    again, so that another process can go on with a run.
    """

    path: Path
    inner: BaseChatModel | None = None
    _answers: dict[str, list[dict[str, Any]]] = PrivateAttr(default_factory=dict)
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def replay(cls, path: Path) -> RecordedModel:
        """Return the model that says what was recorded in ``path``.

        Raises:
            ModelError: the file is missing, too large, or no recording.
        """
        header, answers = _read(path)
        model = cls(path=path, profile={"structured_output": header.get("held") is True})
        model._answers = answers
        return model

    @classmethod
    def recording(cls, path: Path, inner: BaseChatModel) -> RecordedModel:
        """Return a model that asks ``inner`` and writes what it says into the new file ``path``.

        File and folder are made for this user only.

        Raises:
            ModelError: the file exists, or cannot be written.
        """
        held = can_be_held(inner)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps({"format": _FORMAT, "held": held}) + "\n")
        except FileExistsError as error:
            raise ModelError(f"{path} exists", "record into a new file: a recording is never mixed") from error
        except OSError as error:
            raise ModelError(f"{path} cannot be written: {error.strerror}", "check the folder") from error
        return cls(path=path, inner=inner, profile={"structured_output": held})

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> Runnable[Any, AIMessage]:
        """Return the model with tools, which count as part of the input."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **_: Any) -> Runnable[Any, Any]:
        """Return the model held to ``schema``, which counts as part of the input."""

        def result(message: AIMessage) -> Any:
            raw = {"raw": message, "parsed": None, "parsing_error": None}
            return raw if include_raw else json.loads(str(message.text))

        return self.bind(schema=schema) | RunnableLambda(result)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the library's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the library's signature
        **kwargs: Any,
    ) -> ChatResult:
        tools, schema = kwargs.get("tools"), kwargs.get("schema")
        key = input_digest(messages, tools=tools, schema=schema)
        found = self._played(key) if self.inner is None else self._recorded(self.inner, key, messages, tools, schema)
        return ChatResult(generations=[ChatGeneration(message=found)])

    def _played(self, key: str) -> AIMessage:
        with self._lock:
            answers = self._answers.get(key)
            if not answers:
                raise RecordingError(
                    f"the recording {self.path.name} has no answer to the input {key[:19]}",
                    "record the run again: prompts, tools, manifest, task or content have changed",
                )
            number = min(self._asked[key], len(answers) - 1)
            self._asked[key] += 1
        answer = answers[number]
        if answer.get("error"):
            raise ModelError(f"the recorded model failed here ({answer['error']})", "nothing to do: it was so")
        return _message(answer)

    def _recorded(
        self, inner: BaseChatModel, key: str, messages: list[BaseMessage], tools: Any, schema: Any
    ) -> AIMessage:
        try:
            said = _ask(inner, messages, tools, schema)
        except Exception as error:
            self._write({"input": key, "error": type(error).__name__})
            raise
        self._write({"input": key, **_answer(said)})
        return said

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    @property
    def _llm_type(self) -> str:
        return "recorded"


def _ask(inner: BaseChatModel, messages: list[BaseMessage], tools: Any, schema: Any) -> AIMessage:
    if schema is not None:
        answer = inner.with_structured_output(schema, include_raw=True).invoke(messages)
        raw = answer["raw"] if isinstance(answer, dict) else None
        return raw if isinstance(raw, AIMessage) else AIMessage(json.dumps(answer, default=str))
    asked: Runnable[Any, Any] = inner.bind_tools(tools) if tools else inner
    said: AIMessage = asked.invoke(messages)
    return said


def input_digest(messages: Sequence[BaseMessage], *, tools: Any = None, schema: Any = None) -> str:
    """Return the digest of everything that an answer depends on; ids that a framework draws are no part of it.

    Raises:
        ModelError: the input holds something that JSON does not have.
    """
    shown = [
        {
            "type": message.type,
            "content": message.content,
            "calls": [[call["name"], call["args"]] for call in message.tool_calls]
            if isinstance(message, AIMessage)
            else [],
            "reply": message.tool_call_id if isinstance(message, ToolMessage) else "",
        }
        for message in messages
    ]
    try:
        return digest(check_value({"messages": shown, "tools": tools, "schema": schema}))
    except HostileInputError as error:
        raise ModelError(f"this input cannot be recorded [{error.code}]", "send text only") from error


def _answer(message: AIMessage) -> dict[str, JSON]:
    calls: list[JSON] = [
        {"name": call["name"], "args": check_value(call["args"]), "id": call["id"]} for call in message.tool_calls
    ]
    return {"text": message.text, "calls": calls, "invalid": len(message.invalid_tool_calls)}


def _message(answer: Mapping[str, Any]) -> AIMessage:
    calls = [{**call, "type": "tool_call"} for call in answer.get("calls", [])]
    broken = [
        {"name": "", "args": "", "id": "", "error": "recorded", "type": "invalid_tool_call"}
        for _ in range(int(answer.get("invalid", 0)))
    ]
    return AIMessage(str(answer.get("text", "")), tool_calls=calls, invalid_tool_calls=broken)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    header, *lines = lines_of(path, "recording") or [{}]
    if header.get("format") != _FORMAT:
        raise ModelError(f"{path} is no recording", "give a file that a recorded run wrote")
    answers: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        answers.setdefault(str(line.get("input")), []).append(line)
    return header, answers


def lines_of(path: Path, what: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a file that has one in each line.

    Raises:
        ModelError: the file cannot be read, or a line of it is no object; the error names the line.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise ModelError(f"{path} is too large for a {what}", "give the right file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"the {what} {path} cannot be read", "give a text file that exists") from error
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        try:
            value = parse_strict(line)
        except HostileInputError as error:
            raise ModelError(f"{path}, line {number} is not JSON [{error.code}]", "one object in each line") from error
        if not isinstance(value, dict):
            raise ModelError(f"{path}, line {number} is no JSON object", "one object in each line")
        found.append(value)
    return found
