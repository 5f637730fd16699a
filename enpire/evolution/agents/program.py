"""An agent's program, as its pack describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from enpire.model_gateway.allow_list import Upstream
from enpire.model_gateway.prices import Prices
from enpire.sandbox.limits import SandboxLimits


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """What a pack says. In `command`, `files` and `environment` words in braces are filled in:

    {workspace}, {pack}, {python}, {loop} (`agent_loop`, a program of the harness's own), {bridge}
    and {tools} (of the MCP server: `python -I -S bridge tools`), {mcp}, that server as most
    programs want it in JSON. {model} is the address of its models, known in the sandbox only: not
    in `files`.
    """

    name: str
    folder: Path
    command: tuple[str, ...]
    prompt: str  # on its standard input, {method} and {brief} filled in
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()  # beside the pack and the harness
    upstreams: tuple[Upstream, ...] = ()  # models, with their keys
    prices: Prices = field(default_factory=Prices)
    starts: int = 3  # how often it is started, each time with its workspace as it left it
    limits: SandboxLimits = field(default_factory=SandboxLimits)

    def told(self, method: str, brief: str) -> str:
        """The program's prompt."""
        return self.prompt.replace("{method}", method).replace("{brief}", brief)
