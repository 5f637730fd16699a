"""The agents of a campaign: their programs, tuners, sandbox and budgets, as the options say."""

from __future__ import annotations

import math
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import StoreError, UsageError

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.evolution.agents.program import AgentProgram
    from enpire.evolution.agents.tuner import Tuner
    from enpire.evolution.campaign.campaign import AgentPool
    from enpire.evolution.experiments.budget import Ceilings
    from enpire.evolution.knowledge.transfer import TransferredKnowledge, TransferredRecipe
    from enpire.rollout.loop.settings import LoopSettings
    from enpire.store import Run

TEAM = "tuner:4"
TUNER = "tuner"
NOBODY = "no programs of their own: they choose recipes and settings"


def agents_of(options: Namespace) -> dict[str, Any]:
    """What a campaign's config says of its agents; all that they need is there.

    Raises:
        EnpireError: it is not, or what is asked for makes no sense.
    """
    from enpire.evolution.agents.tools import without
    from enpire.evolution.campaign.team import team

    asked = options.agents or TEAM
    named = team(asked)
    prompt = _read_prompt(options.prompt)
    told = {"prompt": prompt, "tools_off": without(options.without) if options.without else ()}
    _require_programs(named, told)
    programs_of(named, prompt)
    _tuners([name for name, kind in named if kind == TUNER], "", 0)
    confinement = confinement_of(named, options.no_sandbox)
    told = {name: value for name, value in told.items() if value}
    return {"agents": asked, "confinement": confinement} | told


def repertoire(settings: LoopSettings, stations: StationBackend) -> str:
    """Recipes that these stations can run: the task's own, and others that suit most."""
    from enpire.improvement import recipe_finding as recipes

    found: list[str] = []
    for name in ("replay_bc", *settings.rounds.recipe.split(","), "rlpd", "bc"):
        with suppress(UsageError):
            recipes.find(name).require(stations)
            found.append(name)
    return ",".join(dict.fromkeys(found))


def confinement_of(named: list[tuple[str, str]], without: bool) -> str:
    """What holds the agents' programs, as the report says it."""
    from enpire.sandbox.sandbox import Confinement, available

    if all(kind == TUNER for _, kind in named):
        return NOBODY
    if without:
        return f"{Confinement.NONE}: what they did is not known to be theirs alone"
    if not available().works:
        raise UsageError(
            f"agents cannot be confined here: {available().reason}; or give --no-sandbox, and "
            "trust them with all rights of yours"
        )
    return str(Confinement.BUBBLEWRAP)


def transferred_knowledge(learned: Path | None) -> TransferredKnowledge | None:
    """What another run has to take over."""
    from enpire.evolution.knowledge.transfer import read_transfer
    from enpire.store import Run

    if learned is None:
        return None
    with Run.open(learned) as run:
        return read_transfer(run)


def with_transferred(repertoire: str, elsewhere: TransferredKnowledge) -> str:
    """A repertoire, and the recipes of the harness that were kept elsewhere."""
    kept = (idea.recipe for idea in elsewhere.ideas if not idea.source)
    return ",".join(dict.fromkeys((*repertoire.split(","), *kept)))


def _read_prompt(path: Path | None) -> str:
    """A prompt's text; empty without one."""
    from enpire.evolution.agents.programs import read_prompt

    try:
        return read_prompt(path) if path else ""
    except OSError as error:
        raise UsageError(f"--prompt {path}: {error.strerror}") from error


def _require_programs(named: list[tuple[str, str]], told: dict[str, Any]) -> None:
    """Check that prompts and tools are for somebody: a tuner has none."""
    if any(told.values()) and all(kind == TUNER for _, kind in named):
        raise UsageError("--prompt and --without are for agents that are programs, not for a tuner")


def programs_of(named: list[tuple[str, str]], prompt: str) -> dict[str, AgentProgram]:
    """The packs of agents that are programs, by kind; prompt: instead of their own."""
    from dataclasses import replace

    from enpire.evolution.agents.programs import load_program
    from enpire.packs.finder import find

    kinds = dict.fromkeys(kind for _, kind in named if kind != TUNER)
    found = {kind: load_program(find("agents", kind)) for kind in kinds}
    return {k: replace(p, prompt=prompt) if prompt else p for k, p in found.items()}


def open_pool(
    named: list[tuple[str, str]],
    programs: dict[str, AgentProgram],
    run: Run,
    settings: LoopSettings,
    limits: dict[str, Any],
) -> AgentPool:
    """The agents, and the code that they may have run without a sandbox."""
    from enpire.evolution.agents.programs import ProgramAgent
    from enpire.evolution.campaign.campaign import Agent, AgentPool
    from enpire.evolution.experiments.events import replay_events
    from enpire.evolution.knowledge import transfer
    from enpire.packs.finder import shipped
    from enpire.sandbox.sandbox import Confinement

    ceilings = ceilings_of(limits)
    unpriced = [kind for kind, program in programs.items() if not program.prices]
    if math.isfinite(ceilings.dollars) and unpriced:
        raise UsageError(f"--max-dollars needs prices, and agents/{unpriced[0]} names none")
    spent = replay_events(run.ledger.events()).spent
    free = "NONE" if "not sandboxed" in run.config["campaign"]["confinement"] else "BUBBLEWRAP"
    tokens = (ceilings.tokens - spent.tokens) / max(sum(k in programs for _, k in named), 1)
    tuners = [name for name, kind in named if kind == TUNER]
    agents: list[Agent] = [
        ProgramAgent(name, programs[kind], run.folder, tokens, Confinement[free])
        for name, kind in named
        if kind in programs
    ]
    elsewhere, said = transfer.read(run.folder), run.config["campaign"]
    if elsewhere is None and "carried" in said:
        raise StoreError(f"{run.folder} has lost its {transfer.FILE}: start a new campaign")
    ideas = elsewhere.ideas if elsewhere else ()
    agents += _tuners(tuners, said["repertoire"], settings.seed, ideas)
    variants = sorted(shipped("agents", TUNER).glob("variants/*.py"))
    sources = {path.read_text(encoding="utf-8"): path for path in variants}
    return AgentPool(agents, sources, Confinement[free], tuple(said.get("tools_off", ())))


def _tuners(
    names: list[str], recipes: str, seed: int, ideas: tuple[TransferredRecipe, ...] = ()
) -> list[Tuner]:
    from enpire.evolution.agents import search_space
    from enpire.evolution.agents.tuner import Tuner

    if not names:
        return []
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise UsageError("the tuner needs optuna: pip install 'enpire[evolution]'") from None
    choices = search_space.repertoire(recipes.split(",")) if recipes else ()
    return [Tuner(name, choices, seed, transferred=ideas) for name in names]


def ceilings_of(limits: dict[str, Any]) -> Ceilings:
    """The ceilings of a budget, infinite where it says nothing."""
    from enpire.evolution.experiments.budget import Ceilings

    return Ceilings(
        robot_s=limits.get("max_robot_hours", math.inf) * 3600,
        tokens=limits.get("max_tokens", math.inf),
        dollars=limits.get("max_dollars", math.inf),
        experiments=limits.get("max_experiments", math.inf),
    )
