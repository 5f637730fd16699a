"""`enpire import lerobot`: a LeRobot dataset as a run of demonstrations."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.commands.bars import leave_bars_out
from enpire.commands.graphics import choose_graphics
from enpire.commands.options import Parser, add_start, task_asked
from enpire.packs.finder import GYM

DESCRIPTION = """\
Make a run of the episodes of a LeRobot dataset, as demonstrations of a task of ours that shows and
is acted on alike. A loop begins with them by --demonstrations-of RUN."""

BATCH = 32  # episodes that are recorded at a time


def add_options(parser: Parser) -> None:
    """The options of `enpire import lerobot`."""
    parser.add_argument("dataset", type=Path, metavar="DIR", help="of the dataset")
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the new run")
    parser.add_argument("--task", required=True, metavar="NAME", help="a task, or gym:ENV_ID")
    add_start(parser)


def run(options: Namespace) -> int:
    """Make it."""
    choose_graphics()
    leave_bars_out()
    from itertools import batched

    from enpire import __version__
    from enpire.datasets import demonstrations
    from enpire.store import Run

    task = task_asked(options)
    name, observation, action = _shape(task)
    source = options.dataset.resolve()
    config = {"enpire": __version__, "import": {"task": task, "from": str(source)}}
    found = demonstrations(options.dataset, name, observation, action)
    with Run.create(options.run, config) as made:
        for some in batched(found, BATCH):
            made.add_episodes(some)
        made.ledger.set_facts({"state": "imported"})
        rows = made.ledger.episodes()
    good = sum(row.outcome == "success" for row in rows)
    print(f"{options.run}: {len(rows)} demonstrations of {name}, {good} of them successes")
    return 0


def _shape(task: str) -> tuple[str, int, int]:
    """A task's name, entries of its observations and of its actions."""
    if task.startswith(GYM):
        from enpire.environment import Order, open_stations

        stations = open_stations(Order(task), 1)
        return stations.name, stations.observation_size, stations.action_size
    from enpire.environment.loading import load_task
    from enpire.packs import find

    loaded = load_task(find("tasks", task))
    return loaded.name, len(loaded.observation_names), loaded.actions.size
