"""Tools of a workspace: files, and commands. The walls are the sandbox's; there are none here."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from enpire.agent_loop.conversation import Tool, ToolResult

LINES = 400  # of a file at a time, unless more are asked for
MOST = 200_000  # characters of a result
LONGEST_S = 900
USUAL_S = 120


@dataclass(frozen=True, slots=True)
class Workspace:
    """root: where relative paths begin and commands run."""

    root: Path

    @property
    def tools(self) -> tuple[Tool, ...]:
        """See `Provider`."""
        return TOOLS

    def call(self, id: str, name: str, given: Mapping[str, Any]) -> ToolResult:
        """See `Provider`."""
        try:
            text = getattr(self, f"_{name}")(**given)
        except (OSError, ValueError) as error:  # a file that is no text, too
            return ToolResult(id, f"{name}: {error}", wrong=True)
        return ToolResult(id, text)

    def _read_file(self, path: str, first: int = 1, lines: int = LINES) -> str:
        shown: list[str] = []
        total, last = 0, max(first, 1) + max(lines, 1) - 1
        with (self.root / path).open(encoding="utf-8") as file:
            for total, line in enumerate(file, 1):
                if max(first, 1) <= total <= last:
                    shown.append(line)
        rest = f"\n[{len(shown)} of {total} lines, from {max(first, 1)}]"
        return "".join(shown)[:MOST] + ("" if len(shown) == total else rest)

    def _write_file(self, path: str, text: str) -> str:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return f"wrote {len(text)} characters to {path}"

    def _edit_file(self, path: str, old: str, new: str) -> str:
        place = self.root / path
        text = place.read_text(encoding="utf-8")
        count = text.count(old) if old else 0
        if count != 1:
            raise ValueError(
                f"`old` is {count} times in {path}, and must be there once: read the file, and "
                "give more of the lines around"
            )
        place.write_text(text.replace(old, new), encoding="utf-8")
        return f"changed {path}"

    def _run_command(self, command: str, seconds: int = USUAL_S) -> str:
        """Its output goes to a file, not a pipe: what it leaves behind cannot hold this up."""
        limit = min(max(seconds, 1), LONGEST_S)
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                ended = f"exit code {process.wait(limit)}"
            except subprocess.TimeoutExpired:
                ended = f"ended after {limit} s: give it more seconds, or less to do"
            finally:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return f"{_ends(output)}\n[{ended}]".lstrip()


def _ends(output: IO[bytes]) -> str:
    """The beginning and the end of a file of whatever length, as text."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= MOST:
        return output.read().decode(errors="replace")
    begun = output.read(MOST // 2)
    output.seek(-(MOST // 2), os.SEEK_END)
    text = begun.decode(errors="replace") + "\n[...]\n"
    return text + output.read().decode(errors="replace")


def _tool(name: str, description: str, required: int, **arguments: tuple[str, str]) -> Tool:
    properties = {n: {"type": kind, "description": text} for n, (kind, text) in arguments.items()}
    return Tool(
        name,
        description,
        {"type": "object", "properties": properties, "required": list(properties)[:required]},
    )


PATH = ("string", "relative to the workspace, or absolute")
TOOLS = (
    _tool(
        "read_file",
        "Lines of a text file.",
        1,
        path=PATH,
        first=("integer", "the first line, from 1"),
        lines=("integer", f"how many; {LINES} unless told"),
    ),
    _tool(
        "write_file",
        "Write a text file, with folders that it needs; one that exists is replaced.",
        2,
        path=PATH,
        text=("string", "all of it"),
    ),
    _tool(
        "edit_file",
        "Replace a passage of a text file that is there exactly once.",
        3,
        path=PATH,
        old=("string", "the passage, to the letter"),
        new=("string", "what comes in its place"),
    ),
    _tool(
        "run_command",
        "Run a shell command in the workspace; what it starts ends with it. Its output comes back.",
        1,
        command=("string", "for /bin/sh"),
        seconds=("integer", f"that it may take; {USUAL_S} unless told, {LONGEST_S} at most"),
    ),
)
