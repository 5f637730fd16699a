"""Tools over MCP: the real package on both sides, through the bridge, in and out of a sandbox."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enpire.errors import CampaignError
from enpire.evolution.agents import bridge, tool_server
from enpire.evolution.agents.tool_server import ToolSocket
from enpire.evolution.agents.tools import EpisodePictures
from enpire.sandbox.sandbox import Sandbox, available
from tests.needs import needs

needs("mcp")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080000000"
    "03a7e9b550000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)


class Few:
    """Two tools and a picture, in place of a campaign's ten."""

    names = ("train", "read_episode")

    def __init__(self, folder: Path) -> None:
        self.picture = folder / "a.png"
        self.picture.write_bytes(PNG)

    def train(self, hypothesis: str, settings: dict[str, str] | None = None) -> str:
        """Begin an experiment."""
        if not hypothesis:
            raise CampaignError("say what should get better")
        return f"{hypothesis}: {settings}"

    def read_episode(self, episode: str) -> EpisodePictures:
        """One episode."""
        return EpisodePictures(f"about {episode}", (self.picture,))


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Path]:
    with ToolSocket(Few(tmp_path), tmp_path / "s") as served:
        yield served.path


def test_a_client_lists_and_calls_tools(at: Path) -> None:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def talk() -> list[Any]:
        words = ["-I", "-S", bridge.__file__, str(at)]
        there = StdioServerParameters(command=sys.executable, args=words)
        # Its own default is the stderr of the moment that it was imported at: perhaps a test's.
        client = stdio_client(there, errlog=sys.__stderr__ or sys.stderr)
        async with client as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [
                await session.list_tools(),
                await session.call_tool("train", {"hypothesis": "x", "settings": {"lr": "1"}}),
                await session.call_tool("train", {"hypothesis": ""}),
                await session.call_tool("read_episode", {"episode": "e"}),
            ]

    listed, done, refused, shown = asyncio.run(talk())
    assert [tool.name for tool in listed.tools] == ["train", "read_episode"]
    assert "hypothesis" in listed.tools[0].input_schema["required"]
    assert done.content[0].text == "x: {'lr': '1'}"
    assert refused.is_error
    assert "say what should get better" in refused.content[0].text
    assert [part.type for part in shown.content] == ["text", "image"]


def hello() -> bytes:
    """The first message of a client."""
    about = {"name": "test", "version": "0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    said = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return json.dumps(said).encode() + b"\n"


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_tools_answer_from_inside_of_a_sandbox(at: Path) -> None:
    from enpire.sandbox.bubblewrap import python

    sandbox = Sandbox(readable=(Path(bridge.__file__), at))
    with sandbox.start([python(), "-I", "-S", bridge.__file__, str(at)]) as process:
        process.stdin.write(hello())
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "enpire"


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_a_socket_that_is_not_shown_does_not_answer(at: Path) -> None:
    from enpire.sandbox.bubblewrap import python

    sandbox = Sandbox(readable=(Path(bridge.__file__),))
    ended = sandbox.run([python(), "-I", "-S", bridge.__file__, str(at)], given=hello())
    assert ended.code == 1
    assert b"does not answer" in ended.err


def test_a_line_without_end_is_not_read_for_ever(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_server, "LINE", 1000)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60.0)
        client.connect(str(at))
        client.sendall(b"x" * 2000)
        assert client.recv(1) == b"", "the connection is closed"


def test_no_more_than_a_few_connections_at_once(at: Path) -> None:
    clients = [socket.socket(socket.AF_UNIX) for _ in range(tool_server.AT_ONCE + 1)]
    try:
        for client in clients:
            client.connect(str(at))
        clients[-1].settimeout(60.0)
        assert clients[-1].recv(1) == b""
    finally:
        for client in clients:
            client.close()


def test_a_path_too_long_for_a_socket_says_so(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="shorter"):
        ToolSocket(Few(tmp_path), tmp_path / ("x" * 100))
