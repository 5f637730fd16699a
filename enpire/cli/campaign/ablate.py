"""`enpire ablate`: campaigns that differ in one thing, from the same start, in one table."""

from __future__ import annotations

import math
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.child_environment import named_secrets
from enpire.cli.campaign import agents, campaign
from enpire.cli.helpers.children import Children
from enpire.cli.helpers.summary import program
from enpire.cli.options.parser import Parser, add_start, finite, options_given, print_json
from enpire.errors import EnpireError, UsageError
from enpire.option_values import duration, positive
from enpire.session.backends import LocalBackend
from enpire.session.graphics import choose_graphics
from enpire.session.loop_settings import FIRST, RECIPE, as_option, flag
from enpire.session.session import NOT_REACHED, stations_for

if TYPE_CHECKING:
    from enpire.evolution.ablation.ablation import (
        AblationArm,
        AblationBench,
        AblationCell,
        CommonSeeds,
    )
    from enpire.evolution.ablation.comparison import ArmSummary
    from enpire.rollout.loop.settings import LoopSettings

DESCRIPTION = """\
Run campaigns that differ in one thing: who proposes, from which recipes, by which prompt, or
without which tools. Each repeat begins with one start for all; when all have ended, their best
policies are frozen and run on common seeds drawn then. It takes hours; --stop-after or Ctrl-C ends
it, and the same command goes on where it was."""

VARIED = ("agents", "recipes", "prompts", "without")
EVERYTHING = "everything"  # the arm that does without nothing
DEFAULT_TIME = 3600.0  # of a campaign, where no budget is given
TABLE, DATA = "table.md", "table.json"
HEAD = """\
# Ablation of {what} on {task}

`{command}`

Each repeat: one start for all arms, each arm a campaign from there under the same budget
({budget}), {robots} stations. *Success on the common sealed seeds*: each arm's best policy on
{episodes} seeds a repeat that were drawn after all arms had ended and been frozen, all repeats
together; *difference to the first*: on the same seeds, pair by pair, of these policies; *over
repeats*: mean of the repeats' differences with Student's interval, which tells of the arms. *To
target*: the median until a policy first passed its campaign's own sealed evaluation at {target:g};
`>` where most had not by the end of their budget. The rest: means over repeats. {versions}.

"""


def add_options(parser: Parser) -> None:
    """The options of `enpire ablate`."""
    parser.add_argument(
        "--task",
        metavar="NAME",
        required=True,
        help="task of the campaigns: its name or its folder",
    )
    add_start(parser)
    varied = parser.add_argument_group(
        "what is compared (one of these has several; a single value holds for all)"
    )
    varied.add_argument(
        "--agents",
        metavar="A,B",
        help="teams to compare, as of a campaign, with + between kinds: "
        f"tuner:2,tuner:1+claude_code:1 (default {agents.TEAM})",
    )
    varied.add_argument(
        "--recipes",
        metavar="A,B",
        help="repertoires to compare that a tuner chooses from, with + between recipes: "
        "bc+replay_bc,rlpd",
    )
    varied.add_argument(
        "--prompts", metavar="A.md,B.md", help="files to compare that tell programs what to do"
    )
    varied.add_argument(
        "--without",
        metavar="A,B",
        help="tools to leave out, each in an arm beside one with everything: literature, "
        "board, episodes, merges",
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        default=1,
        metavar="N",
        help="campaigns to run of each arm (default 1)",
    )
    parser.add_argument(
        "--episodes",
        type=positive,
        default=300,
        metavar="N",
        help="episodes of each best policy on the common seeds (default 300)",
    )
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="recipe that makes the first policy from the demonstrations (default: as in a loop)",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run agents' programs without a sandbox, with all your rights",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="folder of all runs and the table (default runs/ablate-TASK)",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=1,
        metavar="N",
        help="campaigns to run at one time (default 1)",
    )
    parser.add_argument(
        "--stop-after",
        type=duration,
        metavar="TIME",
        help="time after which it stops; the same command goes on later (default: when all "
        "is done)",
    )
    parser.add_argument("--json", action="store_true", help="print the table last, as JSON")
    campaign.add_settings(parser, "budgets of each campaign (default --max-time 1h)")


