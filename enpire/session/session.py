"""What `loop` and `campaign` have in common: stations, a fleet, accounts, and how a run ends."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from enpire.errors import StoreError, UsageError
from enpire.packs.finder import changed_packs
from enpire.rollout.loop.settings import REAL, LoopSettings
from enpire.session.audience import PERSON, Audience
from enpire.session.backends import Backend, LocalBackend
from enpire.session.recovery import noted
from enpire.session.signals import FATAL, signal_handler
from enpire.session.teleop_options import TeleopSession
from enpire.session.threads import leave_cores_to_physics
from enpire.session.tracking import tracked

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.improvement.training_process import Trainer
    from enpire.observe.gpu import GpuMonitor
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.rollout.fleet.recovery import Recovery
    from enpire.rollout.loop.budget import Budget
    from enpire.rollout.loop.state import LoopState
    from enpire.store import EpisodeWriter, Run

NOT_REACHED, INTERRUPTED = 3, 130


def stations_for(settings: LoopSettings, where: Backend) -> StationBackend:
    """The stations that a run is to have.

    Raises:
        UsageError: there cannot be such.
    """
    from enpire.environment import Order, ResetMode
    from enpire.environment.core.policy_cameras import require_size
    from enpire.rollout.fleet.conditions import ConditionedStations, Conditions

    require_size(settings.vision.images)

    conditions = Conditions(
        **{each.name: getattr(settings.delays, each.name) for each in fields(Conditions)}
    )
    if not isinstance(where, LocalBackend) and (conditions or settings.delays.pace == REAL):
        raise UsageError("--pace real and what goes with it are for this machine: no --cluster")
    order = Order(
        settings.task,
        settings.environment.python,
        settings.environment.success,
        ResetMode(settings.environment.reset),
        settings.vision.verify,
        settings.vision.images,
        settings.environment.world,
        settings.vision.vary_looks,
        settings.environment.demonstrator,
    )
    stations = where.stations(order, settings.environment.robots)
    return ConditionedStations(stations, conditions, settings.seed) if conditions else stations


def station_facts(stations: StationBackend) -> dict[str, str]:
    """What a run's ledger says of its stations."""
    return {"packs": json.dumps(stations.packs), "verified_by": stations.verified_by}


def require_same(run: Run, stations: StationBackend) -> None:
    """Check that a run may go on with these stations.

    Raises:
        StoreError: packs have changed since it began, or the verifier has.
    """
    changed = changed_packs(run.ledger.packs(), stations.packs)
    if changed:
        raise StoreError(
            f"{', '.join(changed)} changed since {run.folder} began, so its episodes could not be "
            "compared: put the pack back as it was, or start a new run"
        )
    verifier = run.ledger.facts().get("verified_by", stations.verified_by)
    if verifier != stations.verified_by:
        raise StoreError(
            f"{run.folder} is verified by {verifier}, here it would be by {stations.verified_by}: "
            "go on where there is OpenGL, or start a new run"
        )


def run_session(
    run: Run,
    settings: LoopSettings,
    stations: StationBackend,
    where: Backend,
    budget: Budget,
    state: LoopState,
    begin: Callable[[Fleet, EpisodeWriter, Trainer], Callable[[], str]],
    recovery: Recovery | None = None,
    people: TeleopSession | None = None,
    track: str | None = None,
    audience: Audience = PERSON,
) -> dict[str, Any]:
    """Have a run go on to its end; returns its result.

    begin: makes what runs on the fleet, and returns what has it run and then says why it ended.
    people: beside its policies. track: the kind of tracker that is told of it, if any.
    audience: who is told how it goes.
    """
    from rich.console import Console

    from enpire.observe import account
    from enpire.observe.gpu import GpuMonitor
    from enpire.observe.live_scene import ScenePublisher
    from enpire.observe.progress import Progress
    from enpire.observe.result import result
    from enpire.rollout.fleet.clock import WallClock
    from enpire.rollout.fleet.fleet import AHEAD, Fleet, Stopped
    from enpire.rollout.fleet.requests import Requests
    from enpire.store import EpisodeWriter

    leave_cores_to_physics()
    facts, ledger = run.ledger.facts(), run.ledger
    budget.started -= float(facts.get("wall_s", 0.0))

    def note(kind: str, station: int, text: str) -> None:
        ledger.add_decision(noted(state.round, kind, station, text))

    def interrupt() -> None:
        budget.interrupted = True

    real = settings.delays.pace == REAL
    base = (WallClock if real else where.clock)(
        max((interval.end_s for interval in ledger.intervals()), default=0.0)
    )
    with (
        tracked(run, track, audience.warn),
        EpisodeWriter(run) as writer,
        where.trainer() as trainer,
        GpuMonitor(facts) as gpus,
        people.beside_policies(base) if people else nullcontext(base) as clock,
    ):
        fleet = Fleet(
            stations,
            writer,
            budget.spent,
            robot_s=account.robot_seconds(ledger.episodes())[0],
            clock=clock,
            recovery=recovery,
            note=note,
            requests=Requests(run.folder, interrupt),
            ahead=people.ahead if people else lambda: AHEAD,
            before=ledger.intervals(),
        )
        save = _accounts(run, budget, fleet, gpus, facts)
        console = None if audience.progress else Console(quiet=True, file=io.StringIO())
        go = begin(fleet, writer, trainer)
        verified_by = stations.verified_by
        audience.say(f"run {run.folder}, verified by {verified_by}")
        if audience.emit is not None:
            audience.emit({"event": "run", "run": str(run.folder), "verified_by": verified_by})
        try:
            with (
                ScenePublisher(run.folder, stations),
                Progress(run, state, fleet, budget, save, console, audience.emit) as display,
                _signals(budget),
            ):
                try:
                    ended = go()
                except Stopped as stop:
                    ended = str(stop)
                    display.say(f"stopping: {ended}")
        except BaseException as error:
            with suppress(StoreError):
                ledger.set_facts({"state": f"failed: {str(error) or type(error).__name__}"})
            raise
        fleet.note_events(last=True)
        writer.flush()
        save()
        ledger.set_facts({"state": ended})
        figures = result(run, ended)
        run.write_result(figures)
    return figures


def exit_code(budget: Budget, state: LoopState) -> int:
    """The exit code of a run that has ended."""
    if budget.interrupted:
        return INTERRUPTED
    return 0 if state.reached else NOT_REACHED


def _accounts(
    run: Run, budget: Budget, fleet: Fleet, gpus: GpuMonitor, before: dict[str, str]
) -> Callable[[], None]:
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
            | gpus.facts
        )

    return save


@contextmanager
def _signals(budget: Budget) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end a run at the next control period; a second ends anything."""

    def interrupt() -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    with signal_handler((signal.SIGINT, *FATAL), interrupt):
        yield
