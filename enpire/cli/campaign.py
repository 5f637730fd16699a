"""`enpire campaign`: agents propose experiments, the harness trains, tries and decides."""

from __future__ import annotations

import math
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.helpers.json_lines import json_lines
from enpire.cli.helpers.pack_signing import say_unsigned
from enpire.cli.helpers.report_file import report_line
from enpire.cli.helpers.summary import program
from enpire.cli.options.parser import Parser, add_trust, options_given, print_notes, task_asked
from enpire.cli.options.tracking import add_tracking, require_tracking
from enpire.errors import StoreError, UsageError
from enpire.packs.finder import GYM
from enpire.session.audience import Audience
from enpire.session.backends import LocalBackend
from enpire.session.graphics import choose_graphics
from enpire.session.loop_settings import (
    RECIPE,
    SETTINGS,
    first,
    flag,
    found_from,
    least_sealed,
    merged,
    of_task,
    plain,
    read_settings,
)
from enpire.session.session import exit_code, require_same, run_session, station_facts, stations_for
from enpire.session.values import STARTS, duration, more_than_zero, natural, positive

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.evolution.agents.program import AgentProgram
    from enpire.evolution.campaign.agent import ProposerAgent
    from enpire.evolution.campaign.campaign import AgentPool
    from enpire.evolution.experiments.budget import Ceilings
    from enpire.evolution.knowledge.transfer import TransferredKnowledge, TransferredRecipe
    from enpire.improvement.training_process import Trainer
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.rollout.loop.settings import LoopSettings
    from enpire.store import EpisodeWriter, Run

DESCRIPTION = """\
Agents propose experiments; the harness collects, trains and tries each beside the others, and keeps
what is shown to be better. report.md in the run's folder is kept current. Ctrl-C loses nothing."""

OF_CAMPAIGN = (
    "reset",
    "robots",
    "seed",
    "target",
    "demonstrations",
    "start_episodes",
    "collect",
    "exploration",
    "execute",
    "max_pairs",
    "sealed_episodes",
    "target_bound",
    "verify",
    "alpha",
)
"""Settings of a loop that a campaign has too."""

OPTIONS = SETTINGS | {
    "max_pairs": (
        positive,
        "100",
        "undecided pairs that keep the incumbent; 3 times as many if promising",
    )
}
"""As options: a campaign's comparisons all have one limit."""

BUDGETS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "max_time": (duration, "TIME", "on the clock, all starts together: 90s, 30m, 10h"),
    "max_robot_hours": (more_than_zero, "HOURS", "robot time before sealed evaluations"),
    "max_tokens": (positive, "N", "of all agents' models"),
    "max_dollars": (more_than_zero, "X", "of all agents' models"),
    "max_experiments": (natural, "N", "that begin"),
}

ONCE = ("agents", "recipe", "repertoire", "prompt", "without", "run")
"""Other options that a campaign begins with."""

TEAM = "tuner:4"
TUNER = "tuner"
NOBODY = "no programs of their own: they choose recipes and settings"


