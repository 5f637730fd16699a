"""`enpire collect`: a person's episodes, or a policy's with a person who helps."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.commands.driving import facts_of, require_same
from enpire.commands.graphics import choose_graphics
from enpire.commands.options import Parser, add_start, natural, positive, print_json, task_asked
from enpire.commands.places import Place, add_arms, place
from enpire.commands.recovering import noted
from enpire.commands.signing import say_unsigned
from enpire.commands.threads import leave_cores_to_physics
from enpire.errors import UsageError
from enpire.packs.finder import GYM

if TYPE_CHECKING:
    from enpire.environment import Controller, Job, Stations
    from enpire.observe.frozen import Frozen
    from enpire.people import Hands, OneHelper
    from enpire.rollout.clock import Clock
    from enpire.rollout.detector import Detector
    from enpire.store import Decision, Run
    from enpire.types import Episode

DESCRIPTION = """\
Record a person's episodes, on twins in real time or on stations with arms: at a page in a browser
on this machine, by keys or by a gamepad. With --policy, a policy acts and the person takes over by
touching a key, and gives back; where past episodes are there to learn from (--learn-from), stations
ask for the person when a failure is foreseen, one after the other. Who acted is kept of every
period. --teleop script has the task's script in the person's place, as fast as it goes."""

PAGE = ("keyboard", "gamepad")
SCRIPT = "script"
OVERTIME = 4.0  # time limits that people may take beyond the task's


def add_options(parser: Parser) -> None:
    """The options of `enpire collect`."""
    parser.add_argument("--task", metavar="NAME", help="a task; by default the policy's")
    add_start(parser)
    parser.add_argument(
        "--teleop",
        choices=(*PAGE, SCRIPT),
        default=PAGE[0],
        help="whose hands (default keyboard; the page takes either)",
    )
    parser.add_argument("--run", type=Path, metavar="DIR", help="of a new run, or one to add to")
    parser.add_argument("--episodes", type=positive, default=10, metavar="N", help="default 10")
    parser.add_argument(
        "--policy", metavar="RUN[:NAME]", help="acts until somebody takes over; as in enpire eval"
    )
    parser.add_argument(
        "--learn-from",
        type=Path,
        metavar="RUN",
        help="episodes that failures are learned to be foreseen from (default: the policy's run)",
    )
    parser.add_argument("--robots", type=positive, default=1, metavar="N", help="default 1")
    parser.add_argument("--seed", type=natural, metavar="N", help="the same seeds each time")
    parser.add_argument("--port", type=natural, default=0, metavar="N", help="of the page")
    parser.add_argument("--json", action="store_true", help="print the result as the last line")
    add_arms(parser)


def run(options: Namespace) -> int:
    """Record the episodes and print what came of them."""
    choose_graphics()
    leave_cores_to_physics()
    if options.station:
        options.robots = len(options.station)
    if not options.policy and options.robots > 1 and options.teleop != SCRIPT:
        raise UsageError("one person has one station at a time: --robots is for --policy")
    with place(options) as where:
        return _in_place(options, where)


def _in_place(options: Namespace, where: Place) -> int:
    from enpire.environment import Order, ResetMode, Stations
    from enpire.observe import frozen
    from enpire.people import Hands, OneHelper
    from enpire.rollout.seeds import fresh_entropy

    chosen = frozen.load(options.policy) if options.policy else None
    task = task_asked(options, chosen.task if chosen else "")
    if not task:
        raise UsageError("which task? give --task")
    if task.startswith(GYM):
        raise UsageError(f"nobody has hands in {task}: collect is for task packs")
    say_unsigned(task)
    reset = ResetMode.PHYSICAL if options.station else ResetMode.FAST
    images = frozen.images(chosen.policy) if chosen else 0
    stations = where.stations(Order(task, reset=reset, images=images), options.robots)
    if not isinstance(stations, Stations):
        raise UsageError(f"nobody has hands in {stations.name}: collect is for task packs")
    hands = None if options.teleop == SCRIPT else Hands()
    desk = OneHelper(hands)
    entropy = fresh_entropy() if options.seed is None else options.seed
    helper = _helper(stations, hands)
    if chosen is None:
        asked = _Asked(stations, helper, desk, entropy)
    else:
        frozen.require_fit(chosen.policy, stations, chosen.name)
        asked = _beside(chosen, _Asked(stations, helper, desk, entropy), options)
    with _opened(options, task, asked) as run:
        if asked.detector:
            run.ledger.add_decision(_detected(asked.detector))
        with _clock(options, where, asked, hands, run) as clock:
            done = _episodes(options, run, asked, clock)
        figures = _figures(run, asked, done)
    if options.json:
        print_json(figures)
    return 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is recorded. helper: by name, and what acts. policy: that it stands beside, by name."""

    stations: Stations
    helper: tuple[str, Controller]
    desk: OneHelper
    entropy: int
    policy: str = ""
    controller: Controller | None = None
    detector: Detector | None = None

    def jobs(self, count: int, number: int) -> Iterator[Job]:
        """A person's own episodes, or a policy's with one beside it; number: of the round."""
        from enpire.environment import Corrected, Job
        from enpire.rollout.detector import Never
        from enpire.rollout.seeds import stream
        from enpire.types import Purpose

        (who, acts), purpose, task = self.helper, Purpose.DEMONSTRATION, self.stations.task
        if self.controller is not None:
            watch = self.detector.watch() if self.detector else Never()
            acts = Corrected(self.controller, acts, watch, task.actions, self.desk)
            who, purpose = f"{self.policy}+{who}", Purpose.COLLECTION
        overtime = OVERTIME * task.time_limit
        for seed in islice(stream(self.entropy, "person"), count):
            yield Job(seed, purpose, acts, who, number, overtime=overtime)


