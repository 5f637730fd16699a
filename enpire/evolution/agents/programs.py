"""Agents that are programs of the command line, run headless in a sandbox of their own.

A pack's `agent.toml` says how one is called: what is written into its workspace, what it is told,
which model it may reach. It meets the campaign by its tools alone (`tool_server.py`), and its model
by the proxy alone (`proxy.py`), which counts what it uses; what the program says of that itself is
kept in its output, and nothing rests on it.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from enpire.child_environment import keep_from_children
from enpire.errors import CampaignError, EnpireError, PackError
from enpire.evolution.agents.program import AgentProgram
from enpire.evolution.agents.tools import Tools
from enpire.evolution.agents.variables import VARIABLE, read_environment, require_no_key
from enpire.evolution.agents.workplace import Workplace
from enpire.evolution.agents.workspace import cloned, committed
from enpire.evolution.campaign.campaign import AgentSession
from enpire.evolution.campaign.history import FOLDER
from enpire.evolution.experiments.events import ModelUse
from enpire.evolution.knowledge import transfer
from enpire.model_gateway.allow_list import Upstream
from enpire.model_gateway.prices import Prices
from enpire.model_gateway.usage import Allowance, Usage
from enpire.packs import Pack
from enpire.packs.finder import ALIKE, file_in
from enpire.packs.toml import Table
from enpire.sandbox.bubblewrap import PATH
from enpire.sandbox.limits import GIB, SandboxLimits
from enpire.sandbox.sandbox import CommandResult, Confinement

MARKER = "agent.toml"
KEYS = (  # of it
    *("name", "description", "source", "command", "prompt", "files", "environment", "readable"),
    *("models", "prices", "starts", "memory_gib", "hours"),
)
FILLED = ("workspace", "pack", "python", "loop", "bridge", "tools", "mcp", "model")
PROMPTED = ("method", "brief")  # words in braces, as above, of what a program is told
HEADER = re.compile(r"[A-Za-z0-9-]+")
REQUEST = re.compile(r"[A-Z]+ /(?!\S*\.\.)[^\s?#%]*")  # a method and a path, without a query
MODEL_KEYS = ("name", "url", "url_from", "allowed", "header", "prefix", "key", "key_from")
MEMORY_GIB, HOURS, STARTS = (1 / 64, 2**16), (1e-3, 1e3), (1, 10_000)  # from and to
WORKSPACES = "workspaces"  # of a run
OUTPUT = "output.txt"  # beside a workspace, not in it
UNLIMITED = 10**15  # tokens
METHOD = Path(__file__).with_name("method.md")  # how to work as an agent


def load_program(pack: Pack) -> AgentProgram:
    """Read a pack's `agent.toml`.

    Raises:
        PackError: it does not parse, or says what cannot be; file and key.
        CampaignError: the program is not installed, a key is missing, or an address is none.
    """
    path = pack.folder / MARKER
    table = Table.read(path)
    table.require_known(*KEYS)
    for key, text in table.leaf_texts():
        require_no_key(text, f"{path}: {key}")
    command, environment = table.texts("command"), read_environment(table)
    file, own, found = _installed(command[0], path)
    models = tuple(_upstream(row, path) for row in _rows(table, "models"))
    if len({model.name for model in models}) != len(models):
        raise PackError(f"{path}: two models have the same name")
    prompt = file_in(pack.folder, table.text("prompt", "prompt.md"), f"{path}: prompt")
    filled = [*command, *environment.values()]
    _require_filled(" ".join(filled), FILLED, str(path))
    for model in re.findall(r"\{model\}/([\w.-]+)", " ".join(filled)):
        if model not in {known.name for known in models}:
            raise PackError(f"{path}: {{model}}/{model} is none of its models; see [[models]]")
    return AgentProgram(
        name=pack.name,
        folder=pack.folder,
        command=(file, *command[1:]),
        prompt=read_prompt(prompt),
        files=_texts(table, "files"),
        environment=found | environment,
        readable=(*own, *_readable(table)),
        upstreams=models,
        prices=Prices.read(table.table("prices")) if table.has("prices") else Prices(),
        starts=_starts(table),
        limits=SandboxLimits(
            memory=int(_bounded_number(table, "memory_gib", 8, *MEMORY_GIB) * GIB),
            wall_s=_bounded_number(table, "hours", 12, *HOURS) * 3600,
        ),
    )


def read_prompt(path: Path) -> str:
    """What a program is told, from a file; raises PackError for one that does not say the task."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except ValueError as error:
        raise PackError(f"{path} is no UTF-8: {error}") from error
    require_no_key(text, str(path))
    _require_filled(text, PROMPTED, str(path))
    if "{brief}" not in text:
        raise PackError(f"{path} lacks {{brief}}, which the task stands in place of")
    return text