def run(options: Namespace) -> int:
    """Run what is missing, print the table, write it; returns the exit code."""
    from enpire.evolution.ablation import comparison
    from enpire.evolution.ablation.ablation import carry_out

    choose_graphics()
    given = options_given(options, campaign.OF_CAMPAIGN)
    limits = options_given(options, campaign.BUDGETS)
    limits = limits or {"max_time": DEFAULT_TIME}
    settings = campaign.settings_of(options, dict(given))
    what, arms = arms_of(options)
    bench = _bench(options, settings, limits, arms)
    until = time.monotonic() + (options.stop_after or math.inf)
    with Children(until, named_secrets()) as children:  # the keys of the arms' agents
        doing = BenchCommands(options, settings, given, limits, children)
        carry_out(bench, doing, options.jobs, lambda text: print(text, flush=True))
    results = comparison.results(bench)
    missing = len(bench.seeds) * len(bench.arms) - len(results)
    if missing:
        print(f"{missing} of {missing + len(results)} campaigns to go: the same command goes on")
    lines = comparison.lines(results)
    if lines:
        _write(bench, lines, HEAD.format(what=what, **_words(options, settings, limits)))
        print(f"{comparison.markdown(lines)}\n\n{bench.folder / TABLE}")
    if options.json:
        print_json({"missing": missing, "arms": comparison.as_json(lines) if lines else []})
    return NOT_REACHED if missing else 0


def arms_of(options: Namespace) -> tuple[str, tuple[AblationArm, ...]]:
    """What is varied, and an arm for each of its values.

    Raises:
        EnpireError: nothing is varied, or two things are; or an arm lacks what it needs.
    """
    from enpire.evolution.ablation.ablation import AblationArm

    said = {name: (getattr(options, name) or "").split(",") for name in VARIED}
    if said["without"] != [""]:
        said["without"] = [EVERYTHING, *said["without"]]
    several = [name for name in VARIED if len(said[name]) > 1]
    if len(several) != 1:
        named = " and ".join(map(flag, several)) if several else "none of " + ", ".join(VARIED)
        raise UsageError(
            f"{named} has several values: vary one thing at a time, so that a difference is of it; "
            "a single value of another holds for all arms"
        )
    (what,) = several
    arms: list[AblationArm] = []
    for value in said[what]:
        one = {name: values[0] for name, values in said.items()} | {what: value}
        name = f"without {value}" if what == "without" and value != EVERYTHING else value
        arms.append(AblationArm(name, _campaign(options, one)))
    return what, tuple(arms)


def _campaign(options: Namespace, one: Mapping[str, str]) -> dict[str, Any]:
    """What the config of an arm's campaigns says, but for the default repertoire."""
    without = "" if one["without"] == EVERYTHING else one["without"]
    asked = Namespace(
        agents=one["agents"].replace("+", ","),
        prompt=Path(one["prompts"]) if one["prompts"] else None,
        without=without,
        no_sandbox=options.no_sandbox,
    )
    return agents.agents_of(asked) | {"repertoire": one["recipes"].replace("+", ",")}


def _bench(
    options: Namespace, settings: LoopSettings, limits: dict[str, Any], arms: Sequence[AblationArm]
) -> AblationBench:
    from dataclasses import replace

    from enpire.evolution.ablation.ablation import AblationBench
    from enpire.evolution.agents.search_space import repertoire
    from enpire.packs.finder import find

    usual = ""
    if not all(arm.campaign["repertoire"] for arm in arms):
        usual = agents.repertoire(settings, stations_for(settings, LocalBackend()))
    chosen = [arm.campaign["repertoire"] or usual for arm in arms]
    for recipes in dict.fromkeys(chosen):
        repertoire(recipes.split(","))  # what is not there costs nothing to find
    arms = [
        replace(arm, campaign={**arm.campaign, "repertoire": recipes})
        for arm, recipes in zip(arms, chosen, strict=True)
    ]
    said = settings.values()
    first = said.pop("seed")
    return AblationBench(
        options.folder or Path("runs") / f"ablate-{find('tasks', settings.task).name}",
        tuple(arms),
        tuple(range(first, first + options.repeat)),
        options.episodes,
        {"settings": said, "budget": limits},
        (program(), *sys.argv[1:]),
    )


