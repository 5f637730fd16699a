"""`enpire campaign`: agents propose experiments, the harness trains, tries and decides."""

from __future__ import annotations

import math
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.campaign.agents import (
    TEAM,
    agents_of,
    ceilings_of,
    confinement_of,
    open_pool,
    programs_of,
    repertoire,
    transferred_knowledge,
    with_transferred,
)
from enpire.cli.helpers.json_lines import json_lines
from enpire.cli.helpers.report_file import report_line
from enpire.cli.helpers.summary import program
from enpire.cli.options.parser import (
    Parser,
    add_begin,
    add_trust,
    options_given,
    print_notes,
    task_asked,
)
from enpire.cli.options.recording import add_recording, require_tracking
from enpire.cli.options.settings import add_setting
from enpire.errors import StoreError, UsageError
from enpire.option_values import duration, more_than_zero, natural, positive, tokens
from enpire.packs.finder import GYM
from enpire.real_path import real_path
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
from enpire.session.signing import warn_unsigned
from enpire.session.task_starts import STARTS

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.evolution.campaign.campaign import AgentPool
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
    "demonstration_starts",
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
        "pairs after which an undecided comparison keeps the incumbent; 3 times as many if the "
        "candidate is promising",
    )
}
"""As options: a campaign's comparisons all have one limit."""

BUDGETS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "max_time": (duration, "TIME", "time on the clock, all starts together: 90s, 30m, 10h"),
    "max_robot_hours": (more_than_zero, "HOURS", "robot time; sealed evaluations do not count"),
    "max_tokens": (tokens, "N", "tokens of all agents' models together"),
    "max_dollars": (more_than_zero, "X", "cost of all agents' models together [dollars]"),
    "max_experiments": (natural, "N", "experiments to begin"),
}

ONCE = ("begin", "agents", "recipe", "repertoire", "prompt", "without", "run")
"""Other options that a campaign begins with."""


def add_options(parser: Parser) -> None:
    """The options of `enpire campaign`."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--task", metavar="NAME", help="task that the policy learns: its name or its folder"
    )
    what.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with a campaign, under its own settings"
    )
    parser.add_argument(
        "--from",
        dest="origins",
        metavar="RUN",
        action="append",
        default=[],
        help="run whose findings and kept recipes are taken over, as text and code",
    )
    add_begin(parser)
    parser.add_argument(
        "--agents",
        metavar="KIND:N,...",
        help=f"kinds of agents that propose experiments, with their numbers (default {TEAM})",
    )
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="recipe that makes the first policy from the demonstrations (default: as in a loop)",
    )
    parser.add_argument(
        "--repertoire",
        metavar="A,B",
        help="recipes that a tuner chooses from, beside its own variants",
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        type=Path,
        help="file that tells programs what to do, in place of their pack's",
    )
    parser.add_argument(
        "--without",
        metavar="A,B",
        help="tools that programs do without: literature, board, episodes, merges",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run agents' programs without a sandbox, with all your rights; the report says so",
    )
    add_recording(parser)
    add_settings(parser, "budgets (none unless given; a resumed one may change them)")
    parser.add_argument_group(
        "settings of the first recipe",
        f"{RECIPE}SETTING VALUE; enpire recipes show NAME lists them",
    )
    add_trust(parser)
    everyday = "task", "resume", "run", "agents", "repertoire", "robots", "seed", "target"
    parser.everyday = (*everyday, *BUDGETS)


def add_settings(parser: Parser, title: str) -> None:
    """The budgets, under this title, and the settings of a campaign and of its first recipe."""
    budgets = parser.add_argument_group(title)
    for name, (read, shown, line) in BUDGETS.items():
        budgets.add_argument(flag(name), type=read, metavar=shown, help=line)
    settings = parser.add_argument_group("settings (a task's loop.toml may have other defaults)")
    for name in OF_CAMPAIGN:
        add_setting(settings, name, OPTIONS)
    parser.gathers = (RECIPE,)


def run(options: Namespace) -> int:
    """Run the campaign; returns the exit code."""
    with json_lines(options.json) as options.emit:
        return _run(options)


def _run(options: Namespace) -> int:
    choose_graphics()
    require_tracking(options)
    given = options_given(options, OF_CAMPAIGN)
    limits = options_given(options, BUDGETS)
    begin, learned = _origins(options.origins)
    options.begin = options.begin or begin
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
    """Where the task begins, as that was said before there was `--begin`, and the run."""
    begins = [text for text in said if text in STARTS]
    runs = [text for text in said if text not in STARTS]
    if len(begins) > 1 or len(runs) > 1:
        raise UsageError("--from takes one run, and --begin one of start and phase")
    for text in begins:
        print(f"--from {text} is called --begin {text} now", file=sys.stderr)
    for text in runs:
        if not Path(text).is_dir():
            raise UsageError(f"--from {text} is no run's folder")
    return (begins[0] if begins else None), (Path(runs[0]) if runs else None)


def _begin(
    options: Namespace, given: dict[str, Any], limits: dict[str, Any], learned: Path | None
) -> int:
    from enpire.evolution.campaign.team import team
    from enpire.observe.trust import recipes_called
    from enpire.packs.finder import find
    from enpire.store import Run, default_folder
    from enpire.version import __version__

    settings, campaign = settings_of(options, given), agents_of(options)
    elsewhere = transferred_knowledge(learned)
    stations = stations_for(settings, LocalBackend())
    campaign["repertoire"] = options.repertoire or repertoire(settings, stations)
    if elsewhere is not None:
        elsewhere = elsewhere.fitting(stations)
        both = with_transferred(campaign["repertoire"], elsewhere)
        campaign |= {"carried": elsewhere.origin, "repertoire": both}
    config = {
        "enpire": __version__,
        "loop": settings.values(),
        "campaign": campaign | {"command": [program(), *sys.argv[1:]]},
        "budget": limits,
    }
    called = plain(find("tasks", settings.task).name)
    named = team(campaign["agents"])
    programs = programs_of(named, campaign.get("prompt", ""))
    run = Run.create(options.run or default_folder(f"campaign-{called}"), config)
    with run:
        if elsewhere is not None:
            elsewhere.write(run.folder)
        members = open_pool(named, programs, run, settings, limits)
        began = recipes_called(settings.rounds.recipe, settings.first.first_recipe)
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
    warn_unsigned(task)
    if options.recipe is not None:
        given["first_recipe"] = found_from(Path.cwd(), options.recipe)
    if options.gathered[RECIPE]:
        given["first_recipe_settings"] = options.gathered[RECIPE]
    given = {"max_pairs": int(OPTIONS["max_pairs"][1])} | merged(of_task(pack), given)
    if os.sep in task:
        task = str(real_path(task))
    settings = LoopSettings.of(task, **given)
    if least := least_sealed(settings):
        print(least)
    return settings


def _resume(options: Namespace, limits: dict[str, Any]) -> int:
    from enpire.evolution.campaign.team import team
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
        if confinement_of(named, options.no_sandbox) != campaign["confinement"]:
            raise UsageError(
                f"{run.folder} began with agents {campaign['confinement']}: give --no-sandbox as "
                "it was given then, or start a new campaign"
            )
        run.ledger.set_facts({"state": "running"})
        both = run.config.get("budget", {}) | limits
        programs = programs_of(named, campaign.get("prompt", ""))
        members = open_pool(named, programs, run, settings, both)
        return _run_session(run, settings, members, stations, both, options)


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

    ceilings, state = ceilings_of(limits), LoopState()
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