def _helper(stations: Stations, hands: Hands | None) -> tuple[str, Controller]:
    from enpire.people import Person

    if hands is None:
        return stations.starter
    return "person", Person(hands, stations.task.actions, stations.twin.scene.robot)


def _beside(chosen: Frozen, asked: _Asked, options: Namespace) -> _Asked:
    """With the policy, and with what foresees its failures if there is enough to learn that from.

    Raises:
        UsageError: there is not, and nobody would take over unasked.
    """
    from enpire.evolution import hosting
    from enpire.rollout.detector import LEAST, learn_detector
    from enpire.store import Run

    source: Path = options.learn_from or chosen.run
    detector, stations = None, asked.stations
    if (source / "config.toml").is_file():
        with Run.open(source) as past:
            episodes = [e for e in past.episodes() if e.task == stations.name]
        detector = learn_detector(episodes, stations.execute_periods, asked.entropy % 2**32)
    if detector is not None:
        print(f"failures are foreseen from {source}: {detector.detection}", flush=True)
    elif options.teleop == SCRIPT:
        raise UsageError(
            f"{source} has fewer than {LEAST} successes or {LEAST} failures of policies to learn "
            "when to ask for help: give --learn-from RUN, or let a person say"
        )
    else:
        print("no failure is foreseen: take over when you see one", flush=True)
    controller = hosting.controller(chosen.policy, stations)
    return replace(asked, policy=chosen.name, controller=controller, detector=detector)


@contextmanager
def _opened(options: Namespace, task: str, asked: _Asked) -> Iterator[Run]:
    """The run to add to, or a new one."""
    from enpire import __version__
    from enpire.store import Run, default_folder

    if options.run is not None and options.run.is_dir():
        with Run.open(options.run, writable=True) as run:
            require_same(run, asked.stations)
            yield run
        return
    said = {"task": task, "teleop": options.teleop, "policy": options.policy or ""}
    config = {"enpire": __version__, "collect": said | {"entropy": asked.entropy}}
    with Run.create(options.run or default_folder(asked.stations.name), config) as run:
        run.ledger.set_facts(facts_of(asked.stations) | {"state": "collected"})
        yield run


@contextmanager
def _clock(
    options: Namespace, where: Place, asked: _Asked, hands: Hands | None, run: Run
) -> Iterator[Clock]:
    """Of a script the twins' own; of a person the wall's, with a page and a view at it."""
    from enpire.people import Command, Page, View
    from enpire.rollout.clock import Wall, Watched

    now = max((interval.end_s for interval in run.ledger.intervals()), default=0.0)
    if hands is None:
        yield where.clock(now)
        return
    desk, stations = asked.desk, asked.stations

    def state() -> dict[str, str]:
        whose = "yours" if desk.served is not None or not asked.policy else "the policy's"
        phase = stations.phase(desk.shown).value
        line = f"station {desk.shown + 1} of {len(stations)}: {phase}, {whose}"
        return {"line": line + (f", {desk.waiting} waiting" if desk.waiting else "")}

    with ExitStack() as stack:
        page = stack.enter_context(Page(hands, state, options.port))
        view = None if options.station else View(stations, page.show)
        if view is not None:
            stack.callback(view.close)

        def look() -> None:
            if hands.said(Command.STATION):
                desk.show_next(len(stations))
            if view is not None:
                view.take(desk.shown)

        print(f"open {page.address}", flush=True)
        yield Watched(Wall(now), look)


def _episodes(options: Namespace, run: Run, asked: _Asked, clock: Clock) -> list[Episode]:
    """Record them; Ctrl-C ends it, and what was under way is recorded as aborted."""
    from enpire.rollout.fleet import Fleet
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
        fleet = Fleet(asked.stations, writer, on_episode=tell, clock=clock, note=note, ahead=0)
        with suppress(KeyboardInterrupt):
            for _ in fleet.run(asked.jobs(options.episodes, number)):
                pass
        fleet.note_happenings(last=True)
    return done


def _detected(detector: Detector) -> Decision:
    """What it is worth, for the ledger."""
    from enpire.store import Decision

    found = detector.detection
    return Decision(
        0, "detector", str(found), numbers={k: float(v) for k, v in asdict(found).items()}
    )


def _figures(run: Run, asked: _Asked, done: list[Episode]) -> dict[str, Any]:
    """What came of the episodes, said and as JSON."""
    from enpire.observe import account
    from enpire.rollout.detector import interventions
    from enpire.rollout.statistics import estimate
    from enpire.store import Decision
    from enpire.types import JUDGED

    judged = [e for e in done if e.verdict.outcome in JUDGED]
    success = estimate(sum(e.success for e in judged), len(judged))
    acted = sum(len(e) for e in done)
    numbers = {
        "episodes": float(len(done)),
        "interventions": interventions(done) / max(len(done), 1),
        "helped": sum(int(e.intervened.sum()) for e in done) / max(acted, 1),
    }
    outcomes = dict(Counter(str(e.verdict.outcome) for e in done))
    print(f"{run.folder}: success {success}; {outcomes}")
    if asked.policy:
        text = (
            f"{asked.policy}+{asked.helper[0]}: success {success}, {numbers['interventions']:.2f} "
            f"interventions an episode, {numbers['helped']:.0%} of the periods helped"
        )
        print(text)
        run.ledger.add_decision(Decision(0, "helped", text, numbers=numbers))
    detection = asked.detector.detection if asked.detector else None
    return {
        "run": str(run.folder),
        "task": asked.stations.name,
        **account.as_json(success),
        "outcomes": outcomes,
        **numbers,
        "precision": account.as_json(detection.precision) if detection else None,
        "recall": account.as_json(detection.recall) if detection else None,
    }
