"""The client of MCP, with a server of the real package, and with one that ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from enpire.agent_loop.remote import Gone, Remote
from tests.needs import needs

needs("mcp")

SERVER = """
import os
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("few", log_level="ERROR")

def train(why: str, settings: dict[str, str] | None = None):
    "Begin."
    if why == "end":
        os._exit(0)
    if not why:
        raise ToolError("say why")
    return [f"{why} {settings}", Image(data=b"hello", format="png")]

server.add_tool(train, structured_output=False)
server.run()
"""


@pytest.fixture
def remote() -> Iterator[Remote]:
    with Remote([sys.executable, "-c", SERVER], wait_s=60) as made:
        yield made


def test_tools_are_listed_and_called(remote: Remote) -> None:
    (tool,) = remote.tools
    assert (tool.name, tool.description, tool.schema["required"]) == ("train", "Begin.", ["why"])
    found = remote.call("c", "train", {"why": "x", "settings": {"lr": "1"}})
    assert (found.call, found.text, found.wrong) == ("c", "x {'lr': '1'}", False)
    assert [(each.kind, each.data) for each in found.pictures] == [("image/png", "aGVsbG8=")]
    refused = remote.call("c", "train", {"why": ""})
    assert refused.wrong
    assert "say why" in refused.text
    assert "at most" in remote.call("c", "train", {"why": "x" * 2_000_000}).text
    with pytest.raises(Gone):
        remote.call("c", "train", {"why": "end"})


def test_a_server_that_does_not_answer_is_gone() -> None:
    with pytest.raises(Gone, match="ended"):
        Remote([sys.executable, "-c", ""])
    with pytest.raises(Gone, match="within"):
        Remote([sys.executable, "-c", "import sys; sys.stdin.read()"], wait_s=0.3)
