"""A policy improved until it holds its target: what `enpire loop` and the library share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import UsageError
from enpire.packs.finder import AT_JOINTS, GYM, LOOP, SYMMETRY
from enpire.real_path import real_path
from enpire.session.audience import PERSON, Audience
from enpire.session.loop_settings import (
    OF_RECIPES,
    OF_ROUNDS,
    first,
    flag,
    found_from,
    least_sealed,
    merged,
    of_pace,
    of_task,
    plain,
    read_settings,
    require_company,
)
from enpire.session.recovery import open_recovery
from enpire.session.session import require_same, run_session, station_facts, stations_for
from enpire.session.signing import warn_unsigned
from enpire.session.teleop_options import TeleopSession, open_helper, require_helper
from enpire.session.warm_start import require_warm_start, warm_start, warm_start_settings

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.improvement.configured_recipe import ConfiguredRecipe
    from enpire.improvement.training_process import Trainer
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.rollout.loop.settings import LoopSettings
    from enpire.session.backends import Backend
    from enpire.store import EpisodeWriter, Run


@dataclass(frozen=True, slots=True)
class LoopStart:
    """What one start of a loop is given that is no setting of its run."""

    # Budgets by name, as `BUDGETS` has them; of a run that goes on, those that change.
    limits: Mapping[str, float] = field(default_factory=dict)
    run: Path | None = None  # folder of a new run; None for the next free one under `runs/`
    arms: Sequence[Path] = ()  # station files of the arms that it runs on; none for twins
    port: int = 0  # of the page that a helper's hands are on; 0 for any
    recover: str = ""  # shell command that helps a station that is set aside
    recover_limit: float | None = None  # how long that may take [s]; None for ten minutes
    track: str | None = None  # kind of the tracker that curves are sent to
    # Whether code that a run names by a path is run though it was made elsewhere.
    trust: bool = False
    audience: Audience = PERSON  # who is told how it goes


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """How one start of a loop ended."""

    folder: Path  # the run's folder
    figures: Mapping[str, Any]  # all that `result.json` says
    reached: bool  # whether the target holds on sealed seeds
    interrupted: bool  # whether somebody ended it (Ctrl-C, SIGTERM, SIGHUP)


Ended = Callable[["Run", dict[str, Any]], None]
"""Takes the run, still open, and its figures when a start of a loop has ended."""


def begin_loop(
    task: str, given: dict[str, Any], start: LoopStart, backend: Backend, ended: Ended | None = None
) -> LoopEnd:
    """Begin a new run and improve a policy until the target holds or a budget ends.

    Args:
        task: A task's name or folder, or `gym:ENV_ID`.
        given: Settings that were asked for, by the names of `LoopSettings`; the task's `loop.toml`
            says the others, and where it does not, `LoopSettings`.
        start: What is no setting.
        backend: Where.
        ended: Is called before the run is closed.

    Raises:
        UsageError: There is no such task or recipe, or settings contradict each other.
        EnpireError: The run cannot go on; what was recorded stays.
    """
    from enpire.packs.finder import find
    from enpire.store import Run, default_folder
    from enpire.version import __version__

    audience = start.audience
    warn_unsigned(task, audience.warn)
    given = warm_start_settings(given, task)
    foreign = task.startswith(GYM)
    called, asks = plain(task), ""
    if not foreign:
        pack = find("tasks", task)  # unknown ones cost nothing to find
        called, own = pack.name, of_task(pack)
        given = merged(own, given)
        kept = [f"{name} {own[name]}" for name in own if given.get(name) == own[name]]
        if kept:
            audience.say(f"{pack.folder / LOOP}: {', '.join(kept)}")
        if any(given.get(name) == own[name] for name in OF_RECIPES if name in own):
            asks = f"{pack.folder / LOOP} asks for it"
    asked = given
    given = of_pace(_on_arms(start.arms, given))
    from enpire.observe.trust import recipes_called
    from enpire.rollout.loop.settings import LoopSettings

    if os.sep in task and not foreign:
        task = str(real_path(task))
    for name in OF_RECIPES:
        if name in given:
            given[name] = found_from(Path.cwd(), given[name])
    if "python" in given:
        given["python"] = os.path.abspath(given["python"])  # links are a virtual environment's
    if "demonstrator" in given:
        given["demonstrator"] = os.path.abspath(given["demonstrator"])
    settings = LoopSettings.of(task, **given)
    require_company(asked, settings)
    if least := least_sealed(settings):
        audience.say(least)
    recipes = _recipes(settings)
    recovery = start.recover, start.recover_limit, task, settings.environment.reset
    with open_recovery(*recovery):  # wrong ones cost nothing to find
        pass
    stations = stations_for(settings, backend)
    _require(settings, recipes, stations, asks)
    require_helper(settings, recipes, stations)
    require_warm_start(settings, stations, recipes[1])
    if not foreign:
        _require_symmetry(settings)
    config = {"enpire": __version__, "loop": settings.values(), "budget": dict(start.limits)}
    with open_helper(settings, stations, start.arms, start.port, audience.say) as people:
        run = Run.create(start.run or default_folder(called), config)
        with run:
            code = (settings.rounds.recipe, settings.first.first_recipe)
            began = recipes_called(*code, settings.environment.demonstrator)
            run.ledger.set_facts(station_facts(stations) | began | {"state": "running"})
            warm_start(run, settings, stations)
            limits = start.limits
            return _run_session(
                run, settings, recipes, stations, limits, start, backend, people, ended
            )


def resume_loop(
    folder: Path, start: LoopStart, backend: Backend, ended: Ended | None = None
) -> LoopEnd:
    """Go on with a run under its own settings; only budgets may change.

    Args:
        folder: The run's folder.
        start: What is no setting.
        backend: Where.
        ended: Is called before the run is closed.

    Raises:
        StoreError: There is no such run, or a pack or verifier has changed since it began.
        EnpireError: The run cannot go on; what was recorded stays.
    """
    from enpire.observe.trust import require_trusted
    from enpire.store import Run

    with Run.open(folder, writable=True) as run:
        for line in run.notes:
            start.audience.warn(f"{run.folder}: {line}")
        require_trusted(run, start.trust)
        settings = read_settings(run)
        stations = stations_for(settings, backend)
        require_same(run, stations)
        recipes = _recipes(settings)
        _require(settings, recipes, stations)
        require_helper(settings, recipes, stations)
        warm_start(run, settings, stations)
        run.ledger.set_facts({"state": "running"})
        limits = run.config.get("budget", {}) | dict(start.limits)
        with open_helper(settings, stations, start.arms, start.port, start.audience.say) as people:
            return _run_session(
                run, settings, recipes, stations, limits, start, backend, people, ended
            )


def _on_arms(arms: Sequence[Path], given: dict[str, Any]) -> dict[str, Any]:
    """Settings with what stations with arms imply; raises UsageError for what contradicts it."""
    if not arms:
        return given
    if given.get("reset", "physical") != "physical" or given.get("pace", "free") != "free":
        raise UsageError("--station is for arms: their resets are physical, their time is real")
    return {"robots": len(arms)} | given | {"reset": "physical"}


def _recipes(settings: LoopSettings) -> tuple[ConfiguredRecipe, ...]:
    """How the first policy is made, then how each round improves it."""
    from enpire.improvement import recipe_finding as recipes

    rounds = recipes.schedule(settings.rounds.recipe, settings.rounds.recipe_settings)
    return first(settings, rounds), *rounds


def _require(
    settings: LoopSettings,
    recipes: Iterable[ConfiguredRecipe],
    stations: StationBackend,
    asks: str = "",
) -> None:
    """See whether stations can serve the recipes, with all that is asked for.

    asks: who asks for the recipes, if not whoever began the loop.

    Raises:
        UsageError: they cannot; the message says what to change.
    """
    from enpire.improvement.online import is_online
    from enpire.rollout.collection.early_stop import require_foresight

    if settings.rounds.abort:
        require_foresight(stations)
    of_rounds = [name for name in OF_ROUNDS if settings.values()[name]]
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


def _run_session(
    run: Run,
    settings: LoopSettings,
    recipes: tuple[ConfiguredRecipe, ...],
    stations: StationBackend,
    limits: Mapping[str, float],
    start: LoopStart,
    backend: Backend,
    people: TeleopSession | None,
    ended: Ended | None,
) -> LoopEnd:
    from enpire.rollout.loop.budget import Budget
    from enpire.rollout.loop.loop import Loop
    from enpire.rollout.loop.state import LoopState

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

    recovery = start.recover, start.recover_limit, settings.task, settings.environment.reset
    with open_recovery(*recovery) as helper:
        figures = run_session(
            run,
            settings,
            stations,
            backend,
            budget,
            state,
            begin,
            helper,
            people,
            start.track,
            start.audience,
        )
    if ended is not None:
        ended(run, figures)
    return LoopEnd(run.folder, figures, state.reached, budget.interrupted)


def _require_symmetry(settings: LoopSettings) -> None:
    """Raise PackError for a task whose `symmetry.toml` is not true: no certificate has its hash."""
    from enpire.certification.symmetry import require_symmetry
    from enpire.environment import build_stations
    from enpire.packs import find

    task = settings.task.removesuffix(AT_JOINTS)
    if (find("tasks", task).folder / SYMMETRY).is_file():
        require_symmetry(build_stations(task, 1, 1, world=settings.environment.world))
