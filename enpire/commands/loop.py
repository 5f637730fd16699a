"""`enpire loop`: reset → execute → verify → refine, until the target holds on sealed seeds."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.commands.beginning import begin_with, of_begun, require_begun
from enpire.commands.closing import resume_command, summary
from enpire.commands.driving import drive, exit_code, facts_of, require_same, stations_for
from enpire.commands.graphics import choose_graphics
from enpire.commands.helping import FIELDS, Helping, beside, require_helper
from enpire.commands.json_lines import json_lines
from enpire.commands.loop_settings import (
    BUDGETS,
    FIRST,
    HELPER,
    OF_RECIPES,
    OF_ROUNDS,
    ONLINE,
    RECIPE,
    SETTINGS,
    first,
    flag,
    found_from,
    merged,
    nobody_or_hands,
    of_pace,
    of_task,
    plain,
    read_settings,
    say_least,
)
from enpire.commands.menagerie import add_menagerie, use_menagerie
from enpire.commands.options import (
    Parser,
    add_start,
    add_trust,
    natural,
    number_or_auto,
    port,
    positive,
    print_notes,
    task_asked,
)
from enpire.commands.places import Backend, add_arms, add_cluster, again, of_arms, place
from enpire.commands.recovering import add_recovery, recovery
from enpire.commands.reporting import report_line
from enpire.commands.signing import say_unsigned
from enpire.commands.tracking import add_tracking, require_tracking
from enpire.errors import UsageError
from enpire.packs.finder import GYM, LOOP

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.improvement.recipe import ConfiguredRecipe
    from enpire.improvement.training import Trainer
    from enpire.rollout.fleet import Fleet
    from enpire.rollout.loop import LoopSettings
    from enpire.store import EpisodeWriter, Run

DESCRIPTION = """\
Improve a policy by itself: demonstrations, a first policy, then rounds of collecting, training and
comparing on fresh seeds, until the target holds on sealed seeds or a budget ends. --policy begins
with one that is there, of a run or of LeRobot's; --demonstrations-of with another run's, or with
those of a dataset that was imported. Everything is recorded in a run folder; Ctrl-C loses nothing
and prints the command that goes on."""


def add_options(parser: Parser) -> None:
    """The options of `enpire loop`."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--task", metavar="NAME", help="a task: its name or its folder, or gym:ENV_ID"
    )
    what.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with a run, under its own settings"
    )
    add_start(parser)
    parser.add_argument("--run", metavar="DIR", type=Path, help="folder of the new run")
    parser.add_argument(
        "--json",
        action="store_true",
        help="events as lines of JSON on stdout, the result last; all else goes to stderr",
    )
    add_tracking(parser)
    add_cluster(parser)
    add_menagerie(parser)
    add_arms(parser)
    budgets = parser.add_argument_group(
        "budgets (none unless given; a resumed run may change them)"
    )
    for name, (read, shown, line) in BUDGETS.items():
        budgets.add_argument(flag(name), type=read, metavar=shown, help=line)
    add_recovery(parser, "when a physical reset has failed (a resumed run may be given others)")
    settings = parser.add_argument_group("settings (a task's loop.toml may have other defaults)")
    for name, (read, default, line) in SETTINGS.items():
        if read is bool:
            settings.add_argument(flag(name), action="store_const", const=True, help=line)
            continue
        metavar = (
            "NAME"
            if read in (str, nobody_or_hands)
            else "N"
            if read in (positive, natural, number_or_auto)
            else "X"
        )
        if default:
            line += f" (default {default})"
        settings.add_argument(flag(name), type=read, metavar=metavar, help=line)
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="of the page that --helper serves"
    )
    parser.gathers = (RECIPE, FIRST, HELPER)
    parser.add_argument_group(
        "settings of the recipes",
        f"{RECIPE}SETTING VALUE, {FIRST}SETTING VALUE; enpire recipes show NAME lists them",
    )
    parser.add_argument_group("settings of a helper's device", f"{HELPER}SETTING VALUE: {FIELDS}")
    add_trust(parser)


def run(options: Namespace) -> int:
    """Run the loop; returns the exit code."""
    with json_lines(options.json) as options.emit:
        return _run(options)