@dataclass(frozen=True, slots=True)
class BenchCommands:
    """Runs the parts of a bench as this program's own commands. See `ablation.BenchRunner`."""

    options: Namespace
    settings: LoopSettings
    given: Mapping[str, Any]
    limits: Mapping[str, Any]
    children: Children

    def start(self, seed: int, run: Path) -> None:
        """See `BenchRunner`: a loop of no rounds."""
        words = ["--resume", str(run)]
        if not (run / "config.toml").is_file():
            words = ["--task", self.settings.task, "--seed", str(seed), "--run", str(run)]
            words += _flags({k: v for k, v in self.given.items() if k != "seed"})
            if self.options.recipe is not None:
                words += ["--first-recipe", self.options.recipe]
            for name, text in self.options.gathered[RECIPE].items():
                words += [f"{FIRST}{name}", text]
        self._run(run, ["loop", *words, "--max-rounds", "0"], f"start of seed {seed}")

    def campaign(self, cell: AblationCell) -> None:
        """See `BenchRunner`."""
        words = ["campaign", "--resume", str(cell.run)]
        words += ["--no-sandbox"] if self.options.no_sandbox else []
        self._run(cell.run, [*words, *_flags(self.limits)], str(cell))

    def measure(self, cell: AblationCell, policy: str, drawn: CommonSeeds, folder: Path) -> bool:
        """See `BenchRunner`."""
        words = ["eval", "--policy", f"{cell.run}:{policy}", "--episodes", str(drawn.episodes)]
        where, seen = self.settings.environment, self.settings.vision
        words += ["--seed", str(drawn.entropy), "--robots", str(where.robots)]
        words += ["--reset", where.reset, "--verify", seen.verify]
        return self._run(cell.run, [*words, "--run", str(folder)], str(cell))

    def stop(self) -> None:
        """See `BenchRunner`."""
        self.children.stop()

    def _run(self, run: Path, words: Sequence[str], label: str) -> bool:
        from enpire.evolution.ablation.ablation import LOG

        if not self.children.alone(run):
            return False
        return self.children.run(words, label, run.parent / LOG) is not None


def _flags(of: Mapping[str, Any]) -> list[str]:
    return [word for name, value in of.items() for word in as_option(name, value)]


def _words(
    options: Namespace, settings: LoopSettings, limits: Mapping[str, Any]
) -> dict[str, object]:
    from enpire.observe.result import versions

    return {
        "task": settings.task,
        "command": shlex.join([program(), *sys.argv[1:]]),
        "budget": " ".join(_flags(limits)),
        "robots": settings.environment.robots,
        "episodes": options.episodes,
        "target": settings.evaluation.target,
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }


def _write(bench: AblationBench, lines: Sequence[ArmSummary], head: str) -> None:
    """The table, the same as JSON, and a picture for each thing used."""
    import json

    from enpire.evolution.ablation import comparison
    from enpire.observe.plots import success_against
    from enpire.store.durable import publish_file

    text = head + comparison.markdown(lines) + "\n"
    try:
        for name, (axis, spent) in comparison.USED.items():
            traces = {line.arm: comparison.traces(line, spent) for line in lines}
            if not any(max(trace.at) > 0.0 for some in traces.values() for trace in some):
                continue  # no model, no tokens
            picture = bench.folder / f"{name}.png"
            title = "incumbents on fresh seeds, and the best on common sealed seeds (diamonds)"
            goals = (float(bench.said["settings"]["target"]),)
            success_against(traces, axis, title, goals, picture, steps=True)
            text += f"\n![success against {name}]({picture.name})\n"
    except OSError as error:
        raise EnpireError(f"{error.filename}: {error.strerror}") from error
    publish_file(bench.folder / TABLE, text.encode())
    publish_file(
        bench.folder / DATA, json.dumps(finite(comparison.as_json(lines)), indent=1).encode()
    )
