"""`enpire bench recipes`: every recipe on the same tasks, from the same start, one table."""

from __future__ import annotations

import math
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.helpers.children import Children
from enpire.cli.options.parser import Parser, print_json
from enpire.errors import EnpireError, LockedError, UsageError
from enpire.option_values import duration, more_than_zero, natural, positive

if TYPE_CHECKING:
    from benchmarks.recipe_table import RecipeLine
    from benchmarks.recipes import Budget, CellFile, CellResult, RecipeCell

TASKS = "pick_cube,zip_tie,pin_box,push_t"
FLOW = "bc:policy=flow"  # bc has made the first policy; what it makes of another kind
ELSEWHERE = ("bc", "finetune", "specialist")  # the last two need a policy of LeRobot's
HEAD = """\
# Recipes

What `enpire bench recipes` measured follows. Each recipe has the same first policy (the seed's) and
the same budget of {budget}, with {robots} stations.

- *start* is the first policy, and *sealed* the last incumbent, each on seeds drawn after it was
  frozen. Starts of cells that were kept from earlier are the run's own evaluation. Both are means
  over a recipe's runs, and the starts are those of the same runs.
- *each seed* has each run's rate. It tells how runs differ, while intervals are of episodes.
- *raised* says that the interval lies above that of the start.
- *pass@8* is of the last incumbent on other seeds, where an episode may make up to eight attempts,
  each from where the last one has led.
- *Robot-hours*, sealed evaluations apart, count until an incumbent's own evaluations (60 or more;
  the last one's sealed ones) were at 90% and 99%. They are medians of runs whose sealed success is
  too, with the number of these runs where it is not all.
- *training*, of the first policy too, and *on the clock* are medians over all runs, on a machine
  that may have had other work.

A recipe's settings, where they are not its own, follow its name. *first=flow* begins from a flow of
bc's. Versions: {versions}.

Recipes of flows (`replay_bc`, `dsrl`, `recover`) replace a first policy of another kind
by a cloned flow in their first round. Where the budget ends soon after, as at `push_t`, their rate
is that of cloning (`bc:policy=flow`), and says nothing of what they learn further.

"""


def add_options(parser: Parser) -> None:
    """The options of `enpire bench recipes`."""
    group = parser.add_argument_group("recipes")
    group.add_argument(
        "--tasks", metavar="A,B", default=TASKS, help=f"tasks to run (default {TASKS})"
    )
    group.add_argument(
        "--recipes",
        metavar="A,B",
        help="recipes to compare: a+b is a schedule, a:lr=3e-4 has a setting, a:abort ends "
        "hopeless episodes early, a:first=flow begins at a flow (default: all that go "
        "on from what bc makes)",
    )
    group.add_argument(
        "--seeds",
        metavar="A,B",
        default="0,1,2",
        help="seeds to run each recipe with (default 0,1,2)",
    )
    group.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        default=Path("runs/recipes"),
        help="folder of all runs (default runs/recipes)",
    )
    group.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        default=2700.0,
        help="longest time of a run on the clock (default 45m)",
    )
    group.add_argument(
        "--max-robot-hours",
        type=more_than_zero,
        metavar="H",
        default=5.0,
        help="robot time of a run [hours] (default 5)",
    )
    group.add_argument(
        "--max-rounds", type=natural, metavar="N", help="most rounds of a run (default: no limit)"
    )
    group.add_argument(
        "--collect",
        type=positive,
        metavar="N",
        help="episodes that a round collects (default: the loop's)",
    )
    group.add_argument(
        "--episodes",
        type=positive,
        metavar="N",
        default=300,
        help="episodes of a sealed evaluation (default 300)",
    )
    group.add_argument(
        "--retried",
        type=natural,
        metavar="N",
        default=100,
        help="episodes with retries, for pass@8 of the last policy (default 100)",
    )
    group.add_argument(
        "--stop-after",
        type=duration,
        metavar="TIME",
        help="time after which the bench stops; the same command goes on later (default: "
        "when all is done)",
    )
    group.add_argument(
        "--write",
        type=Path,
        metavar="FILE.md",
        help="file for the table; plots, and FILE.json of finished runs, go beside it",
    )