def _require_filled(text: str, known: Sequence[str], where: str) -> None:
    """Raise PackError for a word in braces that is nearly one that is filled in."""
    for word in re.findall(r"\{(\w+)(?![\w}])", text):
        if word in known:
            raise PackError(f"{where}: {{{word} is not closed: write {{{word}}}")
    for word in re.findall(r"\{(\w+)\}", text):
        near = difflib.get_close_matches(word, known, 1, ALIKE)
        if word not in known and near:
            raise PackError(f"{where}: nothing stands for {{{word}}}; do you mean {{{near[0]}}}?")


class ProgramAgent:
    """An agent that is a program."""

    def __init__(
        self,
        name: str,
        program: AgentProgram,
        run: Path,
        tokens: float,
        confinement: Confinement = Confinement.BUBBLEWRAP,
    ) -> None:
        """run: the campaign's folder. tokens: that it may use from now on."""
        self.name, self._program, self._confinement = name, program, confinement
        self._folder = run / WORKSPACES / name
        self._allowance = Allowance(int(min(tokens, UNLIMITED)))
        self._starts = 0
        self._thread: threading.Thread | None = None
        self._ended: CommandResult | EnpireError | None = None
        self._place: Workplace | None = None

    def turn(self, desk: AgentSession) -> None:
        """See `Agent`: start it, and again when it has ended."""
        if self._thread is not None and self._thread.is_alive():
            return
        if self._starts >= self._program.starts or desk.campaign.closed:
            desk.leave(wrong(self._ended) or "its program has ended")
            return
        try:
            self._start(desk)
        except (EnpireError, OSError) as error:
            desk.leave(f"its program does not start: {error}")

    def close(self) -> None:
        """End the program and all that it has started."""
        if self._place is not None:
            self._place.close()
        if self._thread is not None:
            self._thread.join()

    def _start(self, desk: AgentSession) -> None:
        place = self._place or self._prepared(desk)
        self._starts += 1
        brief = Tools(desk.campaign, self.name).task_brief()
        prompt = self._program.told(METHOD.read_text(encoding="utf-8"), brief)
        process = place.start()

        def wait() -> None:
            try:
                self._ended = process.communicate(prompt.encode())
            except EnpireError as error:
                self._ended = error
            else:
                with (self._folder / OUTPUT).open("ab") as kept:
                    kept.write(self._ended.out)

        self._thread = threading.Thread(target=wait, name=self.name, daemon=True)
        self._thread.start()

    def _prepared(self, desk: AgentSession) -> Workplace:
        """The place where it works until it is closed."""
        workspace = (self._folder / "work").resolve()
        history = (self._folder.parents[1] / FOLDER).resolve()
        cloned(history, workspace, self.name)
        taken = partial(committed, workspace, self.name, confinement=self._confinement)
        elsewhere = transfer.read(desk.campaign.run_store.folder)
        self._place = Workplace(
            self._program,
            workspace,
            Tools(desk.campaign, self.name, committed=taken),
            self._allowance,
            lambda usage: self._spent(desk, usage),
            self._confinement,
            readable=(history,),
            files=elsewhere.files if elsewhere else None,
        )
        return self._place

    def _spent(self, desk: AgentSession, usage: Usage) -> None:
        used = ModelUse(usage.tokens or 0, self._program.prices.dollars(usage))
        desk.campaign.spend(self.name, used, usage.classes)


def wrong(ended: CommandResult | EnpireError | None) -> str:
    """What went wrong at a program's end; empty for nothing."""
    if isinstance(ended, EnpireError):
        return str(ended)
    if ended is None or (ended.code == 0 and not ended.breach):
        return ""
    last = ended.err.decode(errors="replace").strip().splitlines()[-1:]
    said = ended.breach or f"exit code {ended.code}"
    return f"its program failed ({said}): {last[0] if last else 'it said nothing'}"


