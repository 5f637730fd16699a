"""`enpire new task --agent KIND "SENTENCE"`: an agent drafts the pack, the harness certifies it."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.helpers.summary import program
from enpire.errors import UsageError
from enpire.session.graphics import choose_graphics
from enpire.session.session import NOT_REACHED
from enpire.session.signals import interrupt_on_signals

if TYPE_CHECKING:
    from enpire.evolution.agents.program import AgentProgram
    from enpire.evolution.drafting import DraftRequest

DRAFTS = Path("drafts")
FILLERS = re.compile(r"an?|and|at|by|for|from|in|into|its?|of|on|onto|or|out|over|the|to|with")
WORDS = 4  # of a sentence, that make a name
FAILED = 1


def draft(options: Namespace) -> int:
    """Have an agent draft a pack; returns the exit code."""
    choose_graphics()
    from enpire.cli.task.pack_template import template
    from enpire.evolution.agents.programs import load_program
    from enpire.evolution.drafting import Drafting
    from enpire.evolution.drafting.extraction import extract
    from enpire.evolution.drafting.sandboxed_commands import DraftBench
    from enpire.evolution.experiments.budget import Ceilings
    from enpire.packs.finder import find
    from enpire.sandbox.sandbox import available

    if not options.name.strip():
        raise UsageError('say what the task is, in a sentence: "insert a USB plug"')
    if not available().works:
        raise UsageError(f"an agent's code cannot be confined here: {available().reason}")
    kind = load_program(find("agents", options.agent))
    ceilings = Ceilings(
        tokens=math.inf if options.max_tokens is None else options.max_tokens,
        dollars=math.inf if options.max_dollars is None else options.max_dollars,
    )
    _require_served(kind, options)
    asked, folder = _new_draft(options) if options.draft is None else _taken_up(options)
    within_s = math.inf if options.max_time is None else options.max_time
    print(f"{options.agent} drafts {asked.name} in {folder}", flush=True)

    def say(line: str) -> None:
        print(line, flush=True)

    trusted = template(asked.robot)
    bench = DraftBench(trusted=extract(trusted.parent, trusted.name).files)
    with (
        interrupt_on_signals(),
        Drafting(asked, kind, folder, ceilings, within_s, say, bench) as session,
    ):
        where = session.run(Path("tasks"))
    print(f"used: {session.used}")
    if where is None:
        print(f"no pack: {session.budget_ended or session.reason}")
        again = f'{program()} new task --agent {options.agent} --from {folder} "what to do next"'
        print(f"the draft stays; to go on: {again}")
        return NOT_REACHED if session.budget_ended else FAILED
    print(f"{where}: certified; an agent's work that nobody has answered for yet")
    print(f"look at {where}/pictures, read {where}, then: {program()} task sign {where.name}")
    return 0


def _new_draft(options: Namespace) -> tuple[DraftRequest, Path]:
    """A new draft: the template, in a workspace."""
    from enpire.cli.task.pack_template import (
        NAME,
        require_free,
        require_robot,
        write_template,
    )
    from enpire.evolution.drafting.extraction import digest, extract
    from enpire.evolution.drafting.session import WORK, DraftRequest

    name = options.called or task_name(options.name)
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a task: give --name, like usb_insert")
    require_robot(options.robot)
    require_free(name)
    folder = DRAFTS / name
    if folder.exists():
        raise UsageError(f"{folder} is there already: go on with --from {folder}, or give --name")
    write_template(folder / WORK / name, name, options.robot)
    began = digest(extract(folder / WORK, name).files)
    return DraftRequest(name, options.name.strip(), options.robot, options.agent, began), folder


def _taken_up(options: Namespace) -> tuple[DraftRequest, Path]:
    """An earlier draft, with another sentence."""
    from dataclasses import replace

    from enpire.cli.task.pack_template import require_free
    from enpire.evolution.drafting.session import DraftRequest

    folder: Path = options.draft
    before = DraftRequest.read(folder)
    if options.called not in (None, before.name):
        raise UsageError(f"{folder} is a draft of {before.name}: leave --name out")
    require_free(before.name)
    both = f"{before.sentence}\n{options.name.strip()}"
    return replace(before, sentence=both, agent=options.agent), folder


def task_name(sentence: str) -> str:
    """A task's name out of what is asked for: `insert_usb_plug` of "insert a USB plug"."""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    return "_".join([word for word in words if not FILLERS.fullmatch(word)][:WORDS])


def _require_served(kind: AgentProgram, options: Namespace) -> None:
    if options.max_dollars is not None and not kind.prices:
        raise UsageError(f"--max-dollars needs prices, and agents/{options.agent} names none")
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise UsageError("tools for agents need mcp: pip install 'enpire[evolution]'") from None
