"""`enpire loop`: reset → execute → verify → refine, until the target holds on sealed seeds."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.commands.graphics import choose_graphics
from enpire.commands.options import (
    Parser,
    add_start,
    duration,
    level,
    more_than_zero,
    natural,
    positive,
    print_json,
    rate,
    reset_mode,
    share,
    task_asked,
    verifier,
)
from enpire.commands.threads import leave_cores_to_physics
from enpire.errors import StoreError, UsageError
from enpire.packs.finder import GYM

if TYPE_CHECKING:
    from enpire.environment import Workcells
    from enpire.improvement.recipe import Named
    from enpire.rollout.budget import Budget
    from enpire.rollout.fleet import Fleet
    from enpire.rollout.loop import LoopSettings
    from enpire.rollout.recovery import Recovery
    from enpire.store import Decision, Run

DESCRIPTION = """\
Improve a policy by itself: demonstrations, a first policy, then rounds of collecting, training and
comparing on fresh seeds, until the target holds on sealed seeds or a budget ends. Everything is
recorded in a run folder; Ctrl-C loses nothing and prints the command that goes on."""

NOT_REACHED, INTERRUPTED = 3, 130
RECIPE, FIRST = "--recipe.", "--first-recipe."  # begin settings of recipes

SETTINGS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "python": (str, "", "gym:ENV_ID: run it with this interpreter, VENV/bin/python"),
    "success": (str, "", "gym:ENV_ID: 'return>=X' or terminated, if its info does not say"),
    "reset": (reset_mode, "fast", "fast: written into the twin; physical: by the task's skills"),
    "robots": (positive, "4", "stations that hold an episode at one time"),
    "seed": (natural, "0", "of everything random but the sealed seeds"),
    "target": (rate, "0.99", "success rate to reach on sealed seeds"),
    "recipe": (str, "lookahead", "how a round improves the policy; A,B,C: one round each, then C"),
    "first_recipe": (str, "bc", "how the demonstrations make the first policy"),
    "demonstrations": (positive, "40", "seed demonstrations"),
    "start_episodes": (positive, "200", "episodes that measure the first policy"),
    "collect": (positive, "300", "episodes a round, with exploration"),
    "exploration": (share, "0.3", "chance that a chunk is varied"),
    "max_pairs": (
        positive,
        "100",
        "undecided pairs that keep the incumbent; 3 times as many if promising",
    ),
    "sealed_episodes": (positive, "300", "episodes of a sealed evaluation"),
    "verify": (verifier, "sensors", "by sensors, or by cameras where the task has eyes"),
    "alpha": (level, "0.05", "chance that a candidate that is no better is promoted"),
}
"""Fields of LoopSettings as options: type, default as shown in the help, what it is.

They stand here once more because `--help` must not import what LoopSettings needs; a test compares.
"""

BUDGETS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "max_time": (duration, "TIME", "on the clock, all starts of the run together: 90s, 30m, 10h"),
    "max_robot_hours": (more_than_zero, "HOURS", "robot time before sealed evaluations"),
    "max_rounds": (natural, "N", "rounds of collect, train, compare"),
}


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
    parser.add_argument("--json", action="store_true", help="print the result as the last line")
    budgets = parser.add_argument_group(
        "budgets (none unless given; a resumed run may change them)"
    )
    for name, (read, shown, line) in BUDGETS.items():
        budgets.add_argument(_flag(name), type=read, metavar=shown, help=line)
    add_recovery(parser, "when a physical reset has failed (a resumed run may be given others)")
    settings = parser.add_argument_group("settings")
    for name, (read, default, line) in SETTINGS.items():
        metavar = "NAME" if read is str else "N" if read in (positive, natural) else "X"
        if default:
            line += f" (default {default})"
        settings.add_argument(_flag(name), type=read, metavar=metavar, help=line)
    parser.gathers = (RECIPE, FIRST)
    parser.add_argument_group(
        "settings of the recipes",
        f"{RECIPE}SETTING VALUE, {FIRST}SETTING VALUE; enpire recipes show NAME lists them",
    )


def add_recovery(parser: Parser, title: str) -> None:
    """The options that say who helps a station that was set aside."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--recover",
        metavar="COMMAND",
        default="",
        help="run by the shell for a station that is set aside, with ENPIRE_STATION, ENPIRE_REASON "
        "and ENPIRE_TASK set: exit code 0 says that its scene is set up again",
    )
    group.add_argument(
        "--recover-limit",
        type=duration,
        metavar="TIME",
        default=600.0,
        help="that it may take (default 10m)",
    )