def _rows(table: Table, key: str) -> list[Table]:
    return table.tables(key) if table.has(key) else []


def _texts(table: Table, key: str) -> dict[str, str]:
    if not table.has(key):
        return {}
    inner = table.table(key)
    odd = [name for name in inner.names if not name or "=" in name or "\0" in name]
    if odd:
        raise PackError(f"{inner.where}: {odd[0]!r} is no name")
    return {name: inner.text(name) for name in inner.names}


def _readable(table: Table) -> list[Path]:
    paths = [Path(name) for name in table.texts("readable")] if table.has("readable") else []
    if missing := [path for path in paths if not path.exists()]:
        raise PackError(f"{table.where}: readable has {missing[0]}, which is not there")
    return paths


def _installed(command: str, path: Path) -> tuple[str, tuple[Path, ...], dict[str, str]]:
    """A program's own file, what is read when it starts, and what its environment needs for that.

    Its folder; of one that npm installed all packages, and node, if that is where nobody looks.
    """
    if "{" in command:
        return command, (), {}
    found = shutil.which(command)
    if found is None:
        raise CampaignError(f"{path} needs {command}, which is not installed, or not on PATH")
    file = Path(found).resolve()
    packages = [parent for parent in file.parents if parent.name == "node_modules"]
    if not packages:
        return str(file), (file.parent,), {}
    node = None if shutil.which("node", path=PATH) else shutil.which("node")
    if node is None:
        return str(file), (packages[-1],), {}
    folder = Path(node).resolve().parent
    return str(file), (packages[-1], folder), {"PATH": f"{folder}:{PATH}"}


def _starts(table: Table) -> int:
    value = _bounded_number(table, "starts", 3, *STARTS)
    if not value.is_integer():
        raise PackError(f"{table.where}: starts must be a whole number, found {value:g}")
    return int(value)


def _bounded_number(table: Table, key: str, default: float, least: float, most: float) -> float:
    value = table.number(key, default)
    if not least <= value <= most:
        raise PackError(
            f"{table.where}: {key} must be above 0, of {least:g} to {most:g}, found {value:g}"
        )
    return value


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        if parts.port == 0:  # looked at when it is asked for
            return False
    except ValueError:
        return False
    plain = not parts.username and not parts.password and not re.search(r"\s", url)
    there = parts.scheme in ("http", "https") and bool(parts.hostname) and plain
    return there and not (parts.path.strip("/") or parts.query or parts.fragment)


def _upstream(table: Table, path: Path) -> Upstream:
    """A model. Its key and, where the user has another, its address are in variables."""
    table.require_known(*MODEL_KEYS)
    name = table.text("key_from", "")
    if table.has("key_from") and not name.strip():
        raise PackError(f"{table.where}: key_from names no variable: leave it out, or name one")
    for key in ("key_from", "url_from"):
        if (called := table.text(key, "")) and not VARIABLE.fullmatch(called):
            raise PackError(
                f"{table.where}: {key} is the name of a variable, of letters, digits and _: what "
                "stands there is none. A key itself belongs into that variable, and in no file"
            )
    allowed = table.texts("allowed")
    if wrong := [each for each in allowed if not REQUEST.fullmatch(each)]:
        raise PackError(
            f"{table.where}: allowed has {wrong[0]!r}: a method and a path, as POST /v1/messages, "
            "without a query"
        )
    key = os.environ.get(name, "") if name else ""
    if name:
        keep_from_children(name)
    if name and not key and table.text("key", "required") != "optional":
        raise CampaignError(f"{path} needs a key in {name}: set that variable for the harness")
    header, prefix = table.text("header", "x-api-key"), table.text("prefix", "")
    if not HEADER.fullmatch(header) or not prefix.isprintable():
        raise PackError(
            f"{table.where}: header {header!r} and prefix {prefix!r}: a name of letters, digits "
            "and -, and a text of one line"
        )
    elsewhere = table.text("url_from", "")
    url = (os.environ.get(elsewhere, "") if elsewhere else "") or table.text("url")
    if not _is_address(url):
        raise CampaignError(
            f"{path}: {elsewhere or 'url'} must be http(s)://HOST:PORT, not {url!r}"
        )
    return Upstream(
        table.text("name"),
        url.rstrip("/"),
        allowed,
        header,
        prefix,
        key,
    )
