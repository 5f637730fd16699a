"""Cells of a bench of recipes: what they are, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import recipe_table as table
from benchmarks import recipes as bench
from enpire.errors import EnpireError, UsageError
from enpire.store import Run
from tests.benchmarks.recipes import bench_of, evaluated, found
from tests.store.samples import episode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return bench_of(tmp_path)


def test_a_recipe_in_a_file_is_another_once_it_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("one")
    before, beside = bench.cells(tmp_path, ["t"], [str(path), f"good,{path}:lr=1"], [0])
    path.write_text("two")
    (after,) = bench.cells(tmp_path, ["t"], [str(path)], [0])
    assert before != after
    assert before.folder.parent.parent == after.folder.parent.parent == tmp_path / "t"
    assert before.folder != after.folder
    assert before.recipe.startswith("mine@")
    assert (before.schedule, beside.schedule) == (str(path), f"good,{path}")
    assert beside.recipe.endswith(":lr=1")
    with pytest.raises(UsageError, match=r"absent\.py"):
        list(bench.cells(tmp_path, ["t"], ["./absent.py"], [0]))


def test_cells_of_one_seed_come_before_the_next(tmp_path: Path) -> None:
    order = [(c.seed, c.recipe) for c in bench.cells(tmp_path, ["t"], ["a", "b"], [0, 1])]
    assert order == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("state", "over"),
    [("reached", True), ("failed: the disk is full", True), ("interrupted", False)],
)
def test_what_was_cut_short_has_not_ended(folder: Path, state: str, over: bool) -> None:
    one = next(bench.cells(folder, ["t"], ["good"], [0]))
    with Run.open(one.run, writable=True) as run:
        run.ledger.set_facts({"state": state})
    assert bench.ended(one) is over
    assert not bench.ended(next(bench.cells(folder, ["t"], ["absent"], [0])))


def test_all_recipes_begin_with_the_same_episodes(tmp_path: Path) -> None:
    (one,) = bench.cells(tmp_path, ["t"], ["good"], [3])
    first = bench.first_part(one)
    assert first.run == tmp_path / "t" / "start" / "3" / "run"
    settings = {"task": "t", "recipe": "best_of_n", "recipe_settings": {"tries": "3"}}
    config = {"loop": settings, "budget": {"max_rounds": 0}}
    with Run.create(first.run, config) as run:
        run.add_episodes([episode("shown")], [])
        run.ledger.set_facts({"state": "--max-rounds is used up"})
    bench.branched(one, BUDGET)
    assert bench.ended(first)
    assert not bench.ended(one)
    with Run.open(one.run) as run:
        assert [e.id for e in run.episodes()] == ["shown"]
        loop = {"task": "t", "recipe": "good", "recipe_settings": {}}
        assert run.config["loop"] == loop | {"abort": False}
        assert not run.config["budget"]
    bench.require_budget(one, BUDGET)
    with pytest.raises(EnpireError, match="another --folder"):
        bench.require_budget(one, BUDGET | {"max_rounds": 3})


def test_a_cell_may_begin_from_a_flow(tmp_path: Path) -> None:
    plain, flowing = bench.cells(tmp_path, ["t"], ["good", "good:first=flow:lr=1"], [3])
    assert flowing.from_flow
    assert not plain.from_flow
    assert flowing.settings == {"lr": "1"}
    assert not flowing.abort
    assert bench.first_part(flowing).run == tmp_path / "t" / "start:first=flow" / "3" / "run"
    assert bench.first_part(flowing).from_flow


def test_hopeless_episodes_of_a_cell_may_end_early(tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], ["poor,good:abort"], [0])
    assert made.schedule == "poor,good"
    assert made.abort
    start = bench.first_part(made)
    with Run.create(start.run, {"loop": {"task": "t", "recipe": "other", "seed": 0}}):
        pass
    bench.branched(made, BUDGET)
    with Run.open(made.run) as run:
        loop = run.config["loop"]
    assert (loop["recipe"], loop["abort"]) == ("poor,good", True)


def test_a_recipe_may_have_settings(tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], ["good:training.steps=3:abort"], [0])
    assert made.schedule == "good"
    assert made.abort
    start = bench.first_part(made)
    with Run.create(start.run, {"loop": {"task": "t", "recipe": "other", "seed": 0}}):
        pass
    bench.branched(made, BUDGET)
    with Run.open(made.run) as run:
        assert run.config["loop"]["recipe_settings"] == {"training.steps": "3"}


def test_a_cell_counts_once_its_start_is_sealed_too(folder: Path) -> None:
    (one,) = bench.cells(folder, ["t"], ["good"], [0])
    assert bench.read(one) is not None
    (bench.first_part(one).folder / bench.SEALED).unlink()
    assert bench.read(one) is None


@pytest.mark.parametrize("said", ["hard", "abort=no", "soft", "lr=", "first=chunk"])
def test_what_means_nothing_is_named(said: str, tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], [f"good:{said}"], [0])
    with pytest.raises(UsageError, match=f"good:{said}"):
        _ = made.abort


BUDGET: bench.Budget = {"max_time": 2700.0, "max_rounds": None}


def test_what_was_measured_is_kept_for_a_later_session(folder: Path, tmp_path: Path) -> None:
    kept = bench.CellFile(tmp_path / "recipes.json", BUDGET)
    assert kept.load(folder, {"t": "abc"}) == {}
    evaluated(next(bench.cells(folder, ["t"], ["good"], [0])), bench.RETRIED, bench.ATTEMPTS, 100)
    before = [result for line in found(folder) for result in line.results]
    kept.save(before)
    again = kept.load(folder, {"t": "abc"})
    assert list(again) == [result.cell for result in before]
    assert table.markdown(table.lines(again.values())) == table.markdown(found(folder))
    assert kept.load(folder, {"t": "another"}) == {}, "the task is no longer the same"


def test_what_was_measured_under_another_budget_is_no_part_of_the_table(tmp_path: Path) -> None:
    bench.CellFile(tmp_path / "recipes.json", BUDGET).save([])
    with pytest.raises(EnpireError, match=r"another file"):
        bench.CellFile(tmp_path / "recipes.json", BUDGET | {"max_rounds": 3}).load(tmp_path, {})
    (tmp_path / "recipes.json").write_text("{}")
    with pytest.raises(EnpireError, match="no cells"):
        bench.CellFile(tmp_path / "recipes.json", BUDGET).load(tmp_path, {})
