"""`enpire collect`: a person's episodes, or a policy's with a person who helps."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.options.backends import add_arms, backend_of
from enpire.cli.options.episodes import add_robots, add_seed
from enpire.cli.options.parser import (
    Parser,
    add_start,
    add_trust,
    print_json,
    print_notes,
    task_asked,
)
from enpire.errors import UsageError
from enpire.option_values import HANDS, PAGE, SCRIPT, hands, port, positive
from enpire.packs.finder import GYM
from enpire.session.backends import Backend
from enpire.session.graphics import choose_graphics
from enpire.session.recovery import noted
from enpire.session.session import require_same, station_facts
from enpire.session.signing import warn_unsigned
from enpire.session.teleop_options import (
    FIELDS,
    DeviceRequest,
    TeleopSession,
    open_teleop,
)
from enpire.session.threads import leave_cores_to_physics

if TYPE_CHECKING:
    from enpire.environment import Controller, Job, Stations
    from enpire.observe.policy_loading import LoadedPolicy
    from enpire.rollout.collection.failure_detector import Detector
    from enpire.rollout.fleet.clock import Clock
    from enpire.store import Run
    from enpire.types import Episode

DESCRIPTION = """\
Record a person's episodes, on twins in real time or on stations with arms: at a page in a browser
on this machine, by keys or by a gamepad. With --policy, a policy acts and the person takes over by
touching a key, and gives back; where past episodes are there to learn from (--learn-from), stations
ask for the person when a failure is foreseen, one after the other. Who acted is kept of every
period. --teleop lerobot:TYPE puts a leader arm or a pad of LeRobot's into the person's hands;
--teleop script lets the task's script act in the person's place, as fast as it goes."""

TELEOP = "--teleop."  # begins settings of a teleoperator


def add_options(parser: Parser) -> None:
    """The options of `enpire collect`."""
    parser.add_argument(
        "--task",
        metavar="NAME",
        help="task to record: its name or its folder (default: the policy's)",
    )
    add_start(parser)
    parser.add_argument(
        "--teleop",
        type=hands,
        metavar="WHOSE",
        default=PAGE[0],
        help=f"whose hands move the arm (default keyboard): {HANDS}",
    )
    parser.add_argument(
        "--run",
        type=Path,
        metavar="DIR",
        help="folder of a new run, or of one to add to (default: a new one in runs/)",
    )
    parser.add_argument(
        "--episodes", type=positive, default=10, metavar="N", help="episodes to record (default 10)"
    )
    parser.add_argument(
        "--policy",
        metavar="RUN[:NAME]",
        help="policy that acts until somebody takes over, as in enpire eval",
    )
    parser.add_argument(
        "--learn-from",
        type=Path,
        metavar="RUN",
        help="run whose episodes teach when a failure is foreseen (default: the policy's run)",
    )
    add_robots(parser, 1)
    add_seed(parser)
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="port of the page (default: any free one)"
    )
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    add_arms(parser)
    parser.gathers = (TELEOP,)
    parser.add_argument_group(
        "settings of a teleoperator",
        f"{TELEOP}SETTING VALUE: {FIELDS}",
    )
    parser.set_defaults(cluster="")  # people are here
    add_trust(parser)


def run(options: Namespace) -> int:
    """Record the episodes and print what came of them."""
    choose_graphics()
    leave_cores_to_physics()
    if options.station:
        options.robots = len(options.station)
    if not options.policy and options.robots > 1 and options.teleop != SCRIPT:
        raise UsageError("one person has one station at a time: --robots is for --policy")
    with backend_of(options) as where:
        return _in_place(options, where)


def _in_place(options: Namespace, where: Backend) -> int:
    from enpire.environment import Order, ResetMode, Stations
    from enpire.observe import policy_loading
    from enpire.rollout.collection.assistance import detected
    from enpire.rollout.evaluation.seeds import fresh_entropy

    chosen = policy_loading.load(options.policy) if options.policy else None
    task = task_asked(options, chosen.task if chosen else "")
    if not task:
        raise UsageError("which task? give --task")
    if chosen:
        chosen.require_trusted(task, options.trust)
    if task.startswith(GYM):
        raise UsageError(f"nobody has hands in {task}: collect is for task packs")
    warn_unsigned(task)
    reset = ResetMode.PHYSICAL if options.station else ResetMode.FAST
    images = policy_loading.images(chosen.policy) if chosen else 0
    stations = where.stations(Order(task, reset=reset, images=images), options.robots)
    if not isinstance(stations, Stations):
        raise UsageError(f"nobody has hands in {stations.name}: collect is for task packs")
    entropy = fresh_entropy() if options.seed is None else options.seed
    wanted = DeviceRequest(options.teleop, options.gathered[TELEOP], options.station, options.port)
    with open_teleop(wanted, stations) as helper:
        asked = _CollectRequest(stations, helper, entropy)
        if chosen is not None:
            policy_loading.require_fit(chosen.policy, stations, chosen.name)
            asked = _with_policy(chosen, asked, options)
        with _opened(options, task, asked) as run:
            if asked.detector:
                run.ledger.add_decision(detected(asked.detector))
            alone = "the policy's" if chosen else ""
            with helper.at_page(_clock(where, helper, run), alone) as clock:
                done = _episodes(options, run, asked, clock)
            figures = _figures(run, asked, done)
    if options.json:
        print_json(figures)
    return 0


@dataclass(frozen=True, slots=True)
class _CollectRequest:
    """What is recorded. policy: that the helper stands beside, by name."""

    stations: Stations
    teleop: TeleopSession
    entropy: int
    policy: str = ""
    controller: Controller | None = None
    detector: Detector | None = None

    def jobs(self, count: int, number: int) -> Iterator[Job]:
        """A person's own episodes, or a policy's with one beside it; number: of the round."""
        from enpire.environment import InterventionWrapper, Job, ResetMode
        from enpire.rollout.collection.assistance import OVERTIME
        from enpire.rollout.collection.demonstration_starts import demonstration_seeds
        from enpire.rollout.collection.failure_detector import NoFailureDetector
        from enpire.types import Purpose

        helper = self.teleop.helper
        acts, who = helper.acts, helper.name
        purpose, task = Purpose.DEMONSTRATION, self.stations.task
        if self.controller is not None:
            watch = self.detector.watch() if self.detector else NoFailureDetector()
            acts = InterventionWrapper(self.controller, acts, watch, task.actions, helper.desk)
            who, purpose = f"{self.policy}+{who}", Purpose.COLLECTION
        overtime = OVERTIME * task.time_limit
        shows = None if self.controller is not None else task  # else starts as policies meet them
        physical = self.stations.reset == ResetMode.PHYSICAL
        for seed in demonstration_seeds(self.entropy, count, shows, physical, "person"):
            yield Job(seed, purpose, acts, who, number, overtime=overtime)


def _with_policy(
    chosen: LoadedPolicy, request: _CollectRequest, options: Namespace
) -> _CollectRequest:
    """Ask for help beside the policy, and foresee its failures where enough is known of them.

    Raises:
        UsageError: there is not, and nobody would take over unasked.
    """
    from enpire.evolution.program_policies import policy_host
    from enpire.rollout.collection.failure_detector import LEAST, learn_detector
    from enpire.store import Run

    source: Path = options.learn_from or chosen.run
    detector, stations = None, request.stations
    if (source / "config.toml").is_file():
        with Run.open(source) as past:
            episodes = [e for e in past.episodes() if e.task == stations.name]
        detector = learn_detector(episodes, stations.execute_periods, request.entropy % 2**32)
    if detector is not None:
        print(f"failures are foreseen from {source}: {detector.detection}", flush=True)
    elif options.teleop == SCRIPT:
        raise UsageError(
            f"{source} has fewer than {LEAST} successes or {LEAST} failures of policies to learn "
            "when to ask for help: give --learn-from RUN, or let a person say"
        )
    else:
        print("no failure is foreseen: take over when you see one", flush=True)
    controller = policy_host.controller(chosen.policy, stations)
    return replace(request, policy=chosen.name, controller=controller, detector=detector)


@contextmanager
def _opened(options: Namespace, task: str, request: _CollectRequest) -> Iterator[Run]:
    """The run to add to, or a new one."""
    from enpire.store import Run, default_folder
    from enpire.version import __version__

    if options.run is not None and options.run.is_dir():
        with Run.open(options.run, writable=True) as run:
            print_notes(run)
            require_same(run, request.stations)
            yield run
        return
    said = {"task": task, "teleop": options.teleop, "policy": options.policy or ""}
    config = {"enpire": __version__, "collect": said | {"entropy": request.entropy}}
    with Run.create(options.run or default_folder(request.stations.name), config) as run:
        run.ledger.set_facts(station_facts(request.stations) | {"state": "collected"})
        yield run


def _clock(where: Backend, helper: TeleopSession, run: Run) -> Clock:
    """The clock: the twins' own for a script, the wall's for a person."""
    from enpire.rollout.fleet.clock import WallClock

    now = max((interval.end_s for interval in run.ledger.intervals()), default=0.0)
    return where.clock(now) if helper.hands is None else WallClock(now)


def _episodes(
    options: Namespace, run: Run, request: _CollectRequest, clock: Clock
) -> list[Episode]:
    """Record them; Ctrl-C ends it, and what was under way is recorded as aborted."""
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.store import EpisodeWriter

    number = max((row.number for row in run.ledger.rounds()), default=0)
    done: list[Episode] = []

    def note(kind: str, station: int, text: str) -> None:
        run.ledger.add_decision(noted(number, kind, station, text))

    def tell(episode: Episode) -> None:
        helped = f", {episode.intervened.mean():.0%} helped" if episode.helped else ""
        said = f"{episode.verdict.outcome} {episode.verdict.reason}".strip()
        print(f"{len(done) + 1} of {options.episodes}: {said}{helped}", flush=True)
        done.append(episode)

    with EpisodeWriter(run) as writer:
        fleet = Fleet(
            request.stations,
            writer,
            on_episode=tell,
            clock=clock,
            note=note,
            ahead=lambda: 0,
            before=run.ledger.intervals(),
        )
        with suppress(KeyboardInterrupt):
            for _ in fleet.run(request.jobs(options.episodes, number)):
                pass
        fleet.note_events(last=True)
    return done


def _figures(run: Run, request: _CollectRequest, episodes: list[Episode]) -> dict[str, Any]:
    """What came of the episodes, said and as JSON."""
    from enpire.observe import account
    from enpire.rollout.collection.assistance import helped
    from enpire.rollout.evaluation.statistics import estimate
    from enpire.types import JUDGED

    judged = [e for e in episodes if e.verdict.outcome in JUDGED]
    success = estimate(sum(e.success for e in judged), len(judged))
    outcomes = dict(Counter(str(e.verdict.outcome) for e in episodes))
    print(f"{run.folder}: success {success}; {outcomes}")
    came = helped(episodes, f"{request.policy}+{request.teleop.helper.name}")
    if request.policy:
        print(came.text)
        run.ledger.add_decision(came)
    detection = request.detector.detection if request.detector else None
    return {
        "run": str(run.folder),
        "task": request.stations.name,
        **account.as_json(success),
        "outcomes": outcomes,
        **came.numbers,
        "precision": account.as_json(detection.precision) if detection else None,
        "recall": account.as_json(detection.recall) if detection else None,
    }
