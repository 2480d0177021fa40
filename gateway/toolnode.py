"""Checkvalve in front of a plain LangGraph ``ToolNode``, for graphs that are not built by ``create_agent``.

A ``ToolNode`` is one task for all calls of a turn: when one of them pauses, the node starts again from its first line.
The gate makes that harmless, since a call that has run hands back its recorded result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from checkvalve.approvals.mandates import Mandate
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.toolgate import OnReview, ToolGate


def guarded_tool_node(  # noqa: PLR0913  # one place to say everything; all of it by name
    tools: Sequence[BaseTool | Callable[..., Any]],
    gateway: Gateway,
    *,
    system_prompt: str = "",
    on_review: OnReview = "pause",
    servers: Mapping[str, str] | None = None,
    requester: str = "",
    name: str = "tools",
    messages_key: str = "messages",
    mandates: Sequence[Mandate] = (),
) -> ToolNode:
    """Return a ``ToolNode`` whose every call is decided first.

    The user's words are the messages made by :func:`checkvalve.gateway.words.user_message`, and no others: a node
    cannot see what a graph was invoked with. They are taken in at the next tool call; where that may happen in another
    process, call :func:`checkvalve.gateway.words.use_words_key` in both. Calls whose turn cannot be paused are answered
    as pending.

    Args:
        tools: the tools of the node.
        gateway: from :func:`checkvalve.gateway.app.open_gateway` or ``build``.
        system_prompt: the deployer's instructions, to be given authority.
        on_review: ``pause`` interrupts the graph, ``return`` tells the model that a person is being asked.
        servers: the server of each tool that the manifest declares under one.
        requester: on whose behalf the graph acts; this person may not approve.
        name: the node's name.
        messages_key: where the graph's state keeps the conversation.
        mandates: what the user lets sources do, in every thread of this graph.
    """
    gate = ToolGate(
        gateway,
        system_prompt=system_prompt,
        on_review=on_review,
        servers=servers,
        requester=requester,
        messages_key=messages_key,
        mandates=mandates,
    )
    return ToolNode(
        tools,
        name=name,
        messages_key=messages_key,
        wrap_tool_call=gate.wrap,
        awrap_tool_call=gate.awrap,
    )
