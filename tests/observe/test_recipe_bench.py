"""Recipes side by side, from runs written by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from enpire.errors import EnpireError, UsageError
from enpire.observe import recipe_bench as bench
from enpire.observe.plots import success_against_hours
from enpire.rollout.spending import Spending
from enpire.store import Decision, RoundRow, Run
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
            note = Decision(number, "trained", "", numbers={"seconds": 20.0})
            run.ledger.add_decision(note)
        facts = {"state": "--max-rounds is used up", "wall_s": "90.0", "packs": PACKS}
        run.ledger.set_facts(facts)
    evaluated(made, bench.SEALED, 1, won)
    begun = bench.first_part(made)
    begun.folder.mkdir(parents=True, exist_ok=True)
    evaluated(begun, bench.SEALED, 1, 50)


def evaluated(cell: bench.Cell, name: str, attempts: int, won: int) -> None:
    """Its last incumbent, on a hundred seeds."""
    passed = {str(attempts): {"success": won / 100, "n": 100}}
    (cell.folder / name).write_text(json.dumps({"pass_at": passed}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cell(tmp_path, "good", 0, 99, [(93, 100), (199, 200)])
    cell(tmp_path, "good", 1, 97, [(50, 50), (95, 100)])
    cell(tmp_path, "poor,good", 0, 52, [(55, 100)])
    return tmp_path


def found(folder: Path) -> list[bench.Line]:
    cells = bench.cells(folder, ["t"], ["poor,good", "good", "absent"], [0, 1])
    return bench.lines(result for each in cells if (result := bench.read(each)) is not None)


def test_the_best_recipe_comes_first_and_says_what_it_took(folder: Path) -> None:
    good, poor = found(folder)
    assert (good.recipe, poor.recipe) == ("good", "poor,good")
    assert (good.sealed.successes, good.sealed.trials) == (196, 200)
    assert (good.start.successes, good.start.trials) == (100, 200), "sealed, not the run's own"
    assert good.raised
    assert not poor.raised
    assert good.hours_to(0.9) == (1.5, 2)  # 50 evaluations of 50 are too few to tell
    assert good.hours_to(0.99) == (2.0, 1)
    assert good.results[1].hours_to(0.96) == 2.0  # by its sealed evaluation
    assert poor.hours_to(0.9) == (None, 0)
    assert good.results[0].curve[0][0] == pytest.approx(81 * 3.5 / 3600)
    assert good.results[0].training_s == 40.0


def test_the_table_counts_what_did_not_get_there(folder: Path) -> None:
    text = bench.markdown(found(folder))
    assert "## t" in text
    good = next(line for line in text.splitlines() if line.startswith("| `good`"))
    assert "0.980 [0.950, 0.995] of 200 | 0.990, 0.970 | yes | - | 1.50 | 2.00 (1 of 2)" in good
    poor = next(line for line in text.splitlines() if line.startswith("| `poor,good`"))
    assert "| no | - | - | - | 20 s | 1.5 min |" in poor
    assert [line["recipe"] for line in bench.as_json(found(folder))] == ["good", "poor,good"]


def test_what_retries_come_to_stands_beside_the_first_attempt(folder: Path) -> None:
    first, _ = bench.cells(folder, ["t"], ["good"], [0, 1])
    evaluated(first, bench.RETRIED, bench.ATTEMPTS, 100)
    good, _ = found(folder)
    assert good.results[1].retried is None
    assert (good.retried.successes, good.retried.trials) == (100, 100), "of the run that has it"
    row = next(line for line in bench.markdown([good]).splitlines() if "`good`" in line)
    assert "| yes | 1.000 [0.964, 1.000] of 100 | 1.50 |" in row
    kept = bench.Kept(folder / "recipes.json", BUDGET)
    kept.save(good.results)
    again = kept.load(folder, {"t": "abc"})
    assert [result.retried for result in again.values()] == [r.retried for r in good.results]


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
    settings = {"task": "t", "recipe": "lookahead", "recipe_settings": {"tries": "3"}}
    config = {"loop": settings, "budget": {"max_rounds": 0}}
    with Run.create(first.run, config) as run:
        run.add_episodes([episode("shown")], [])
        run.ledger.set_facts({"state": "--max-rounds is used up"})
    bench.branched(one)
    assert bench.ended(first)
    assert not bench.ended(one)
    with Run.open(one.run) as run:
        assert [e.id for e in run.episodes()] == ["shown"]
        loop = {"task": "t", "recipe": "good", "recipe_settings": {}}
        assert run.config["loop"] == loop | asdict(Spending())
        assert not run.config["budget"]


def test_a_recipe_may_spend_its_episodes_otherwise(tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], ["poor,good:abort:hard=0.25"], [0])
    assert made.schedule == "poor,good"
    assert made.spending == Spending(abort=True, hard=0.25)
    start = bench.first_part(made)
    with Run.create(start.run, {"loop": {"task": "t", "recipe": "other", "seed": 0}}):
        pass
    bench.branched(made)
    with Run.open(made.run) as run:
        loop = run.config["loop"]
    assert (loop["recipe"], loop["abort"], loop["allocate"]) == ("poor,good", True, False)
    assert loop["hard"] == 0.25


def test_a_recipe_may_have_settings(tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], ["good:training.steps=3:abort"], [0])
    assert made.schedule == "good"
    assert made.spending == Spending(abort=True)
    start = bench.first_part(made)
    with Run.create(start.run, {"loop": {"task": "t", "recipe": "other", "seed": 0}}):
        pass
    bench.branched(made)
    with Run.open(made.run) as run:
        assert run.config["loop"]["recipe_settings"] == {"training.steps": "3"}


def test_a_cell_counts_once_its_start_is_sealed_too(folder: Path) -> None:
    (one,) = bench.cells(folder, ["t"], ["good"], [0])
    assert bench.read(one) is not None
    (bench.first_part(one).folder / bench.SEALED).unlink()
    assert bench.read(one) is None


@pytest.mark.parametrize("said", ["hard", "hard=2", "abort=no", "soft", "lr="])
def test_what_spends_nothing_is_named(said: str, tmp_path: Path) -> None:
    (made,) = bench.cells(tmp_path, ["t"], [f"good:{said}"], [0])
    with pytest.raises(UsageError, match=f"good:{said}"):
        _ = made.spending


def test_a_plot(folder: Path, tmp_path: Path) -> None:
    success_against_hours(found(folder), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


BUDGET: dict[str, float | None] = {"max_time": 2700.0, "max_rounds": None}


def test_what_was_measured_is_kept_for_a_later_session(folder: Path, tmp_path: Path) -> None:
    kept = bench.Kept(tmp_path / "recipes.json", BUDGET)
    assert kept.load(folder, {"t": "abc"}) == {}
    before = [result for line in found(folder) for result in line.results]
    kept.save(before)
    again = kept.load(folder, {"t": "abc"})
    assert list(again) == [result.cell for result in before]
    assert bench.markdown(bench.lines(again.values())) == bench.markdown(found(folder))
    assert kept.load(folder, {"t": "another"}) == {}, "the task is no longer the same"


def test_what_was_measured_under_another_budget_is_no_part_of_the_table(tmp_path: Path) -> None:
    bench.Kept(tmp_path / "recipes.json", BUDGET).save([])
    with pytest.raises(EnpireError, match=r"another file"):
        bench.Kept(tmp_path / "recipes.json", BUDGET | {"max_rounds": 3}).load(tmp_path, {})
    (tmp_path / "recipes.json").write_text("{}")
    with pytest.raises(EnpireError, match="no cells"):
        bench.Kept(tmp_path / "recipes.json", BUDGET).load(tmp_path, {})
