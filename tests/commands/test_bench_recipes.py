"""`enpire bench recipes`: what it runs, in which order, and what it does not run again."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from enpire.commands import bench_recipes
from enpire.commands.children import Children
from enpire.observe import recipe_bench as bench
from enpire.store import Run
from tests.store.samples import episode

OPTIONS = Namespace(
    max_time=60.0, max_robot_hours=1.0, max_rounds=2, episodes=5, robots=2, collect=None
)
LIMITS = "--max-time 60s --max-robot-hours 1 --max-rounds 2"
OVER = {"state": "--max-rounds is used up", "packs": "{}"}


class Pretended(Children):
    """Loops that end at once, and evaluations of which four of five succeed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def run(self, words: Sequence[str], label: str, log: Path) -> str:
        self.asked.append(" ".join(words))
        said = dict(pairwise(words))
        if "--run" in said:
            config = {"loop": {"task": "t", "recipe": "good", "seed": 0, "target": 0.99}}
            with Run.create(Path(said["--run"]), config) as run:
                run.add_episodes([episode("shown")], [])
                run.ledger.set_facts(OVER)
        elif "--resume" in said:
            with Run.open(Path(said["--resume"]), writable=True) as run:
                run.ledger.set_facts(OVER)
        return f"some text\n{json.dumps({'successes': 4, 'n': 5})}\n"


def test_a_start_is_run_and_sealed_once_for_all_its_cells(tmp_path: Path) -> None:
    children = Pretended()
    first, second = bench.cells(tmp_path, ["t"], ["good", "other:lr=1"], [0])
    start = bench.first_part(first).run
    sealed = "eval --policy {} --episodes 5 --robots 2 --json"
    bench_recipes._complete(first, OPTIONS, children)
    bench_recipes._complete(second, OPTIONS, children)
    assert children.asked == [
        f"loop --task t --recipe good --seed 0 --robots 2 --run {start} --sealed-episodes 5 "
        "--max-rounds 0",
        sealed.format(start),
        f"loop --resume {first.run} {LIMITS}",
        sealed.format(first.run),
        f"loop --resume {second.run} {LIMITS}",
        sealed.format(second.run),
    ]
    said = bench.read(second)
    assert said is not None
    assert (said.start.trials, said.sealed.successes) == (5, 4)
    bench_recipes._complete(second, OPTIONS, children)
    assert len(children.asked) == 6, "all of it is there"


def test_what_another_bench_has_ended_meanwhile_is_not_begun_again(tmp_path: Path) -> None:
    children = Pretended()
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    with Run.create(cell.run, {"loop": {}}) as run:
        run.ledger.set_facts({"state": "reached"})
    bench_recipes._loop(cell, OPTIONS, [], children)
    assert not children.asked
