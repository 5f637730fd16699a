"""What recipes came to, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import recipe_table as table
from benchmarks import recipes as bench
from benchmarks.recipe_plots import success_against_hours
from tests.benchmarks.recipes import bench_of, evaluated, found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return bench_of(tmp_path)


def test_the_best_recipe_comes_first_and_says_what_it_took(folder: Path) -> None:
    good, poor = found(folder)
    assert (good.recipe, poor.recipe) == ("good", "poor,good")
    assert (good.sealed.rate, good.sealed.trials) == (0.98, 200)
    assert (good.start.rate, good.start.trials) == (0.5, 200), "sealed, not the run's own"
    assert good.raised
    assert not poor.raised
    assert good.hours_to(0.9) == (1.5, 2)  # 50 evaluations of 50 are too few to tell
    assert good.hours_to(0.99) == (2.0, 1)
    assert good.results[1].hours_to(0.96) == 2.0  # by its sealed evaluation
    assert good.results[1].hours_to(0.98) is None, "what went well may not last"
    assert poor.hours_to(0.9) == (None, 0)
    assert good.results[0].curve[0][0] == pytest.approx(81 * 3.5 / 3600)
    assert good.results[0].training_s == 40.0


def test_the_table_counts_what_did_not_get_there(folder: Path) -> None:
    text = table.markdown(found(folder))
    assert "## t" in text
    good = next(line for line in text.splitlines() if line.startswith("| `good`"))
    assert "0.980 [0.945, 0.993] of 200 | 0.990, 0.970 | yes | - | 1.50 | 2.00 (1 of 2)" in good
    poor = next(line for line in text.splitlines() if line.startswith("| `poor,good`"))
    assert "| no | - | - | - | 20 s | 1.5 min |" in poor
    assert [line["recipe"] for line in table.as_json(found(folder))] == ["good", "poor,good"]


def test_all_tasks_are_told_together(folder: Path) -> None:
    good, poor = found(folder)
    elsewhere = replace(good, task="u", results=good.results[:1])
    text = table.markdown([good, poor, elsewhere]).splitlines()
    assert text[0] == "## All tasks"
    assert text[2:6] == [
        "| from start to sealed, bold where raised | t | u | raised |",
        "|---|---|---|---|",
        "| `good` | 0.500 → **0.980** | 0.500 → **0.990** | 2 of 2 |",
        "| `poor,good` | 0.500 → 0.520 | - | 0 of 1 |",
    ]
    assert "## All tasks" not in table.markdown([good, poor]), "of one task"


def test_what_retries_come_to_stands_beside_the_first_attempt(folder: Path) -> None:
    first, _ = bench.cells(folder, ["t"], ["good"], [0, 1])
    evaluated(first, bench.RETRIED, bench.ATTEMPTS, 100)
    good, _ = found(folder)
    assert good.results[1].retried is None
    assert (good.retried.rate, good.retried.trials) == (1.0, 100), "of the run that has it"
    row = next(line for line in table.markdown([good]).splitlines() if "`good`" in line)
    assert "| yes | 1.000 [0.964, 1.000] of 100 | 1.50 |" in row


def test_a_plot(folder: Path, tmp_path: Path) -> None:
    success_against_hours(found(folder), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