def _run(options: Namespace) -> int:
    choose_graphics()
    use_menagerie(options)
    require_tracking(options)
    given = {name: getattr(options, name) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    gathered = (RECIPE, "recipe"), (FIRST, "first_recipe"), (HELPER, "helper")
    for begin, name in ((begin, f"{of}_settings") for begin, of in gathered):
        if options.gathered[begin]:
            given[name] = options.gathered[begin]
    limits = {name: getattr(options, name) for name in BUDGETS}
    limits = {name: value for name, value in limits.items() if value is not None}
    if options.resume is not None:
        clash = sorted(given) + (["run"] if options.run is not None else [])
        clash += ["from"] if options.begin is not None else []
        if clash:
            raise UsageError(
                f"{flag(clash[0])} cannot be given with --resume: a run goes on under the "
                "settings in its config.toml; only budgets may change"
            )
        with place(options) as where:
            return _resume(options, limits, where)
    with place(options) as where:
        return _begin(options, given, limits, where)


def _begin(
    options: Namespace, given: dict[str, Any], limits: dict[str, Any], where: Backend
) -> int:
    from dataclasses import asdict

    from enpire import __version__
    from enpire.packs.finder import find
    from enpire.store import Run, default_folder

    task: str = task_asked(options)
    say_unsigned(task)
    given = of_begun(given)
    foreign = task.startswith(GYM)
    called, asks = plain(task), ""
    if foreign:
        given = {"recipe": ONLINE} | given
    else:
        pack = find("tasks", task)  # unknown ones cost nothing to find
        called, own = pack.name, of_task(pack)
        given = merged(own, given)
        kept = [f"{name} {own[name]}" for name in own if given.get(name) == own[name]]
        if kept:
            print(f"{pack.folder / LOOP}: {', '.join(kept)}")
        if any(given.get(name) == own[name] for name in OF_RECIPES if name in own):
            asks = f"{pack.folder / LOOP} asks for it"
    given = of_pace(of_arms(options, given))
    from enpire.observe.trust import recipes_called
    from enpire.rollout.loop import LoopSettings

    if os.sep in task and not foreign:
        task = str(Path(task).resolve())
    for name in OF_RECIPES:
        if name in given:
            given[name] = found_from(Path.cwd(), given[name])
    if "python" in given:
        given["python"] = os.path.abspath(given["python"])  # links are a virtual environment's
    if "demonstrator" in given:
        given["demonstrator"] = os.path.abspath(given["demonstrator"])
    settings = LoopSettings(task=task, **given)
    say_least(settings)
    recipes = _recipes(settings)
    with recovery(options, task, settings.reset):  # wrong options cost nothing to find
        pass
    stations = stations_for(settings, where)
    _require(settings, recipes, stations, asks)
    require_helper(settings, recipes, stations)
    require_begun(settings, stations)
    config = {"enpire": __version__, "loop": asdict(settings), "budget": limits}
    with beside(settings, stations, options.station, options.port) as people:
        run = Run.create(options.run or default_folder(called), config)
        with run:
            began = recipes_called(settings.recipe, settings.first_recipe, settings.demonstrator)
            run.ledger.set_facts(facts_of(stations) | began | {"state": "running"})
            begin_with(run, settings, stations)
            return _drive(run, settings, recipes, stations, limits, {}, options, where, people)


def _resume(options: Namespace, limits: dict[str, Any], where: Backend) -> int:
    from enpire.observe.trust import require_trusted
    from enpire.store import Run

    with Run.open(options.resume, writable=True) as run:
        print_notes(run)
        require_trusted(run, options.trust)
        settings = read_settings(run)
        stations = stations_for(settings, where)
        require_same(run, stations)
        recipes = _recipes(settings)
        _require(settings, recipes, stations)
        require_helper(settings, recipes, stations)
        begin_with(run, settings, stations)
        run.ledger.set_facts({"state": "running"})
        both = run.config.get("budget", {}) | limits
        with beside(settings, stations, options.station, options.port) as people:
            return _drive(run, settings, recipes, stations, both, limits, options, where, people)


def _recipes(settings: LoopSettings) -> tuple[ConfiguredRecipe, ...]:
    """How the first policy is made, then how each round improves it."""
    from enpire.improvement import recipe as recipes

    rounds = recipes.schedule(settings.recipe, settings.recipe_settings)
    return first(settings, rounds), *rounds


def _require(
    settings: LoopSettings,
    recipes: Iterable[ConfiguredRecipe],
    stations: StationBackend,
    asks: str = "",
) -> None:
    """See whether stations can serve the recipes, with all that is asked for.

    asks: who asks for the recipes, if not the command line.

    Raises:
        UsageError: they cannot; the message says what to change.
    """
    from enpire.improvement.online import is_online

    settings.spending.require(stations)
    of_rounds = [name for name in OF_ROUNDS if getattr(settings, name)]
    for recipe in recipes:
        try:
            recipe.require(stations)
        except UsageError as error:
            if not asks:
                raise
            raise UsageError(f"{error}. {asks}: change it there, or give --recipe") from error
        if of_rounds and is_online(recipe):
            raise UsageError(
                f"{flag(of_rounds[0])} is for recipes that learn in rounds, and {recipe.name} "
                f"learns while stations collect: leave it out, or choose another --recipe"
            )


def _drive(
    run: Run,
    settings: LoopSettings,
    recipes: tuple[ConfiguredRecipe, ...],
    stations: StationBackend,
    limits: dict[str, Any],
    given: dict[str, Any],
    options: Namespace,
    where: Backend,
    people: Helping | None,
) -> int:
    from enpire.rollout.budget import Budget
    from enpire.rollout.loop import Loop, LoopState

    budget = Budget(
        wall_s=limits.get("max_time", math.inf),
        robot_s=limits.get("max_robot_hours", math.inf) * 3600,
        rounds=limits.get("max_rounds", math.inf),
    )
    state = LoopState()

    def begin(fleet: Fleet, writer: EpisodeWriter, trainer: Trainer) -> Callable[[], str]:
        first, *schedule = recipes
        helper = people.helper if people else None
        loop = Loop(settings, run, writer, fleet, first, schedule, trainer, budget, state, helper)

        def go() -> str:
            loop.run()
            return "reached" if state.reached else "--max-rounds is used up"

        return go

    with recovery(options, settings.task, settings.reset) as helping:
        figures = drive(
            run,
            settings,
            stations,
            where,
            budget,
            state,
            begin,
            helping,
            people,
            options.track,
            options.emit,
        )
    print(summary(run, figures, resume_command(run.folder, given, options.recover, again(options))))
    print(report_line(run))
    if options.emit is not None:
        options.emit(figures)
    return exit_code(budget, state)