def add_options(parser: Parser) -> None:
    """The options of `enpire campaign`."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--task", metavar="NAME", help="a task: its name or its folder")
    what.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with a campaign, under its own settings"
    )
    parser.add_argument(
        "--from",
        dest="origins",
        metavar="RUN",
        action="append",
        default=[],
        help="take over what was found out in another run, and the recipes kept there, as text and "
        "code; or start, phase: where the task begins, as for a loop (both may be given)",
    )
    parser.add_argument(
        "--agents", metavar="KIND:N,...", help=f"who proposes experiments (default {TEAM})"
    )
    parser.add_argument(
        "--recipe", metavar="NAME", help="how the demonstrations make the first policy"
    )
    parser.add_argument(
        "--repertoire", metavar="A,B", help="recipes that a tuner chooses from, beside its own"
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        type=Path,
        help="what programs are told, not their pack's",
    )
    parser.add_argument(
        "--without",
        metavar="A,B",
        help="tools that programs have to do without: literature, board, episodes, merges",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run agents' programs without walls, with all rights of yours; the report says so",
    )
    parser.add_argument("--run", metavar="DIR", type=Path, help="folder of the new run")
    parser.add_argument(
        "--json",
        action="store_true",
        help="events as lines of JSON on stdout, the result last; all else goes to stderr",
    )
    add_tracking(parser)
    budgets = parser.add_argument_group(
        "budgets (none unless given; a resumed one may change them)"
    )
    for name, (read, shown, line) in BUDGETS.items():
        budgets.add_argument(flag(name), type=read, metavar=shown, help=line)
    settings = parser.add_argument_group("settings (a task's loop.toml may have other defaults)")
    for name in OF_CAMPAIGN:
        read, default, line = OPTIONS[name]
        settings.add_argument(
            flag(name), type=read, metavar="X", help=f"{line} (default {default})"
        )
    parser.gathers = (RECIPE,)
    parser.add_argument_group(
        "settings of the first recipe",
        f"{RECIPE}SETTING VALUE; enpire recipes show NAME lists them",
    )
    add_trust(parser)


def run(options: Namespace) -> int:
    """Run the campaign; returns the exit code."""
    with json_lines(options.json) as options.emit:
        return _run(options)


def _run(options: Namespace) -> int:
    choose_graphics()
    require_tracking(options)
    given = options_given(options, OF_CAMPAIGN)
    limits = options_given(options, BUDGETS)
    options.begin, learned = _origins(options.origins)
    others = {name: getattr(options, name) for name in ONCE}
    if options.resume is None:
        return _begin(options, given, limits, learned)
    clash = sorted(given) + [name for name, value in others.items() if value is not None]
    if clash or options.gathered[RECIPE] or options.origins:
        named = flag(clash[0]) if clash else RECIPE if options.gathered[RECIPE] else "--from"
        raise UsageError(
            f"{named} cannot be given with --resume: a campaign goes on under the settings in its "
            "config.toml; only budgets may change"
        )
    return _resume(options, limits)


def _origins(said: Sequence[str]) -> tuple[str | None, Path | None]:
    """Where the task begins, and the run to take over from."""
    begins = [text for text in said if text in STARTS]
    runs = [text for text in said if text not in STARTS]
    if len(begins) > 1 or len(runs) > 1:
        raise UsageError("--from takes one run, and one of start and phase")
    for text in runs:
        if not Path(text).is_dir():
            raise UsageError(f"--from {text} is no run's folder; a task begins at start or phase")
    return (begins[0] if begins else None), (Path(runs[0]) if runs else None)


def _begin(
    options: Namespace, given: dict[str, Any], limits: dict[str, Any], learned: Path | None
) -> int:
    from dataclasses import asdict

    from enpire.evolution.campaign.agent import team
    from enpire.observe.trust import recipes_called
    from enpire.packs.finder import find
    from enpire.store import Run, default_folder
    from enpire.version import __version__

    settings, campaign = settings_of(options, given), agents_of(options)
    elsewhere = _transferred(learned)
    stations = stations_for(settings, LocalBackend())
    campaign["repertoire"] = options.repertoire or repertoire(settings, stations)
    if elsewhere is not None:
        elsewhere = elsewhere.fitting(stations)
        both = _also(campaign["repertoire"], elsewhere)
        campaign |= {"carried": elsewhere.origin, "repertoire": both}
    config = {
        "enpire": __version__,
        "loop": asdict(settings),
        "campaign": campaign | {"command": [program(), *sys.argv[1:]]},
        "budget": limits,
    }
    called = plain(find("tasks", settings.task).name)
    named = team(campaign["agents"])
    programs = _programs(named, campaign.get("prompt", ""))
    run = Run.create(options.run or default_folder(f"campaign-{called}"), config)
    with run:
        if elsewhere is not None:
            elsewhere.write(run.folder)
        members = _members(named, programs, run, settings, limits)
        began = recipes_called(settings.recipe, settings.first_recipe)
        run.ledger.set_facts(station_facts(stations) | began | {"state": "running"})
        return _run_session(run, settings, members, stations, limits, options)


def settings_of(options: Namespace, given: dict[str, Any]) -> LoopSettings:
    """The settings of a campaign, by its task's `loop.toml` and what is `given`.

    Raises:
        UsageError: there is no such task or recipe, or it is none for campaigns.
    """
    from enpire.packs.finder import find
    from enpire.rollout.loop.settings import LoopSettings

    task: str = task_asked(options)
    if task.startswith(GYM):
        raise UsageError("a campaign is for tasks of packs so far: take enpire loop for gym:ENV_ID")
    pack = find("tasks", task)
    say_unsigned(task)
    if options.recipe is not None:
        given["first_recipe"] = found_from(Path.cwd(), options.recipe)
    if options.gathered[RECIPE]:
        given["first_recipe_settings"] = options.gathered[RECIPE]
    given = {"max_pairs": int(OPTIONS["max_pairs"][1])} | merged(of_task(pack), given)
    if os.sep in task:
        task = str(Path(task).resolve())
    settings = LoopSettings(task=task, **given)
    if least := least_sealed(settings):
        print(least)
    return settings


def agents_of(options: Namespace) -> dict[str, Any]:
    """What a campaign's config says of its agents; all that they need is there.

    Raises:
        EnpireError: it is not, or what is asked for makes no sense.
    """
    from enpire.evolution.agents.tools import without
    from enpire.evolution.campaign.agent import team

    asked = options.agents or TEAM
    named = team(asked)
    prompt = _read_prompt(options.prompt)
    told = {"prompt": prompt, "tools_off": without(options.without) if options.without else ()}
    _require_programs(named, told)
    _programs(named, prompt)
    _tuners([name for name, kind in named if kind == TUNER], "", 0)
    confinement = _confinement(named, options.no_sandbox)
    told = {name: value for name, value in told.items() if value}
    return {"agents": asked, "confinement": confinement} | told


def _resume(options: Namespace, limits: dict[str, Any]) -> int:
    from enpire.evolution.campaign.agent import team
    from enpire.observe.trust import require_trusted
    from enpire.store import Run

    with Run.open(options.resume, writable=True) as run:
        print_notes(run)
        if "campaign" not in run.config:
            raise StoreError(f"{run.folder} is no campaign: enpire loop --resume goes on with it")
        require_trusted(run, options.trust)
        settings, campaign = read_settings(run), run.config["campaign"]
        stations = stations_for(settings, LocalBackend())
        require_same(run, stations)
        named = team(campaign["agents"])
        if _confinement(named, options.no_sandbox) != campaign["confinement"]:
            raise UsageError(
                f"{run.folder} began with agents {campaign['confinement']}: give --no-sandbox as "
                "it was given then, or start a new campaign"
            )
        run.ledger.set_facts({"state": "running"})
        both = run.config.get("budget", {}) | limits
        programs = _programs(named, campaign.get("prompt", ""))
        members = _members(named, programs, run, settings, both)
        return _run_session(run, settings, members, stations, both, options)


def repertoire(settings: LoopSettings, stations: StationBackend) -> str:
    """Recipes that these stations can run: the task's own, and others that suit most."""
    from enpire.improvement import recipe as recipes

    found: list[str] = []
    for name in ("replay_bc", *settings.recipe.split(","), "habc", "bc"):
        with suppress(UsageError):
            recipes.find(name).require(stations)
            found.append(name)
    return ",".join(dict.fromkeys(found))


