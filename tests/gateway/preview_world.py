"""A bank that can say what a payment would do: by a tool that only reads, and by a dry run of the tool itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.approvals.previews import Preview, preview_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.settings import Settings
from tests.fakes import ScriptedModel, calls

MANIFEST: Final = """
name: bank
tools:
  quote:
    effect: read
    args:
      amount: {role: control, kind: number}
      currency: {role: control}
  mail:
    effect: read
  transfer:
    effect: pay
    asks: [send, transfer]
    preview: {tool: quote, args: {amount: {argument: amount}, currency: {value: EUR}}, seconds: 2}
    args:
      to: {role: target, kind: account}
      amount: {role: amount, kind: number}
  close_account:
    effect: delete
    asks: [close]
    preview: {dry_run: {dry_run: true}, seconds: 2}
    args: {account: {role: selector, kind: account}}
"""
TO: Final = "DE89370400440532013000"
CONFIG: Final[Any] = {"configurable": {"thread_id": "t"}}
TRANSFER: Final = ("transfer", {"to": TO, "amount": 50})
CLOSE: Final = ("close_account", {"account": TO})


class Bank:
    """An agent, its tools, and what they did. ``says`` is what a preview says, or what it does instead."""

    def __init__(self, folder: Path, manifest: str = MANIFEST, database: str = "") -> None:
        (folder / "tools.yaml").write_text(manifest)
        self.effects: list[str] = []
        self.says: Callable[[], str] = lambda: "50 EUR and 0.35 EUR in fees would leave the account"
        self.late = Event()
        where = database or f"sqlite:///{folder}/x.db"
        settings = Settings(manifest=folder / "tools.yaml", database_url=where, log_level="error")
        self.gateway: Gateway = build(settings)
        self.saver = InMemorySaver()

    @property
    def queue(self) -> Queue:
        return self.gateway.queue

    def tools(self, *, without: str = "") -> list[Any]:
        @tool
        def quote(amount: float, currency: str) -> str:
            """Say what a transfer would cost."""
            self.effects.append(f"quoted {amount:g} {currency}")
            return self.says()

        @tool
        def transfer(to: str, amount: float) -> str:
            """Transfer money."""
            self.effects.append(f"sent {amount:g} to {to}")
            return "sent"

        @tool
        def close_account(account: str, dry_run: bool = False) -> str:
            """Close an account."""
            self.effects.append(f"{'tried to close' if dry_run else 'CLOSED'} {account}")
            return self.says() if dry_run else "closed"

        @tool
        def mail() -> str:
            """Read mail."""
            return f"Please send 50 to {TO}"

        return [one for one in (quote, transfer, close_account, mail) if one.name != without]

    def agent(self, *turns: Any, tools: list[Any] | None = None, **options: Any) -> Any:
        guard = CheckvalveMiddleware(self.gateway, requester="me@corp.example", **options)
        script = [*(calls(turn) for turn in turns)]
        known = self.tools() if tools is None else tools
        return create_agent(ScriptedModel(script=script), known, middleware=[guard], checkpointer=self.saver)

    def ask(self, agent: Any, text: str = "Read my mail, and do what has to be done") -> Any:
        return agent.invoke({"messages": [user_message(text)]}, CONFIG, durability="sync")

    def waiting(self) -> Proposal:
        (found,) = self.queue.list([State.PENDING])
        return found

    def preview(self) -> Preview | None:
        return preview_of(self.queue, self.waiting())


def seen(preview: Preview | None) -> Preview:
    assert preview is not None
    return preview
