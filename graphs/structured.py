"""A chat model as a reader: held to a JSON Schema where its provider can do that, else asked in words.

Guarantees: the model gets no tools; what it says goes on unparsed, since providers' own parsers are laxer than the
strict rules, by which every answer is checked and asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

_SCHEMA_NAME: Final = "extraction"


class StructuredReader:
    """Reads with one chat model.

    It follows :class:`checkvalve.graphs.reader.ReaderModel`, which checks every answer and asks again.
    """

    def __init__(self, model: BaseChatModel) -> None:
        """Use ``model``; whether its provider can be held to a schema is found out once."""
        self._model = model
        self.native = can_be_held(model)

    def extract(self, messages: Sequence[BaseMessage], schema: Mapping[str, Any]) -> object:
        """Return what the model says: the arguments of its one call, or its text, unparsed."""
        if self.native:
            return said(self._held(schema).invoke(list(messages)))
        return said(self._model.invoke(list(messages)))

    async def aextract(self, messages: Sequence[BaseMessage], schema: Mapping[str, Any]) -> object:
        """Do what :meth:`extract` does."""
        if self.native:
            return said(await self._held(schema).ainvoke(list(messages)))
        return said(await self._model.ainvoke(list(messages)))

    def _held(self, schema: Mapping[str, Any]) -> Any:
        # providers want a name, and the raw message is what we parse
        return self._model.with_structured_output({"title": _SCHEMA_NAME, **schema}, include_raw=True)


def can_be_held(model: BaseChatModel) -> bool:
    """Say whether the provider of ``model`` can hold an answer to a JSON Schema.

    1. A model whose profile denies it cannot. 2. One that brings its own ``with_structured_output`` can. 3. One that
    takes tools can be made to call one whose arguments are the schema. 4. Any other cannot.
    """
    kind = type(model)
    if (model.profile or {}).get("structured_output") is False:
        return False
    own = kind.with_structured_output is not BaseChatModel.with_structured_output
    return own or kind.bind_tools is not BaseChatModel.bind_tools


def said(answer: object) -> object:
    """Return what a model said in whichever form: the arguments of its first call, or its text."""
    message = answer.get("raw") if isinstance(answer, Mapping) else answer
    if not isinstance(message, AIMessage):
        return answer
    return message.tool_calls[0]["args"] if message.tool_calls else message.text
