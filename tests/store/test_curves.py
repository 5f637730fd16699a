"""Training curves as lines of JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.store.curves import (
    CurveReader,
    CurveWriter,
    learner_curve,
    lines_after,
    training_curve,
)


def test_what_is_written_is_read_once(tmp_path: Path) -> None:
    curve, reader = CurveWriter(training_curve(tmp_path, 3)), CurveReader(tmp_path)
    assert reader.read() == []
    curve.add("policy", 0, {"loss": 0.5, "q": 0.25})
    told = [(p.training, p.name, p.step, p.value) for p in reader.read()]
    assert told == [("training-3", "policy/loss", 0, 0.5), ("training-3", "policy/q", 0, 0.25)]
    CurveWriter(learner_curve(tmp_path, 1)).add("online", 2, {"loss": 1.0})
    curve.add("policy", 50, {"loss": float("nan"), "q": 0.125})
    told = [(p.training, p.name, p.step, p.value) for p in reader.read()]
    assert told == [("learner-1", "online/loss", 2, 1.0), ("training-3", "policy/q", 50, 0.125)]


def test_a_training_that_begins_again_is_told_once(tmp_path: Path) -> None:
    path = training_curve(tmp_path, 0)
    for start in (0, 50):  # killed after step 100, begun again from a checkpoint at 50
        for step in range(start, 101, 50):
            CurveWriter(path).add("policy", step, {"loss": 1.0 / (1 + step)})
    assert [point.step for point in CurveReader(tmp_path).read()] == [0, 50, 100]


def test_a_line_that_a_kill_cuts_short_swallows_no_other(tmp_path: Path) -> None:
    path, reader = training_curve(tmp_path, 0), CurveReader(tmp_path)
    CurveWriter(path).add("policy", 0, {"loss": 1.0})
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    assert [point.step for point in reader.read()] == [0]
    CurveWriter(path).add("policy", 50, {"loss": 0.5})
    assert [point.step for point in reader.read()] == [50]


@pytest.mark.parametrize("step", ["1e999", "Infinity", "NaN", '"one"'])
def test_a_line_whose_step_is_none_is_passed_over(tmp_path: Path, step: str) -> None:
    path, reader = training_curve(tmp_path, 0), CurveReader(tmp_path)
    CurveWriter(path).add("policy", 0, {"loss": 1.0})
    with path.open("a") as lines:
        lines.write(
            f'{{"stage": "policy", "step": {step}, "at": 1.5, "values": {{"loss": 0.5}}}}\n'
        )
    CurveWriter(path).add("policy", 50, {"loss": 0.5})
    assert [point.step for point in reader.read()] == [0, 50]


def test_a_curve_that_cannot_be_written_ends_no_training(tmp_path: Path) -> None:
    (tmp_path / "curves").write_text("no folder")
    CurveWriter(training_curve(tmp_path, 0)).add("policy", 0, {"loss": 1.0})
    assert CurveReader(tmp_path).read() == []


def test_lines_of_another_machine_are_copied_once_they_are_whole(tmp_path: Path) -> None:
    there, here = training_curve(tmp_path / "there", 1), training_curve(tmp_path / "here", 1)
    for folder in ("there", "here"):
        (tmp_path / folder).mkdir()
    copied = 0
    for step in range(3):
        CurveWriter(there).add("policy", step, {"loss": float(step)})
        with there.open("ab") as file:
            file.write(b'{"stage": "poli')  # the next line is being written
        lines = lines_after(there, copied)
        CurveWriter(here).append(lines)
        copied += len(lines)
    points = CurveReader(tmp_path / "here").read()
    assert [(p.name, p.step, p.value) for p in points] == [
        ("policy/loss", step, float(step)) for step in range(3)
    ]
    assert lines_after(tmp_path / "nothing", 0) == b""