def run(options: Namespace) -> int:
    """Run what is missing, print the table, write it where asked."""
    from benchmarks import recipe_table as table
    from benchmarks import recipes as bench
    from enpire.improvement import recipe_finding as recipes
    from enpire.packs import available, find

    tasks = options.tasks.split(",")
    packs = {task: find("tasks", task).sha256 for task in (*tasks, *available("tasks"))}
    usual = [FLOW, *(name for name in recipes.names() if name not in ELSEWHERE)]
    chosen = options.recipes.split(",") if options.recipes else usual
    chosen = [name.replace("+", ",") for name in chosen]
    try:
        seeds = [natural(text) for text in options.seeds.split(",")]
    except ArgumentTypeError:
        raise UsageError(f"--seeds {options.seeds}: whole numbers, such as 0,1,2") from None
    until = time.monotonic() + (options.stop_after or math.inf)
    cells = list(bench.cells(options.folder, tasks, chosen, seeds))
    for cell in cells:
        _ = cell.abort
        recipes.schedule(cell.schedule, cell.settings)
    kept = (
        bench.CellFile(options.write.with_suffix(".json"), _budget(options))
        if options.write
        else None
    )
    results = kept.load(options.folder, packs) if kept else {}
    with Children(until) as children:
        for cell in cells:
            if cell in results and not _lacks(results[cell], options):
                continue
            if time.monotonic() < until:
                _complete(cell, options, children)
            said = bench.read(cell)
            if said is not None and said.pack == packs[cell.task]:
                print(f"{cell}: {said.start} to {said.sealed} sealed, {said.ended}", flush=True)
                results = added(said, results, kept, options.folder, packs)
    missing = sum(cell not in results for cell in cells)
    if missing:
        print(f"{missing} of {len(cells)} runs to go: the same command goes on")
    lines = table.lines(results.values())
    print(table.markdown(lines))
    if options.write is not None:
        _write(options, lines)
    if options.json:
        print_json({"lines": table.as_json(lines)})
    return 0


def added(
    said: CellResult,
    results: dict[RecipeCell, CellResult],
    kept: CellFile | None,
    folder: Path,
    packs: dict[str, str],
) -> dict[RecipeCell, CellResult]:
    """The results with one more, kept; what another bench has kept meanwhile is among them."""
    if kept is None:
        return results | {said.cell: said}
    results = results | kept.load(folder, packs) | {said.cell: said}
    kept.save(results.values())
    return results


def _lacks(result: CellResult, options: Namespace) -> bool:
    """Whether more episodes are asked for than were measured, and can be: the run is here."""
    retried = 0 if result.retried is None else result.retried.trials
    few = min(result.start.trials, result.sealed.trials) < options.episodes
    return (few or retried < options.retried) and result.cell.run.exists()


def _budget(options: Namespace) -> Budget:
    names = ("max_time", "max_robot_hours", "max_rounds", "robots")
    found = {name: getattr(options, name) for name in names}
    return found if options.collect is None else found | {"collect": options.collect}


def _complete(cell: RecipeCell, options: Namespace, children: Children) -> None:
    """Begin a cell, or go on with it, until it has its sealed evaluation or time is up.

    What it begins with is waited for where another bench is at it, a cell is left to that one.
    """
    from benchmarks import recipes as bench

    first = bench.first_part(cell)
    with _taken(first.folder, children) as ours:
        if ours and not bench.ended(first):
            _loop(first, options, ["--max-rounds", "0"], children)
        if not (ours and bench.ended(first)):
            return
        _measure(first, bench.SEALED, 1, options.episodes, options, children)
        if cell.run.exists():
            bench.require_budget(cell, _budget(options))
        else:
            bench.branched(cell, _budget(options))
    with _taken(cell.folder) as ours:
        if not ours:
            print(f"{cell}: another bench is at it", flush=True)
            return
        if not bench.ended(cell):
            _loop(cell, options, _limits(options), children)
        if bench.ended(cell):
            _measure(cell, bench.SEALED, 1, options.episodes, options, children)
            _measure(cell, bench.RETRIED, bench.ATTEMPTS, options.retried, options, children)