def noted(number: int, kind: str, station: int, text: str) -> Decision:
    """What happened in round `number` to a station that was set aside, for the ledger."""
    from enpire.store import Decision

    numbers = {"station": float(station)}
    return Decision(number, kind, f"station {station}: {text}", numbers=numbers)


@contextmanager
def recovery(options: Namespace, task: str, reset: str) -> Iterator[Recovery | None]:
    """Who helps stations that are set aside, as the options say."""
    from enpire.rollout.recovery import Recovery

    if not options.recover:
        yield None
    elif reset != "physical":
        raise UsageError("--recover is for --reset physical: no other sets stations aside")
    else:
        with Recovery(options.recover, options.recover_limit, task) as found:
            yield found


def run(options: Namespace) -> int:
    """Run the loop; returns the exit code."""
    choose_graphics()
    given = {name: getattr(options, name) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    for begin, name in ((RECIPE, "recipe_settings"), (FIRST, "first_recipe_settings")):
        if options.gathered[begin]:
            given[name] = options.gathered[begin]
    limits = {name: getattr(options, name) for name in BUDGETS}
    limits = {name: value for name, value in limits.items() if value is not None}
    if options.resume is not None:
        clash = sorted(given) + (["run"] if options.run is not None else [])
        clash += ["from"] if options.begin is not None else []
        if clash:
            raise UsageError(
                f"{_flag(clash[0])} cannot be given with --resume: a run goes on under the "
                "settings in its config.toml; only budgets may change"
            )
        return _resume(options, limits)
    return _begin(options, given, limits)


def _begin(options: Namespace, given: dict[str, Any], limits: dict[str, Any]) -> int:
    from dataclasses import asdict

    from enpire import __version__
    from enpire.packs.finder import find
    from enpire.store import Run, default_folder

    task: str = task_asked(options)
    foreign = task.startswith(GYM)
    called = (
        plain(task) if foreign else find("tasks", task).name
    )  # unknown ones cost nothing to find
    from enpire.improvement import recipe as recipes
    from enpire.rollout.loop import LoopSettings

    if os.sep in task and not foreign:
        task = str(Path(task).resolve())
    for name in ("recipe", "first_recipe"):
        if name in given:
            given[name] = ",".join(map(_there, given[name].split(",")))
    if "python" in given:
        given["python"] = os.path.abspath(given["python"])  # links are a virtual environment's
    settings = LoopSettings(task=task, **given)
    schedule = [first(settings)]
    schedule += recipes.schedule(settings.recipe, settings.recipe_settings)
    with recovery(options, task, settings.reset):  # wrong options cost nothing to find
        pass
    stations = _stations(settings)
    for recipe in schedule:
        recipe.require(stations)
    config = {"enpire": __version__, "loop": asdict(settings), "budget": limits}
    run = Run.create(options.run or default_folder(called), config)
    with run:
        facts = {"packs": json.dumps(stations.packs), "state": "running"}
        run.ledger.set_facts(facts | {"verified_by": stations.verified_by})
        return _drive(run, settings, stations, limits, {}, options)


def _resume(options: Namespace, limits: dict[str, Any]) -> int:
    from enpire.store import Run

    with Run.open(options.resume, writable=True) as run:
        settings = read_settings(run)
        stations = _stations(settings)
        _require_same_packs(run, stations)
        _require_same_verifier(run, stations)
        run.ledger.set_facts({"state": "running"})
        return _drive(
            run, settings, stations, run.config.get("budget", {}) | limits, limits, options
        )


def _stations(settings: LoopSettings) -> Workcells:
    from enpire.environment import ResetMode, open_stations

    return open_stations(
        settings.task,
        settings.robots,
        settings.python,
        settings.success,
        ResetMode(settings.reset),
        settings.verify,
    )


def _there(recipe: str) -> str:
    """A recipe as it is found from any folder."""
    return str(Path(recipe).resolve()) if recipe.endswith(".py") else recipe


def first(settings: LoopSettings) -> Named:
    """How the first policy is made; raises UsageError as `recipe.schedule` does."""
    from enpire.improvement import recipe as recipes

    recipes.find(settings.first_recipe)  # one, no schedule
    try:
        (made,) = recipes.schedule(settings.first_recipe, settings.first_recipe_settings)
    except UsageError as error:
        raise UsageError(str(error).replace(RECIPE, FIRST)) from None
    return made


def plain(task: str) -> str:
    """`gym:gym_pusht/PushT-v0` as a part of a folder's name."""
    return re.sub(r"[^\w.-]+", "_", task.removeprefix(GYM))


def read_settings(run: Run) -> LoopSettings:
    """Settings of a run from its `config.toml`; raises StoreError when they are not all there."""
    from enpire.rollout.loop import LoopSettings

    try:
        return LoopSettings(**run.config["loop"])
    except (KeyError, TypeError) as error:
        raise StoreError(
            f"{run.folder / 'config.toml'} is not that of a loop ({error}): restore it from a copy"
        ) from error


def _require_same_packs(run: Run, stations: Workcells) -> None:
    before = json.loads(run.ledger.facts().get("packs", "{}"))
    changed = sorted(name for name in before if before[name] != stations.packs.get(name))
    if changed:
        raise StoreError(
            f"{', '.join(changed)} changed since {run.folder} began, so its episodes could not be "
            "compared: put the pack back as it was, or start a new run"
        )


def _require_same_verifier(run: Run, stations: Workcells) -> None:
    before = run.ledger.facts().get("verified_by", stations.verified_by)
    if before != stations.verified_by:
        raise StoreError(
            f"{run.folder} is verified by {before}, here it would be by {stations.verified_by}: "
            "go on where there is OpenGL, or start a new run"
        )


def _drive(
    run: Run,
    settings: LoopSettings,
    stations: Workcells,
    limits: dict[str, Any],
    given: dict[str, Any],
    options: Namespace,
) -> int:
    from enpire.improvement import recipe as recipes
    from enpire.improvement.training import Beside
    from enpire.observe import account
    from enpire.observe.progress import Progress
    from enpire.observe.result import result
    from enpire.rollout.budget import Budget
    from enpire.rollout.fleet import Fleet, Stopped
    from enpire.rollout.loop import Loop, LoopState
    from enpire.store import EpisodeWriter

    leave_cores_to_physics()
    facts, ledger = run.ledger.facts(), run.ledger
    budget = Budget(
        wall_s=limits.get("max_time", math.inf),
        robot_s=limits.get("max_robot_hours", math.inf) * 3600,
        rounds=limits.get("max_rounds", math.inf),
    )
    budget.started -= float(facts.get("wall_s", 0.0))
    state = LoopState()

    def note(kind: str, station: int, text: str) -> None:
        ledger.add_decision(noted(state.round, kind, station, text))

    with (
        EpisodeWriter(run) as writer,
        Beside() as trainer,
        recovery(options, settings.task, settings.reset) as helping,
    ):
        fleet = Fleet(
            stations,
            writer,
            budget.spent,
            robot_s=account.robot_seconds(ledger.episodes())[0],
            now=max((interval.end_s for interval in ledger.intervals()), default=0.0),
            recovery=helping,
            note=note,
        )
        save = _accounts(run, budget, fleet, facts)
        loop = Loop(
            settings,
            run,
            writer,
            fleet,
            first(settings),
            recipes.schedule(settings.recipe, settings.recipe_settings),
            trainer,
            budget,
            state,
        )
        print(f"run {run.folder}, verified by {stations.verified_by}", flush=True)
        try:
            with Progress(run, state, fleet, budget, save) as progress, _signals(budget):
                try:
                    loop.run()
                    ended = "reached" if state.reached else "--max-rounds is used up"
                except Stopped as stop:
                    ended = str(stop)
                    progress.say(f"stopping: {ended}")
        except BaseException as error:
            with suppress(StoreError):
                ledger.set_facts({"state": f"failed: {error or type(error).__name__}"})
            raise
        writer.flush()
        save()
        ledger.set_facts({"state": ended})
        figures = result(run, ended)
        run.write_result(figures)
    print(summary(run, figures, resume_command(run.folder, given, options.recover)))
    if options.json:
        print_json(figures)
    if budget.interrupted:
        return INTERRUPTED
    return 0 if state.reached else NOT_REACHED


def _accounts(run: Run, budget: Budget, fleet: Fleet, before: dict[str, str]) -> Callable[[], None]:
    """What saves the accounts that only this process keeps, on top of earlier starts of the run."""
    steps = float(before.get("sim_steps", 0.0))
    stepping_s = float(before.get("stepping_s", 0.0))

    def save() -> None:
        run.ledger.set_facts(
            {
                "wall_s": repr(budget.elapsed),
                "sim_steps": repr(steps + fleet.stations.steps_done),
                "stepping_s": repr(stepping_s + fleet.stepping_s),
            }
        )

    return save


@contextmanager
def _signals(budget: Budget) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the loop at the next control period; a second one ends anything."""

    def interrupt(number: int, frame: object) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def resume_command(folder: Path, limits: dict[str, Any], recover: str = "") -> str:
    """The command that goes on with a run, with what only this start was given."""
    words = [program(), "loop", "--resume", str(folder.resolve())]
    for name, value in limits.items():
        words += [_flag(name), f"{value:g}s" if name == "max_time" else f"{value:g}"]
    if recover:
        words += ["--recover", recover]
    return shlex.join(words)


def program() -> str:
    """How to call this command line again: a checkout's start script where it was called by it."""
    called = Path(sys.argv[0])
    if called.name != "enpire":
        return "enpire"
    script = called.absolute().parents[2] / "launch" / "enpire"  # beside .venv/bin/enpire
    found = script if script.is_file() else called.absolute()
    here = Path.cwd()
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


def summary(run: Run, figures: dict[str, Any], command: str) -> str:
    """What came of the run, for a person."""
    from enpire.observe import account

    start, final = account.text(figures["start"]), account.text(figures["final"])
    kind = "on sealed seeds" if figures["final"]["sealed"] else "not on sealed seeds"
    success = f"from {start} to {final}, {kind}" if figures["final"]["n"] else "nothing measured"
    lines = [
        "",
        f"{figures['task']}: {success}, verified by {figures['verified_by']}",
        f"target {figures['target']:g} {'reached' if figures['reached'] else 'not reached'}; "
        f"{figures['rounds']} rounds, {figures['episodes']} episodes, "
        f"sealed evaluations {figures['sealed_attempts']}",
        f"robot-hours {figures['robot_hours']:.2f} (sealed: {figures['robot_hours_sealed']:.2f}), "
        f"MRU {figures['mru']:.0%}, {figures['wall_s'] / 60:.1f} min on the clock",
        f"recorded in {run.folder}",
    ]
    if figures["reached"]:
        lines.append(f"next: {program()} eval --policy {run.folder} --episodes 200")
    else:
        if figures["ended"] == "interrupted":
            lines.append(f"to go on: {command}")
        else:
            lines.append(
                f"ended because {figures['ended']}; to go on, with a larger budget: {command}"
            )
        lines.append(f"to look at it: {program()} show {run.folder}")
    return "\n".join(lines)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
