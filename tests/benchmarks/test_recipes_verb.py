"""`enpire bench recipes`: what it runs, in which order, and what it does not run again."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from benchmarks import recipes as bench
from benchmarks.verbs import recipes
from enpire.cli.helpers.children import Children
from enpire.store import Run
from tests.store.samples import episode

OPTIONS = Namespace(
    max_time=60.0,
    max_robot_hours=1.0,
    max_rounds=2,
    episodes=5,
    retried=3,
    robots=2,
    collect=None,
)
LIMITS = "--max-time 60s --max-robot-hours 1 --max-rounds 2"
OVER = {"state": "--max-rounds is used up", "packs": "{}"}


class Pretended(Children):
    """Loops that end at once, and evaluations of which all but one succeed."""

    def __init__(self, until: float = math.inf) -> None:
        super().__init__(until)
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
        n = int(said.get("--episodes", "1"))
        passed = {said.get("--attempts", "1"): {"success": (n - 1) / n, "n": n}}
        return f"some text\n{json.dumps({'pass_at': passed})}\n"


def test_a_start_is_run_and_sealed_once_for_all_its_cells(tmp_path: Path) -> None:
    children = Pretended()
    first, second = bench.cells(tmp_path, ["t"], ["good", "other:lr=1"], [0])
    start = bench.first_part(first).run
    sealed = "eval --policy {} --episodes 5 --robots 2 --json"
    retried = "eval --policy {} --episodes 3 --attempts 8 --robots 2 --json"
    recipes._complete(first, OPTIONS, children)
    recipes._complete(second, OPTIONS, children)
    assert children.asked == [
        f"loop --task t --recipe good --seed 0 --robots 2 --run {start} --sealed-episodes 5 "
        "--max-rounds 0",
        sealed.format(start),
        f"loop --resume {first.run} {LIMITS}",
        sealed.format(first.run),
        retried.format(first.run),
        f"loop --resume {second.run} {LIMITS}",
        sealed.format(second.run),
        retried.format(second.run),
    ]
    said = bench.read(second)
    assert said is not None
    assert (said.start.trials, said.sealed.successes) == (5, 4)
    assert said.retried is not None
    assert (said.retried.successes, said.retried.trials) == (2, 3)
    recipes._complete(second, OPTIONS, children)
    assert len(children.asked) == 8, "all of it is there"


def test_a_start_that_flows_is_cloned_for_as_long_as_is_usual(tmp_path: Path) -> None:
    children = Pretended()
    (cell,) = bench.cells(tmp_path, ["t"], ["good:first=flow"], [0])
    recipes._complete(cell, OPTIONS, children)
    assert "--first-recipe.policy flow --first-recipe.training.steps 0" in children.asked[0]
    assert children.asked[2] == f"loop --resume {cell.run} {LIMITS}"


def test_two_benches_that_write_to_one_file_keep_each_others_cells(tmp_path: Path) -> None:
    kept = bench.CellFile(tmp_path / "table.json", {})
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    recipes._complete(cell, OPTIONS, Pretended())
    said = bench.read(cell)
    assert said is not None
    kept.save([said])
    (other,) = bench.cells(tmp_path, ["t"], ["other"], [0])
    results = recipes.added(replace(said, cell=other), {}, kept, tmp_path, {"t": said.pack})
    assert set(results) == {cell, other}
    assert set(kept.load(tmp_path, {"t": said.pack})) == {cell, other}


def test_what_another_bench_is_at_is_left_to_it(tmp_path: Path) -> None:
    children = Pretended()
    first, second = bench.cells(tmp_path, ["t"], ["good", "other"], [0])
    with recipes._taken(first.folder):
        recipes._complete(first, OPTIONS, children)
        assert not any(str(first.run) in asked for asked in children.asked)
        recipes._complete(second, OPTIONS, children)
    assert bench.read(first) is None
    assert bench.read(second) is not None
    recipes._complete(first, OPTIONS, children)
    assert bench.read(first) is not None


def test_a_start_that_another_bench_is_at_is_waited_for(tmp_path: Path) -> None:
    children = Pretended(until=0.0)
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    with recipes._taken(bench.first_part(cell).folder):
        recipes._complete(cell, OPTIONS, children)
    assert not children.asked, "until time was up"


def test_what_another_bench_has_ended_meanwhile_is_not_begun_again(tmp_path: Path) -> None:
    children = Pretended()
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    with Run.create(cell.run, {"loop": {}}) as run:
        run.ledger.set_facts({"state": "reached"})
    recipes._loop(cell, OPTIONS, [], children)
    assert not children.asked


def test_more_episodes_are_added_to_those_there_are(tmp_path: Path) -> None:
    children = Pretended()
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    recipes._complete(cell, OPTIONS, children)
    del children.asked[:]
    more = Namespace(**vars(OPTIONS) | {"episodes": 12})
    said = bench.read(cell)
    assert said is not None
    assert not recipes._lacks(said, OPTIONS)
    assert recipes._lacks(said, more)
    recipes._complete(cell, more, children)
    runs = (bench.first_part(cell).run, cell.run)
    assert children.asked == [f"eval --policy {r} --episodes 7 --robots 2 --json" for r in runs]
    said = bench.read(cell)
    assert said is not None
    assert (said.start.successes, said.start.trials) == (4 + 6, 12)
    assert (said.sealed.successes, said.sealed.trials) == (4 + 6, 12)
    assert not recipes._lacks(said, more)


def test_retries_are_measured_where_the_run_is_still_there(tmp_path: Path) -> None:
    children = Pretended()
    (cell,) = bench.cells(tmp_path, ["t"], ["good"], [0])
    recipes._complete(cell, Namespace(**vars(OPTIONS) | {"retried": 0}), children)
    said = bench.read(cell)
    assert said is not None
    assert said.retried is None
    assert recipes._lacks(said, OPTIONS)
    recipes._complete(cell, OPTIONS, children)
    assert children.asked[-1].startswith(f"eval --policy {cell.run} --episodes 3 --attempts 8")
    said = bench.read(cell)
    assert said is not None
    assert not recipes._lacks(said, OPTIONS)
    (gone,) = bench.cells(tmp_path / "elsewhere", ["t"], ["good"], [0])
    assert not recipes._lacks(replace(said, cell=gone, retried=None), OPTIONS)
