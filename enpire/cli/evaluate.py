"""`enpire eval`: measure a policy of a run on seeds it has never seen."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields

from enpire.cli.options.backends import add_arms, add_cluster, backend_of
from enpire.cli.options.episodes import add_episodes_folder, add_robots, add_seed, add_verifier
from enpire.cli.options.menagerie import add_menagerie, use_menagerie
from enpire.cli.options.parser import Parser, add_start, add_trust, options_given, print_json
from enpire.cli.options.recovery import add_recovery
from enpire.cli.options.settings import add_setting
from enpire.option_values import RANDOM, positive, spell
from enpire.session.audience import PERSON
from enpire.session.graphics import choose_graphics
from enpire.session.threads import leave_cores_to_physics

DESCRIPTION = """\
Measure a policy of a run on seeds it has never seen: drawn now, unless --seed asks for the same
ones again. Nothing is added to the run; --run keeps the episodes in a run folder of their own.
`--policy DIR` takes a folder that LeRobot wrote, for --task; `--policy random` measures uniform
random actions on any --task, `--policy FILE.py` a function of your own (docs/new-task.md)."""


def add_options(parser: Parser) -> None:
    """The options of `enpire eval`."""
    parser.add_argument(
        "--policy",
        required=True,
        metavar="RUN[:NAME]",
        help="policy to measure: a run's best, or one by name; a folder of LeRobot's; "
        f"ws://HOST:PORT; FILE.py; or {RANDOM}",
    )
    parser.add_argument(
        "--episodes", type=positive, default=200, metavar="N", help="episodes to run (default 200)"
    )
    add_robots(parser)
    parser.add_argument(
        "--attempts",
        type=positive,
        default=1,
        metavar="K",
        help="attempts that an episode may make, each from where the last one failed: "
        "success at the first and by the last, pass@1 and pass@K (default 1)",
    )
    add_seed(parser)
    parser.add_argument(
        "--task", metavar="NAME", help="task to measure at (default: the run's); or gym:ENV_ID"
    )
    add_start(parser)
    for name in ("python", "success", "reset", "world"):  # that a run may have as well
        add_setting(parser, name)
    parser.add_argument(
        "--inference-time",
        type=spell,
        default=0.0,
        metavar="TIME",
        help="time that a chunk takes to compute, as 0.2s: the last one goes on meanwhile "
        "(default none)",
    )
    add_verifier(parser)
    parser.add_argument(
        "--vary-looks",
        action="store_true",
        help="vary light, colours and cameras from episode to episode, for a policy that "
        "sees by cameras",
    )
    add_episodes_folder(parser)
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    add_cluster(parser)
    add_menagerie(parser)
    add_arms(parser)
    add_recovery(parser, "when a physical reset has failed")
    add_trust(parser)
    parser.everyday = ("policy", "episodes", "robots", "seed", "task", "run", "json")


def run(options: Namespace) -> int:
    """Run the episodes and print what came of them."""
    from enpire.certification import certificate
    from enpire.observe import account, throughput
    from enpire.session.evaluated_policy import EvaluationRequest
    from enpire.session.evaluation import measure

    choose_graphics()
    use_menagerie(options)
    leave_cores_to_physics()
    asked = options_given(options, (each.name for each in fields(EvaluationRequest)))
    request = EvaluationRequest(**asked).on_arms(len(options.station))
    with backend_of(options) as where:
        measured = measure(request, where, PERSON)
    figures = measured.figures
    print(
        f"{measured.policy} on {measured.task}: {account.text(figures)}, "
        f"verified by {measured.verified_by}"
    )
    if figures["corrected"]:
        print(certificate.text(figures["corrected"]))
    if options.attempts > 1:
        k = str(options.attempts)
        print(f"pass@{k}, up to {k} attempts an episode: {account.text(figures['pass_at'][k])}")
    if speed := throughput.text(figures["speed"]):
        print(speed)
    print(
        f"outcomes {figures['outcomes']}; robots executed {figures['mru']:.0%} of their time (MRU)"
    )
    for note in measured.notes:
        print(note)
    for title in ("failures_by_predicate", "failures_by_stage"):
        if figures[title]:
            print(f"{title.replace('_', ' ')}: {figures[title]}")
    for reason, count in figures["invalid"].items():
        print(f"invalid, and not counted: {count} of {figures['episodes']} episodes: {reason}")
    if options.json:
        print_json(figures)
    measured.require_judged()
    return 0
