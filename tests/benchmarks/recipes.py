"""Cells of a bench of recipes, from runs written by hand."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import recipe_table as table
from benchmarks import recipes as bench
from enpire.store import LogEntry, RoundRow, Run
from enpire.types import Outcome, Purpose, Verdict
from tests.store.samples import episode

PACKS = json.dumps({"tasks/t": "abc", "sim/bench": "def"})
LOST = Verdict(Outcome.FAILURE)


def cell(folder: Path, recipe: str, seed: int, won: int, rounds: list[tuple[int, int]]) -> None:
    """A run of ten seconds of robot time an episode: its start, its rounds, its sealed success."""
    (made,) = bench.cells(folder, ["t"], [recipe], [seed])
    first = {"policy": "policy-0", "round": 0, "purpose": Purpose.EVALUATION}
    shown = episode("shown", round=0, policy="expert", purpose=Purpose.DEMONSTRATION)
    tried = [episode(f"e{i}", **first, **({} if i < 40 else {"verdict": LOST})) for i in range(80)]
    config = {"loop": {"task": "t", "seed": seed, "target": 0.99, "sealed_episodes": 300}}
    with Run.create(made.run, config) as run:
        run.add_episodes([shown, *tried], [])
        for number, (successes, trials) in enumerate(rounds, 1):
            run.ledger.put_round(
                RoundRow(number, f"policy-{number}", successes, trials, robot_s=number * 3600.0)
            )
            note = LogEntry(number, "trained", "", numbers={"seconds": 20.0})
            run.ledger.add_decision(note)
        facts = {"state": "--max-rounds is used up", "wall_s": "90.0", "packs": PACKS}
        run.ledger.set_facts(facts)
    evaluated(made, bench.SEALED, 1, won)
    begun = bench.first_part(made)
    begun.folder.mkdir(parents=True, exist_ok=True)
    evaluated(begun, bench.SEALED, 1, 50)


def evaluated(cell: bench.RecipeCell, name: str, attempts: int, won: int) -> None:
    """Its last incumbent, on a hundred seeds."""
    passed = {str(attempts): {"success": won / 100, "n": 100}}
    (cell.folder / name).write_text(json.dumps({"pass_at": passed}))


def found(folder: Path) -> list[table.RecipeLine]:
    cells = bench.cells(folder, ["t"], ["poor,good", "good", "absent"], [0, 1])
    return table.lines(result for each in cells if (result := bench.read(each)) is not None)


def bench_of(tmp_path: Path) -> Path:
    """Two seeds of one recipe and one of another."""
    cell(tmp_path, "good", 0, 99, [(93, 100), (199, 200)])
    cell(tmp_path, "good", 1, 97, [(50, 50), (95, 100)])
    cell(tmp_path, "poor,good", 0, 52, [(55, 100)])
    return tmp_path