def _confinement(named: list[tuple[str, str]], without: bool) -> str:
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


def _transferred(learned: Path | None) -> TransferredKnowledge | None:
    """What another run has to take over."""
    from enpire.evolution.knowledge.transfer import read_transfer
    from enpire.store import Run

    if learned is None:
        return None
    with Run.open(learned) as run:
        return read_transfer(run)


def _also(repertoire: str, elsewhere: TransferredKnowledge) -> str:
    """A repertoire, and the recipes of the harness that were kept elsewhere."""
    kept = (idea.recipe for idea in elsewhere.ideas if not idea.source)
    return ",".join(dict.fromkeys((*repertoire.split(","), *kept)))


def _read_prompt(path: Path | None) -> str:
    """A prompt's text; empty without one."""
    try:
        return path.read_text(encoding="utf-8") if path else ""
    except OSError as error:
        raise UsageError(f"--prompt {path}: {error.strerror}") from error


def _require_programs(named: list[tuple[str, str]], told: dict[str, Any]) -> None:
    """Check that prompts and tools are for somebody: a tuner has none."""
    if any(told.values()) and all(kind == TUNER for _, kind in named):
        raise UsageError("--prompt and --without are for agents that are programs, not for a tuner")


def _programs(named: list[tuple[str, str]], prompt: str) -> dict[str, AgentProgram]:
    """The packs of agents that are programs, by kind; prompt: instead of their own."""
    from dataclasses import replace

    from enpire.evolution.agents.programs import load_program
    from enpire.packs.finder import find

    kinds = dict.fromkeys(kind for _, kind in named if kind != TUNER)
    found = {kind: load_program(find("agents", kind)) for kind in kinds}
    return {k: replace(p, prompt=prompt) if prompt else p for k, p in found.items()}


