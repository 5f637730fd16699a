"""`enpire stress`: a policy and its verifier under changes that no training saw."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.options.episodes import add_robots, add_seed, add_verifier
from enpire.cli.options.parser import Parser, add_start, add_trust, print_json, task_asked
from enpire.errors import UsageError
from enpire.option_values import natural, positive
from enpire.packs.finder import GYM, unknown
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import counted
from enpire.session.signing import warn_unsigned
from enpire.session.threads import leave_cores_to_physics

if TYPE_CHECKING:
    from rich.table import Table

    from enpire.certification.stress import StressResult
    from enpire.environment import Controller, Stations
    from enpire.environment.resets.perturbation import Perturbation

DESCRIPTION = """\
Measure success under a published grid of changes that no training saw, one at a time
(docs/stress.md): friction, masses, stiffness, clearance, gains, latency, noise, the tracker,
initial poses; for policies that see, light and cameras too. Every point runs the same seeds, drawn
now unless --seed asks for the same ones again, from a stream of their own. Every episode is audited
against the simulator's truth: exit code 1 if more than 1% are false successes at any point. The
table is kept in the policy's run, where `enpire show` finds it; points that --only leaves out keep
what was measured before."""

DEMONSTRATOR, SKILL = "demonstrator", "skill"
MISSED = 1
COUNTED = {
    *("success", "n", "ci95", "invalid", "resets_tried_again", "missing", "passed", "audited"),
    *("false_successes", "failures_by_predicate"),
}  # of a row, in the table


def add_options(parser: Parser) -> None:
    """The options of `enpire stress`."""
    parser.add_argument(
        "policy",
        nargs="?",
        metavar="RUN[:NAME]",
        help="policy to measure: a run's best, or one by name; a folder of LeRobot's; "
        "ws://HOST:PORT",
    )
    parser.add_argument(
        "--controller",
        choices=(DEMONSTRATOR, SKILL),
        help="what to measure in place of a policy: the --task's scripted demonstrator, or "
        "its skill script with its plain values",
    )
    parser.add_argument(
        "--task",
        metavar="NAME",
        help="task of --controller, or one to measure at in place of the run's",
    )
    add_start(parser)
    parser.add_argument(
        "--episodes",
        type=positive,
        default=100,
        metavar="N",
        help="episodes to run at each point of the grid (default 100)",
    )
    parser.add_argument(
        "--only", metavar="A,B", help="points of the grid to measure (default: all)"
    )
    add_robots(parser)
    parser.add_argument(
        "--threads",
        type=natural,
        default=0,
        metavar="N",
        help="threads for physics; 0: one for each processor (default 0)",
    )
    add_seed(parser)
    add_verifier(parser)
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    add_trust(parser)


@dataclass(frozen=True, slots=True)
class StressSubject:
    """What is measured."""

    task: str  # a task pack
    label: str  # what a person reads
    name: str  # what episodes are recorded under
    sha256: str  # of the policy; empty for a script
    images: int  # size of the pictures that it sees [px]; 0: none
    act: Callable[[Stations], Controller]  # its controller for stations
    run: Path | None  # the folder of the run to keep the result in; None: nowhere


def run(options: Namespace) -> int:
    """Measure every point and print the table, worst first."""
    choose_graphics()
    from enpire.certification.grid import GRID, NAMES

    names = NAMES if options.only is None else options.only.split(",")
    for name in names:
        if name not in NAMES:
            raise UsageError(unknown("point", name, list(NAMES)))
    leave_cores_to_physics()
    from enpire.observe.result import versions
    from enpire.rollout.evaluation.seeds import fresh_entropy
    from enpire.store.stress import keep_stress

    subject = _of_a_script(options) if options.controller else _of_a_policy(options)
    warn_unsigned(subject.task)
    entropy = fresh_entropy() if options.seed is None else options.seed
    points = [point for point in GRID if point.name in names]
    results, of_stations = _measure(subject, points, options, entropy)
    measured: dict[str, Any] = {
        **of_stations,
        "policy": subject.label,
        "sha256": subject.sha256,
        "episodes": options.episodes,
        "entropy": entropy,
        "fresh": options.seed is None,
        "points": [result.as_json() for result in results],
        "passed": all(result.passed is not False for result in results),
        "versions": versions(),
    }
    kept = None if subject.run is None else keep_stress(subject.run, subject.name, measured)
    _print(subject.label, measured)
    if kept is not None:
        print(f"kept in {kept}")
    if options.json:
        print_json({**measured, "kept": str(kept) if kept else None})
    return 0 if measured["passed"] else MISSED


def table(points: Iterable[Mapping[str, Any]]) -> Table:
    """Rows as `StressResult.as_json` gives them, worst first."""
    from rich import box
    from rich.table import Table

    from enpire.observe import account

    result = Table(box=box.SIMPLE_HEAD, padding=0)
    for title in ("point", "success", "false success", "invalid"):
        result.add_column(title, no_wrap=title != "false success")
    result.add_column("failed", overflow="fold")
    for row in sorted(points, key=lambda row: (not row.get("n"), row.get("success") or 0.0)):
        if gone := COUNTED - row.keys():
            result.add_row(
                row["point"], "cannot be read", "", "", f"lacks {', '.join(sorted(gone))}"
            )
            continue
        if row["missing"]:
            result.add_row(row["point"], "not applicable", "", "", row["missing"])
            continue
        false = f"{row['false_successes']} of {row['audited']}" if row["audited"] else "not audited"
        if row["passed"] is False:
            false += " MISSED"
        failed = [f"{name} {count}" for name, count in row["failures_by_predicate"].items()]
        if row["resets_tried_again"]:
            failed.append(f"{row['resets_tried_again']} resets tried again")
        cells = account.text(row), false, str(row["invalid"]), ", ".join(failed)
        result.add_row(row["point"], *cells)
    return result


def _print(label: str, measured: Mapping[str, Any]) -> None:
    from rich.console import Console

    from enpire.certification.stress import FALSE_SUCCESS

    print(
        f"{label} on {measured['task']}, {measured['episodes']} seeds a point, verified by "
        f"{measured['verified_by']}"
    )
    Console(highlight=False, markup=False).print(table(measured["points"]))
    for row in measured["points"]:
        if row["false_success_example"]:
            print(f"false success at {row['point']}: {row['false_success_example']}")
    word = "holds" if measured["passed"] else "MISSED"
    print(f"verifier's bar, at most {FALSE_SUCCESS:.0%} false successes at every point: {word}")


def _measure(
    subject: StressSubject, points: Iterable[Perturbation], options: Namespace, entropy: int
) -> tuple[list[StressResult], dict[str, Any]]:
    """Every point, and what the stations say of themselves."""
    from itertools import islice

    from enpire.certification.stress import measure
    from enpire.environment import build_stations
    from enpire.rollout.evaluation.seeds import stream

    seeds = list(islice(stream(entropy, "stress"), options.episodes))
    told: dict[str, Any] = {}

    def build(point: Perturbation) -> Stations:
        stations = build_stations(
            subject.task,
            options.robots,
            options.threads,
            verify=options.verify,
            images=subject.images,
            perturbation=point,
        )
        told.update(
            task=stations.name, verified_by=stations.verified_by, packs=dict(stations.packs)
        )
        return stations

    results = []
    for point in counted(points, "points of the grid"):
        result = measure(build, subject.act, point, seeds, subject.name)
        print(f"{result.point}: {result.missing or result.success}", flush=True)
        results.append(result)
    return results, told


def _of_a_script(options: Namespace) -> StressSubject:
    from enpire.environment import Demonstrations
    from enpire.policies.skill import SkillController

    if options.policy:
        raise UsageError(f"{options.policy} or --controller: one of them acts")
    if not options.task:
        raise UsageError(f"--controller {options.controller} belongs to no run: give --task too")
    task = _task_pack(task_asked(options))

    def act(stations: Stations) -> Controller:
        if options.controller == DEMONSTRATOR:
            return Demonstrations(stations.task)
        if not stations.parameters:
            raise UsageError(f"{stations.name} has no skill script: --controller {DEMONSTRATOR}")
        return SkillController(stations.task, {p.name: p.plain for p in stations.parameters})

    return StressSubject(task, options.controller, options.controller, "", 0, act, None)


def _of_a_policy(options: Namespace) -> StressSubject:
    from enpire.evolution.program_policies import policy_host
    from enpire.observe import policy_loading

    if not options.policy:
        raise UsageError(
            "say what is to be measured: RUN[:NAME], or --task NAME --controller skill"
        )
    chosen = policy_loading.load(options.policy)
    task = _task_pack(task_asked(options, chosen.task))
    if not task:
        raise UsageError(f"{options.policy} does not say what it is for: give --task")
    chosen.require_trusted(task, options.trust)

    def act(stations: Stations) -> Controller:
        policy_loading.require_fit(chosen.policy, stations, chosen.name)
        return policy_host.controller(chosen.policy, stations)

    label = f"{chosen.run}:{chosen.name}" if chosen.task else str(chosen.run)
    kept = chosen.run if chosen.task and task == chosen.task else None
    images = policy_loading.images(chosen.policy)
    return StressSubject(task, label, chosen.name, chosen.sha256, images, act, kept)


def _task_pack(task: str) -> str:
    """The same; raises UsageError for what has no twin."""
    if task.startswith(GYM):
        raise UsageError(f"{task} is a world of its own: stress changes the twin of a task pack")
    return task
