"""The library's two verbs: `enpire.improve` and `enpire.evaluate`.

Their keywords are the options of `enpire loop` and `enpire eval`, with underscores, and are read by
the same functions: what one refuses the other refuses, in the same words.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from enpire.errors import UsageError
from enpire.option_values import duration, port, positive, reset_mode, seed_number, spell, verifier
from enpire.packs.finder import unknown
from enpire.session.api_options import EvaluateOptions, ImproveOptions, Seconds, StrPath
from enpire.session.audience import NOBODY, PERSON, Say
from enpire.session.backends import Backend, open_backend
from enpire.session.evaluated_policy import EvaluationRequest
from enpire.session.evaluation import Evaluation, measure
from enpire.session.graphics import choose_graphics
from enpire.session.improvement import LoopStart, begin_loop, resume_loop
from enpire.session.keywords import Reader, as_text, read_keyword, read_path, read_paths
from enpire.session.loop_settings import BUDGETS, SETTINGS, dotted
from enpire.session.recorded_run import RecordedRun
from enpire.session.task_starts import start, task_from
from enpire.session.threads import cores_left_to_physics
from enpire.session.tracking import KINDS
from enpire.types import Estimate

if TYPE_CHECKING:
    from enpire.policies import Policy

TABLES = ("recipe_settings", "first_recipe_settings", "helper_settings")
REFERENCES = ("policy", "demonstrations_of")  # settings that may name a run

EVALUATION: Mapping[str, Reader] = {
    "task": str,
    "begin": start,
    "episodes": positive,
    "robots": positive,
    "attempts": positive,
    "seed": seed_number,
    "python": str,
    "success": str,
    "reset": reset_mode,
    "world": str,
    "inference_time": spell,
    "verify": verifier,
    "vary_looks": bool,
    "run": read_path,
    "recover": str,
    "recover_limit": duration,
    "trust": bool,
}
"""Keywords of an evaluation that are fields of `EvaluationRequest`."""

PLACE: Mapping[str, Reader] = {
    "cluster": str,
    "station": read_paths,
    "confirm_motion": bool,
    "dry_run": bool,
}
"""Keywords that say where."""

START: Mapping[str, Reader] = {
    "run": read_path,
    "port": port,
    "recover": str,
    "recover_limit": duration,
    "trust": bool,
}
"""Keywords of a loop that are no settings of its run."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """What came of improving a policy.

    Attributes:
        run: All that was recorded.
        task: The task's name.
        success: Success rate of the best policy, with its 95% interval.
        sealed: Whether `success` was measured on sealed seeds, on which it reached the target.
        start: Success rate of the first policy.
        target: The success rate that was to be reached.
        reached: Whether it was, on sealed seeds.
        at_least: What the true rate is not below, if the target was reached; else None.
        policy: Name of the best policy in the run; empty where there is none yet.
        rounds: How many rounds were finished.
        robot_hours: Robot time before and between sealed evaluations [h].
        robot_hours_sealed: Robot time of sealed evaluations [h].
        wall_s: Time on the clock, all starts of the run together [s].
        ended: Why it ended: `reached`, or which budget was used up.
        figures: All that the run's `result.json` says.
    """

    run: RecordedRun
    task: str
    success: Estimate
    sealed: bool
    start: Estimate
    target: float
    reached: bool
    at_least: float | None
    policy: str
    rounds: int
    robot_hours: float
    robot_hours_sealed: float
    wall_s: float
    ended: str
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        hours = self.robot_hours + self.robot_hours_sealed
        reached = "reached" if self.reached else "not reached"
        seeds = "on sealed seeds" if self.sealed else "not on sealed seeds"
        return (
            f"{self.task}: success from {self.start} to {self.success}, {seeds}; "
            f"target {self.target:g} {reached}, {hours:.2f} robot-hours, in {self.run.folder}"
        )


def improve(
    task: StrPath = "",
    *,
    robots: int | None = None,
    seed: int | None = None,
    target: float | None = None,
    recipe: StrPath | None = None,
    recipe_settings: Mapping[str, Any] | None = None,
    max_time: Seconds | None = None,
    max_robot_hours: float | None = None,
    max_rounds: int | None = None,
    run: StrPath | None = None,
    resume: StrPath | RecordedRun | None = None,
    progress: bool = False,
    **options: Unpack[ImproveOptions],
) -> Improvement:
    """Improve a policy by itself until it holds its target on sealed seeds, or a budget ends.

    Demonstrations make a first policy; then each round collects episodes, trains a candidate and
    compares it with the incumbent on fresh seeds. All of it is recorded in a run folder. Ctrl-C
    ends it at the next control period and raises KeyboardInterrupt; `resume` goes on.

    Args:
        task: A task's name or folder, or `gym:ENV_ID`.
        robots: Stations that hold an episode at one time; by default 4.
        seed: Of everything random but the sealed seeds; by default 0.
        target: Success rate to reach on sealed seeds; by default 0.99.
        recipe: How a round improves the policy: a name, a file of your own, or `A,B` for one round
            each; by default the task's.
        recipe_settings: Settings of the recipe by dotted name, or nested.
        max_time: Budget on the clock, in seconds or as `30m`.
        max_robot_hours: Budget of robot time before sealed evaluations [h].
        max_rounds: Budget of rounds.
        run: Folder of the new run; by default the next free one under `runs/`.
        resume: A run to go on with, under its own settings; only budgets may change.
        progress: Print how it goes; otherwise nothing is printed.
        **options: Whatever else `enpire loop` takes, see `ImproveOptions` and `PlaceOptions`.

    Returns:
        The run, the success rate with its interval, robot-hours, and whether the target holds.

    Raises:
        UsageError: A keyword's value makes no sense, or there is no such task or recipe.
        EnpireError: The run cannot begin or go on; what was recorded stays.
        KeyboardInterrupt: Somebody ended it; what was recorded stays.
    """
    given: dict[str, Any] = {
        "robots": robots,
        "seed": seed,
        "target": target,
        "recipe": recipe,
        "recipe_settings": recipe_settings,
        "max_time": max_time,
        "max_robot_hours": max_robot_hours,
        "max_rounds": max_rounds,
        "run": run,
        **options,
    }
    given = {name: value for name, value in given.items() if value is not None}
    known = {*SETTINGS, *TABLES, *BUDGETS, *PLACE, *START, "begin", "track"}
    _require_known("improve", given, known | {"task", "resume", "progress"})
    settings = _settings(given)
    limits = {
        name: read_keyword(name, given[name], BUDGETS[name][0]) for name in BUDGETS if name in given
    }
    place = _read(given, PLACE)
    track = given.get("track")
    if track is not None:
        from enpire.observe.tracking.choice import require_tracker

        if track not in KINDS:
            raise UsageError(unknown("tracker", str(track), list(KINDS)))
        require_tracker(track)
    began = LoopStart(
        limits=limits,
        arms=place.get("station", ()),
        track=track,
        audience=PERSON if progress else NOBODY,
        **_read(given, START),
    )
    called = task_from(as_text("task", task), read_keyword("begin", given.get("begin", ""), _begin))
    if bool(called) == (resume is not None):
        raise UsageError("improve takes a task, or a run to resume: give one of them")
    if resume is not None and (clash := sorted(settings) + [n for n in ("run",) if n in given]):
        raise UsageError(
            f"{clash[0]} cannot be given with resume: a run goes on under the settings in its "
            "config.toml; only budgets may change"
        )
    choose_graphics()
    with ExitStack() as stack:
        stack.enter_context(cores_left_to_physics())
        backend = stack.enter_context(_backend(place, began.audience.say))
        if resume is None:
            end = begin_loop(called, settings, began, backend)
        else:
            end = resume_loop(Path(_reference("resume", resume)), began, backend)
    if end.interrupted:
        raise KeyboardInterrupt(f"{end.folder} is recorded: improve(resume=...) goes on with it")
    return _improvement(end.folder, end.figures)


def evaluate(
    policy: StrPath | RecordedRun | Improvement | Policy | Callable[[Any], Any],
    *,
    task: StrPath = "",
    episodes: int = 200,
    robots: int = 4,
    attempts: int = 1,
    seed: int | None = None,
    run: StrPath | None = None,
    progress: bool = False,
    **options: Unpack[EvaluateOptions],
) -> Evaluation:
    """Measure a policy on seeds that it has never seen.

    Args:
        policy: A run or what `improve` returned, for its best policy; `RUN:NAME` for one by name;
            a folder of LeRobot's; `ws://HOST:PORT`; `FILE.py`; `random`; a loaded policy; or what
            acts: a function from an observation, (obs,), to an action, (act,), in [-1, 1]. An
            object with `begin(task)` is asked for such a function once an episode.
        task: A task's name or folder, or `gym:ENV_ID`; a policy of a run has one of its own.
        episodes: How many are run.
        robots: Stations that hold an episode at one time.
        attempts: How many an episode may make, the next from where a failed one has led.
        seed: Draws the same seeds each time; by default they are drawn now.
        run: Keep the episodes in this new folder.
        progress: Show how it goes; otherwise nothing is printed.
        **options: Whatever else `enpire eval` takes, see `EvaluateOptions` and `PlaceOptions`.

    Returns:
        The success rate with its interval, and how episodes failed.

    Raises:
        UsageError: A keyword's value makes no sense, or there is no such task.
        StoreError: There is no such run, or it has no such policy.
        PolicyError: The policy is another task's, or returned something that is no action.
        EnpireError: No episode was judged.
    """
    given: dict[str, Any] = {
        "task": as_text("task", task),
        "episodes": episodes,
        "robots": robots,
        "attempts": attempts,
        "seed": seed,
        "run": run,
        **options,
    }
    given = {name: value for name, value in given.items() if value is not None}
    _require_known("evaluate", given, {*EVALUATION, *PLACE, "policy", "progress"})
    place = _read(given, PLACE)
    whose = _policy(policy)
    audience = PERSON if progress else NOBODY
    request = EvaluationRequest(policy=whose, **_read(given, EVALUATION))
    request = request.on_arms(len(place.get("station", ())))
    choose_graphics()
    with cores_left_to_physics(), _backend(place, audience.say) as backend:
        measured = measure(request, backend, audience)
    measured.require_judged()
    return measured


def _require_known(verb: str, given: Mapping[str, Any], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"{verb}: {unknown('keyword', name, sorted(known))}")


def _read(given: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    return {
        name: read_keyword(name, given[name], read)
        for name, read in readers.items()
        if name in given
    }


def _begin(text: str) -> str:
    return text and start(text)


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the loop among keywords, as the command line would have read them."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in REFERENCES:
            value = _reference(name, value)
        if name in SETTINGS:
            settings[name] = read_keyword(name, value, SETTINGS[name][0])
        elif name in TABLES:
            if not isinstance(value, Mapping):
                raise UsageError(f"{name}={value!r}: give a dictionary, settings by name")
            settings[name] = dict(dotted(dict(value)))
    return settings


def _backend(place: Mapping[str, Any], say: Say) -> AbstractContextManager[Backend]:
    return open_backend(
        place.get("cluster", ""),
        place.get("station", ()),
        place.get("confirm_motion", False),
        place.get("dry_run", False),
        say,
    )


def _reference(name: str, value: Any) -> str:
    """A run or a policy as the command line names it."""
    if isinstance(value, RecordedRun):
        return str(value.folder)
    return as_text(name, value)


def _policy(value: Any) -> Any:
    """What is measured, as `EvaluationRequest` has it."""
    if isinstance(value, Improvement):
        value = value.run
    if isinstance(value, str | os.PathLike | RecordedRun):
        return _reference("policy", value)
    if inspect.isclass(value) or not (
        callable(value) or hasattr(value, "begin") or hasattr(value, "controller")
    ):
        raise UsageError(
            f"policy={value!r}: give a run, a file, a policy, or a function from an observation "
            "to an action"
        )
    return value


def _improvement(folder: Path, figures: Mapping[str, Any]) -> Improvement:
    recorded = RecordedRun(folder)
    return Improvement(
        run=recorded,
        task=figures["task"],
        success=recorded.success,
        sealed=recorded.sealed,
        start=recorded.start,
        target=figures["target"],
        reached=figures["reached"],
        at_least=figures["final"].get("at_least"),
        policy=figures["policy"],
        rounds=figures["rounds"],
        robot_hours=figures["robot_hours"],
        robot_hours_sealed=figures["robot_hours_sealed"],
        wall_s=figures["wall_s"],
        ended=figures["ended"],
        figures=figures,
    )