def _members(
    named: list[tuple[str, str]],
    programs: dict[str, AgentProgram],
    run: Run,
    settings: LoopSettings,
    limits: dict[str, Any],
) -> AgentPool:
    """The agents, and the code that they may have run without a sandbox."""
    from enpire.evolution.agents.programs import ProgramAgent
    from enpire.evolution.campaign.agent import Agent
    from enpire.evolution.campaign.campaign import AgentPool, AgentSession
    from enpire.evolution.experiments.events import replay_events
    from enpire.evolution.knowledge import transfer
    from enpire.packs.finder import shipped
    from enpire.sandbox.sandbox import Confinement

    ceilings = _ceilings(limits)
    unpriced = [kind for kind, program in programs.items() if not program.prices]
    if math.isfinite(ceilings.dollars) and unpriced:
        raise UsageError(f"--max-dollars needs prices, and agents/{unpriced[0]} names none")
    spent = replay_events(run.ledger.events()).spent
    free = "NONE" if "not sandboxed" in run.config["campaign"]["confinement"] else "BUBBLEWRAP"
    tokens = (ceilings.tokens - spent.tokens) / max(sum(k in programs for _, k in named), 1)
    tuners = [name for name, kind in named if kind == TUNER]
    agents: list[Agent[AgentSession]] = [
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
) -> list[ProposerAgent]:
    from enpire.evolution.agents import search_space
    from enpire.evolution.agents.tuner import Tuner
    from enpire.evolution.campaign.agent import ProposerAgent

    if not names:
        return []
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise UsageError("the tuner needs optuna: pip install 'enpire[evolution]'") from None
    choices = search_space.repertoire(recipes.split(",")) if recipes else ()
    return [ProposerAgent(Tuner(name, choices, seed, transferred=ideas)) for name in names]


def _ceilings(limits: dict[str, Any]) -> Ceilings:
    from enpire.evolution.experiments.budget import Ceilings

    return Ceilings(
        robot_s=limits.get("max_robot_hours", math.inf) * 3600,
        tokens=limits.get("max_tokens", math.inf),
        dollars=limits.get("max_dollars", math.inf),
        experiments=limits.get("max_experiments", math.inf),
    )


def _run_session(
    run: Run,
    settings: LoopSettings,
    members: AgentPool,
    stations: StationBackend,
    limits: dict[str, Any],
    options: Namespace,
) -> int:
    from enpire.evolution.campaign import report
    from enpire.evolution.campaign.campaign import Campaign
    from enpire.evolution.experiments.accounts import accounts
    from enpire.rollout.loop.budget import Budget
    from enpire.rollout.loop.state import LoopState
    from enpire.store.head import head

    ceilings, state = _ceilings(limits), LoopState()
    budget = Budget(wall_s=limits.get("max_time", math.inf), robot_s=ceilings.robot_s)

    def begin(fleet: Fleet, writer: EpisodeWriter, trainer: Trainer) -> Callable[[], str]:
        campaign = Campaign(
            settings,
            run,
            writer,
            fleet,
            first(settings),
            trainer,
            members,
            budget,
            ceilings,
            state,
        )

        def go() -> str:
            campaign.run()
            return "reached" if state.reached else campaign.closed or "all agents have ended"

        return go

    figures = run_session(
        run,
        settings,
        stations,
        LocalBackend(),
        budget,
        state,
        begin,
        track=options.track,
        audience=Audience(emit=options.emit),
    )
    figures["campaign"] = accounts(run).as_json()
    run.write_result(figures)
    report.write(run)
    text = (run.folder / report.FILE).read_text(encoding="utf-8")
    print("\n" + text.split("\n## ", 1)[0].rstrip() + f"\n\nreport: {run.folder / report.FILE}")
    print(report_line(run))
    print(f"head of the record: {head(run)}")
    if not state.reached:
        print(f"to go on: {program()} campaign --resume {run.folder.resolve()}")
    if options.emit is not None:
        options.emit(figures)
    return exit_code(budget, state)
