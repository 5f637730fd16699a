"""Tools served over MCP, by the `mcp` package, on a Unix socket for each agent.

A socket is one agent's: who speaks there is that agent, whatever it says. It carries what MCP's
standard input and output do, a message a line, so that the bridge inside of a sandbox
(`bridge.py`) only passes lines on, and any program that can start an MCP server can use it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import socket
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any, Self

from enpire.errors import CampaignError, EnpireError
from enpire.evolution.agents.tools import EpisodePictures, OfferedTools, callables

LINE = 1 << 20  # characters of a message, at most
AT_ONCE = 4  # connections to a socket
PATH_LENGTH = 100  # of a Unix socket's name; the kernel takes 107

NAME = "enpire"


class ToolSocket:
    """Tools on a socket of their own, from `start` until the end of the `with` block."""

    def __init__(self, tools: OfferedTools, path: Path) -> None:
        """path: of the socket, which must not exist.

        Raises:
            CampaignError: `mcp` is not installed, or the path is too long for a socket.
        """
        if len(str(path)) > PATH_LENGTH:
            raise CampaignError(
                f"{path} is too long for a socket: choose a run with a shorter name"
            )
        try:
            import mcp  # noqa: F401
        except ImportError:
            raise CampaignError("tools need mcp: pip install 'enpire[evolution]'") from None
        self.path = path
        self._tools = tools
        self._listening = socket.socket(socket.AF_UNIX)
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._open: set[socket.socket] = set()
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        self._listening.bind(str(self.path))
        self.path.chmod(0o666)  # inside of a sandbox it is somebody else who connects
        self._listening.listen()
        threading.Thread(target=self._accept, name="tools", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._turn:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            if not self._free.acquire(blocking=False):
                connection.close()
                continue
            with self._turn:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        import anyio

        try:
            with (
                contextlib.suppress(OSError, ValueError, EOFError),
                connection.makefile("r", encoding="utf-8", errors="replace") as said,
                connection.makefile("w", encoding="utf-8") as answers,
            ):
                anyio.run(_converse, self._tools, said, answers)
        finally:
            with self._turn:
                self._open.discard(connection)
            connection.close()
            self._free.release()


async def _converse(tools: OfferedTools, said: IO[str], answers: IO[str]) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    served = server(tools)._lowlevel_server
    lines: Any = _BoundedLines(said)
    async with stdio_server(stdin=lines, stdout=anyio.wrap_file(answers)) as (reading, writing):
        await served.run(reading, writing, served.create_initialization_options())


class _BoundedLines:
    """The lines of a file, none longer than `LINE`: memory is the harness's."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[str]:
        import anyio

        while line := await anyio.to_thread.run_sync(self._file.readline, LINE):
            if not line.endswith("\n"):  # too long, or cut off: nobody knows what it means
                return
            yield line


def server(tools: OfferedTools) -> Any:
    """An MCP server with an agent's tools."""
    from mcp.server.mcpserver import MCPServer

    made = MCPServer(NAME, log_level="ERROR")
    for tool in callables(tools):
        made.add_tool(_answering(tool), structured_output=False)
    return made


def _answering(tool: Callable[..., str | EpisodePictures]) -> Callable[..., Any]:
    """A tool as MCP takes it: pictures as images, what is wrong as an error with its own words."""
    from mcp.server.mcpserver import Image
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def answering(*args: Any, **given: Any) -> Any:
        try:
            answer = tool(*args, **given)
        except EnpireError as error:
            raise ToolError(str(error)) from None
        if isinstance(answer, EpisodePictures):
            return [answer.text, *(Image(path=path) for path in answer.pictures)]
        return answer

    signature = inspect.signature(tool, eval_str=True)
    answering.__signature__ = signature.replace(return_annotation=Any)  # type: ignore[attr-defined]
    answering.__annotations__ = {
        **{name: each.annotation for name, each in signature.parameters.items()},
        "return": Any,
    }
    return answering
