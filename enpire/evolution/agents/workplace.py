"""Where an agent's program works: its workspace, its tools, its way to its model, its sandbox."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from enpire import agent_loop
from enpire.closing import Closing
from enpire.errors import PackError
from enpire.evolution.agents import bridge
from enpire.evolution.agents.program import AgentProgram
from enpire.evolution.agents.tool_server import ToolSocket
from enpire.evolution.agents.tools import OfferedTools
from enpire.model_gateway.proxy import Proxy
from enpire.model_gateway.usage import Allowance, Usage
from enpire.sandbox.bubblewrap import hand_over, harness, python
from enpire.sandbox.sandbox import Confinement, Sandbox, SandboxProcess


class Workplace(Closing):
    """The workplace of one program, however often it is started; closing it ends all of them.

    The tools are on a socket of its own, and the proxy on another: both are bound into its sandbox.
    """

    def __init__(
        self,
        program: AgentProgram,
        workspace: Path,
        tools: OfferedTools,
        allowance: Allowance,
        record: Callable[[Usage], None],
        confinement: Confinement = Confinement.BUBBLEWRAP,
        readable: tuple[Path, ...] = (),
        files: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """workspace: exists. readable, files, environment: beside what the program's pack says.

        record: is told what each answer of its model has used.

        Raises:
            PackError: a file is not for the workspace.
            CampaignError: tools cannot be served.
        """
        self._open = ExitStack()
        try:
            private = self._open.enter_context(tempfile.TemporaryDirectory(prefix="enpire-tools-"))
            served = self._open.enter_context(ToolSocket(tools, Path(private) / "tools.sock"))
            self._filled = _words(program, workspace, served.path)
            own = {name: self._fill(text) for name, text in program.files.items()}
            for name, text in (own | dict(files or {})).items():
                _write(workspace, name, text, program)
            hand_over(workspace)
            model = None
            if program.upstreams:
                proxy = Proxy(program.upstreams, allowance, record=record)
                model = self._open.enter_context(proxy).socket
        except BaseException:
            self._open.close()
            raise
        given = {name: self._fill(text) for name, text in program.environment.items()}
        self._command = [self._fill(word) for word in program.command]
        self._sandbox = Sandbox(
            limits=program.limits,
            readable=(*harness(), program.folder, served.path, *program.readable, *readable),
            writable=(workspace,),
            model=model,
            environment=dict(environment or {}) | given,
            confinement=confinement,
        )

    def start(self) -> SandboxProcess:
        """Start the program; it ends with the workplace, if not before.

        Raises:
            SandboxError: there can be no sandbox.
        """
        return self._open.enter_context(self._sandbox.start(self._command))

    def close(self) -> None:
        """End the program, all that it has started, and its tools."""
        self._open.close()

    def _fill(self, text: str) -> str:
        for name, value in self._filled.items():
            text = text.replace(f"{{{name}}}", value)
        return text


def _words(program: AgentProgram, workspace: Path, tools: Path) -> dict[str, str]:
    """What stands for the words in braces of a pack."""
    server = {"command": python(), "args": ["-I", "-S", bridge.__file__, str(tools)]}
    return {
        "workspace": str(workspace),
        "pack": str(program.folder.resolve()),
        "python": python(),
        "loop": str(Path(agent_loop.__file__).with_name("__main__.py")),
        "bridge": bridge.__file__,
        "tools": str(tools),
        "mcp": json.dumps({"mcpServers": {"enpire": server}}),
    }


def _write(workspace: Path, name: str, text: str, program: AgentProgram) -> None:
    path = workspace / name
    if not path.resolve().is_relative_to(workspace) or path.is_symlink():
        raise PackError(f"{program.folder}: {name} is not in the workspace")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