@contextmanager
def _taken(folder: Path, waiting: Children | None = None) -> Iterator[bool]:
    """Have a folder to oneself among benches, or not: which of both is given.

    waiting: until another bench has ended what it does there, or time is up.
    """
    from enpire.store.durable import disk_errors
    from enpire.store.layout import LOCK
    from enpire.store.lock import WriterLock

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock: WriterLock | None = None
    while lock is None and (waiting is None or waiting.alone(folder)):
        with suppress(LockedError):
            lock = WriterLock(folder / LOCK)
        if waiting is None:
            break
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def _measure(
    cell: RecipeCell, name: str, attempts: int, asked: int, options: Namespace, children: Children
) -> None:
    """Evaluate what its run has ended with, on seeds drawn now, until so many were judged.

    name: of the file that says so. How many are added hangs on how many there are, not on how they
    went.
    """
    from benchmarks import recipes as bench

    missing = asked - bench.measured(cell, name, attempts).trials
    if missing > 0:
        words = ["eval", "--policy", str(cell.run), "--episodes", str(missing)]
        words += ["--attempts", str(attempts)] if attempts > 1 else []
        words += ["--robots", str(options.robots), "--json"]
        text = children.run(words, str(cell), cell.folder / bench.LOG)
        if text is not None:
            bench.add(cell, name, text.rstrip().splitlines()[-1])


def _limits(options: Namespace) -> list[str]:
    words = ["--max-time", f"{options.max_time:g}s"]
    words += ["--max-robot-hours", f"{options.max_robot_hours:g}"]
    if options.max_rounds is not None:
        words += ["--max-rounds", str(options.max_rounds)]
    return words


def _loop(cell: RecipeCell, options: Namespace, limits: Sequence[str], children: Children) -> None:
    """Begin the cell's run, or go on with it; first a child of a bench that was killed may end."""
    from benchmarks.recipes import LOG, ended

    if not children.alone(cell.run) or ended(cell):
        return
    if (cell.run / "config.toml").is_file():
        words = ["--resume", str(cell.run)]
    else:
        words = ["--task", cell.task, "--recipe", cell.schedule, "--seed", str(cell.seed)]
        words += ["--robots", str(options.robots), "--run", str(cell.run)]
        words += ["--sealed-episodes", str(options.episodes)]
        if cell.from_flow:  # for as long as is usual for it, whatever the task's network takes
            words += ["--first-recipe.policy", "flow", "--first-recipe.training.steps", "0"]
        if options.collect is not None:
            words += ["--collect", str(options.collect)]
    children.run(["loop", *words, *limits], str(cell), cell.folder / LOG)


def _write(options: Namespace, lines: Sequence[RecipeLine]) -> None:
    from benchmarks import recipe_table as table
    from benchmarks.recipe_plots import success_against_hours
    from enpire.observe.result import versions

    path: Path = options.write
    images = path.parent / "img"
    budget = f"{options.max_robot_hours:g} robot-hours and {options.max_time / 60:g} min a run"
    if options.max_rounds is not None:
        budget += f" ({options.max_rounds} rounds)"
    found = ", ".join(f"{name} {version}" for name, version in versions().items())
    head = HEAD.format(budget=budget, robots=options.robots, versions=found)
    try:
        images.mkdir(parents=True, exist_ok=True)
        text = head + table.markdown(lines)
        for task in dict.fromkeys(line.task for line in lines):
            picture = images / f"recipes-{task}.png"
            success_against_hours([line for line in lines if line.task == task], picture)
            text = text.replace(f"## {task}\n", f"## {task}\n\n![{task}](img/{picture.name})\n")
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnpireError(f"{error.filename or path}: {error.strerror}") from error
