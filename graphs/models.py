"""Chat models by name: a provider's, a recording, a script, or a file with weights.

Guarantees: nothing of a provider is imported before its model is asked for; what is missing is named with the command
that installs it; no error repeats what a provider said, since that may quote a key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

from langchain_core.language_models import BaseChatModel

from checkvalve.graphs.errors import ModelError
from checkvalve.graphs.local_model import LocalModel
from checkvalve.graphs.recorded import RecordedModel
from checkvalve.graphs.scripted import ScriptedModel

ModelSpec: TypeAlias = BaseChatModel | str
"""A chat model, or its name: ``provider:model``, ``recorded:FILE``, ``scripted:FILE`` or ``gguf:FILE``."""

_FILES: Final = {"recorded": RecordedModel.replay, "scripted": ScriptedModel.load, "gguf": LocalModel.load}
_FORM: Final = "name it as provider:model, such as openai:gpt-5, or recorded:FILE, scripted:FILE or gguf:FILE"
_HINT: Final = "check the names of provider and model, and that the provider's key is in the environment"


def load_chat_model(spec: ModelSpec) -> BaseChatModel:
    """Return the chat model that ``spec`` is or names.

    1. A chat model is itself. 2. ``recorded:``, ``scripted:`` and ``gguf:`` name a file. 3. Everything else is
    ``provider:model`` for LangChain's ``init_chat_model``, asked to be as steady as the provider allows.

    Raises:
        ModelError: the name has no provider, the provider is not installed, or its model cannot be made.
    """
    if isinstance(spec, BaseChatModel):  # 1.
        return spec
    kind, colon, rest = spec.strip().partition(":")
    if not colon or not kind or not rest:
        raise ModelError(f"{spec!r} names no model", _FORM)
    if kind in _FILES:  # 2.
        return _FILES[kind](Path(rest).expanduser())
    return _provided(kind, rest)  # 3.


def _provided(provider: str, model: str) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415  # an extra, and only this line needs it
    except ImportError as error:
        raise ModelError("LangChain is not installed", "pip install 'checkvalve[langchain]'") from error
    try:
        made = init_chat_model(model, model_provider=provider)
    except ImportError as error:
        package = f"langchain-{provider.replace('_', '-')}"
        raise ModelError(f"the models of {provider} are not installed", f"pip install {package}") from error
    except Exception as error:  # noqa: BLE001  # each provider has errors of its own, whose texts may quote a key
        raise ModelError(f"the model {provider}:{model} cannot be made ({type(error).__name__})", _HINT) from None
    if not isinstance(made, BaseChatModel):
        raise ModelError(f"{provider}:{model} is no chat model", _FORM)
    return made
