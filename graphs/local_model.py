"""A small model on this machine, from a file of weights (GGUF), through llama.cpp: a reader that needs no key.

Guarantees: an answer is held to the JSON Schema by a grammar while it is made; nothing leaves the machine. llama.cpp
opens a port on 127.0.0.1 for itself; it is locked with a key that is drawn here and told to nobody.
"""

from __future__ import annotations

import json
import secrets
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import PrivateAttr

from checkvalve.graphs.errors import ModelError

CONTEXT: Final = 8_192  # tokens: what small models were made for
MAX_TOKENS: Final = 1_024  # of one answer: an object of closed types is shorter
_QUIET: Final = -1
_ROLES: Final = {"system": "system", "human": "user", "ai": "assistant"}


class LocalModel(BaseChatModel):
    """The chat model in one file of weights. It answers in text, and in JSON of a given schema; it takes no tools."""

    path: Path
    max_tokens: int = MAX_TOKENS
    seed: int = 1
    _lock: Any = PrivateAttr(default_factory=threading.Lock)  # one answer at a time: it uses the whole machine anyway

    @classmethod
    def load(cls, path: Path) -> LocalModel:
        """Return the model in ``path``.

        Raises:
            ModelError: there is no such file, the extra is not installed, or llama.cpp cannot use the file.
        """
        if not path.is_file():
            raise ModelError(f"there is no file {path}", "give the path of weights in GGUF form")
        _server(path.resolve())
        return cls(path=path.resolve())

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **_: Any) -> Runnable[Any, Any]:
        """Return the model, held to ``schema`` by a grammar."""
        shape = schema if isinstance(schema, dict) else convert_to_openai_function(schema)["parameters"]

        def result(message: AIMessage) -> Any:
            raw = {"raw": message, "parsed": None, "parsing_error": None}
            return raw if include_raw else json.loads(str(message.text))

        return self.bind(schema=shape) | RunnableLambda(result)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the library's signature
        **kwargs: Any,
    ) -> ChatResult:
        asked: dict[str, Any] = {
            "messages": [{"role": _ROLES.get(item.type, "user"), "content": item.text} for item in messages],
            "max_tokens": self.max_tokens,
            "temperature": 0,
            "seed": self.seed,
        }
        if stop:
            asked["stop"] = stop
        if (schema := kwargs.get("schema")) is not None:
            asked["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema, "strict": True}}
        with self._lock:
            answer = _server(self.path).handle_chat_completions(asked)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(_text(answer)))])

    @property
    def _llm_type(self) -> str:
        return "gguf"


def _text(answer: Any) -> str:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        code = answer.get("error", {}).get("type", "") if isinstance(answer, dict) else ""
        raise ModelError(f"the local model gave no answer [{code or 'unknown'}]", "give it less to read") from None
    return str(text or "")


@lru_cache(maxsize=2)
def _server(path: Path) -> Any:
    """Return llama.cpp with the weights of ``path``, loaded once in a process."""
    try:
        import xllamacpp  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ModelError("llama.cpp is not installed", "pip install 'checkvalve[localmodel]'") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.verbosity = _QUIET
    params.warmup = False
    params.ui = False
    params.api_keys = [secrets.token_urlsafe(32)]
    try:
        return xllamacpp.Server(params)
    except Exception as error:  # llama.cpp's own kinds of errors
        raise ModelError(f"llama.cpp cannot use {path.name}", "give weights in GGUF form") from error
