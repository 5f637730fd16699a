"""Charts: pure functions whose drawings hold every number they were given."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from enpire.observe.report.conditions import ConditionMap
from enpire.observe.report.drawing import svg
from enpire.observe.report.drawing.comparison_chart import comparison_chart
from enpire.observe.report.drawing.condition_chart import condition_chart
from enpire.observe.report.drawing.experiment_chart import experiment_chart, shortened
from enpire.observe.report.drawing.margin_chart import margin_chart
from enpire.observe.report.drawing.success_chart import success_chart
from enpire.observe.report.drawing.utilisation_chart import utilisation_chart
from enpire.observe.report.experiments import ExperimentNode
from enpire.observe.report.failures import PredicateMargins
from enpire.observe.report.success import MeasurementKind, SuccessCurve, SuccessPoint
from enpire.observe.report.utilisation import StationTimeline, Utilisation
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import Phase


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.0, 1.0, 6, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 0.7, 5, [0.0, 0.2, 0.4, 0.6]),
        (-0.3, 0.3, 5, [-0.2, 0.0, 0.2]),
        (3.0, 3.0, 5, [3.0]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, most: int, expected: list[float]) -> None:
    assert svg.ticks(low, high, most) == pytest.approx(expected)


def test_tick_texts_have_the_digits_their_axis_needs() -> None:
    assert [svg.tick_text(v, (0.0, 0.05)) for v in (0.0, 0.05)] == ["0.00", "0.05"]
    assert [svg.tick_text(v, (0.0, 50.0)) for v in (0.0, 50.0)] == ["0", "50"]


def test_words_are_escaped() -> None:
    text = svg.drawing(10, 10, 'a "b" <c>', [svg.label(0, 0, "<&>")])
    root = ET.fromstring(text)
    assert root.get("aria-label") == 'a "b" <c>'
    assert root[0].text == "<&>"


def test_success_marks_evaluations_and_sealed_ones_differently() -> None:
    points = (
        SuccessPoint("policy-0", MeasurementKind.INCUMBENT, 3600.0, estimate(5, 10)),
        SuccessPoint("policy-1", MeasurementKind.INCUMBENT, 7200.0, estimate(9, 10)),
        SuccessPoint("policy-2", MeasurementKind.CANDIDATE, 9000.0, estimate(7, 10)),
        SuccessPoint("policy-1", MeasurementKind.SEALED, 7200.0, estimate(99, 100), passed=True),
    )
    text = success_chart(SuccessCurve(points, (), 0.95, 9000.0), 800.0)
    root = ET.fromstring(text)
    classes = [node.get("class") for node in root.iter() if "mark" in (node.get("class") or "")]
    assert sorted(filter(None, classes)) == [
        "mark candidate",
        "mark incumbent",
        "mark incumbent",
        "mark sealed passed",
    ]
    titles = [node.text for node in root.iter("title")]
    assert f"policy-1, sealed: {estimate(99, 100)}" in titles
    circles = {node.get("class"): node for node in root.iter("circle")}
    (low,) = [float(n.get("cy", 0)) for c, n in circles.items() if c == "mark candidate"]
    assert low == pytest.approx(296.0 - 0.7 * (296.0 - 22.0), abs=0.1)
    assert "target 0.95" in text


@pytest.mark.parametrize("width", [350.0, 1000.0])
@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("hours", [0.02, 0.3, 0.42, 0.95])
def test_no_label_lies_on_another(hours: float, target: float, width: float) -> None:
    points = (
        SuccessPoint("policy-0", MeasurementKind.INCUMBENT, 3600.0 * hours, estimate(19, 20)),
        SuccessPoint("policy-10", MeasurementKind.INCUMBENT, 3600.0, estimate(20, 20)),
    )
    root = ET.fromstring(success_chart(SuccessCurve(points, (), target, 3600.0), width))
    boxes = []
    for node in root.iter("text"):
        if not set((node.get("class") or "").split()) & {"name", "target-name"}:
            continue
        long = 6.5 * len(node.text or "")  # of 12.5 px letters
        x, y = float(node.get("x", 0)), float(node.get("y", 0))
        x -= long * {"end": 1.0, "middle": 0.5}.get(node.get("text-anchor") or "", 0.0)
        boxes.append((x, x + long, y - 10.0, y))
    assert len(boxes) >= 2
    for one, other in itertools.combinations(boxes, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, (one, other)
        assert min(one[0], other[0]) > 0.0


def test_runs_are_compared_on_the_axes_of_the_longest() -> None:
    def curve(hours: float, *rates: int) -> SuccessCurve:
        points = tuple(
            SuccessPoint(f"p{n}", MeasurementKind.INCUMBENT, 3600.0 * n, estimate(rate, 10))
            for n, rate in enumerate(rates)
        )
        return SuccessCurve(points, (), 0.9, 3600.0 * hours)

    curves = {"a": curve(2.0, 5, 9), "b": curve(4.0, 1, 2, 3), "empty": curve(0.0)}
    root = ET.fromstring(comparison_chart(curves, 800.0))
    groups = {node.get("class"): node for node in root if node.tag == "g"}
    assert list(groups) == ["run-0", "run-1", "run-2"]
    ends = []
    for name in ("run-0", "run-1"):
        (line,) = [node for node in groups[name] if node.get("class") == "line"]
        ends.append(float(re.findall(r"([\d.]+) [\d.]+$", line.get("d", ""))[0]))
    assert ends[0] - 44.0 == pytest.approx((ends[1] - 44.0) / 2, abs=0.1)
    titles = [node.text for node in root.iter("title")]
    assert f"a, p1: {estimate(9, 10)}" in titles


def test_a_curve_without_points_is_a_drawing_too() -> None:
    ET.fromstring(success_chart(SuccessCurve((), (), None, 0.0), 350.0))


def test_a_station_s_phases_are_stacked_to_their_shares() -> None:
    shares = {Phase.EXECUTE: np.full(60, 0.5), Phase.RESET: np.full(60, 0.25)}
    seconds = dict.fromkeys(Phase, 0.0) | {Phase.EXECUTE: 50.0, Phase.RESET: 25.0}
    station = StationTimeline(3, shares, seconds | {Phase.IDLE: 25.0}, None)
    text = utilisation_chart(Utilisation(100.0, (station,)), 400.0)
    root = ET.fromstring(text)
    areas = {node.get("class"): node.get("d", "") for node in root.iter("path")}
    heights = {
        name: {float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", d)} for name, d in areas.items()
    }
    assert heights == {"phase execute": {19.0, 32.0}, "phase reset": {12.5, 19.0}}
    assert "station 3: execute 50% of its time" in text


def test_every_failure_is_in_a_bar() -> None:
    margins = PredicateMargins("lifted", "mm", (-60.0, -59.0, -30.0, -1.0), 0)
    told = re.findall(r"<title>(\d+) failed", margin_chart(margins, 290.0))
    assert sum(map(int, told)) == 4
    ET.fromstring(margin_chart(PredicateMargins("lifted", "mm", (0.0,), 0), 290.0))


def test_a_map_counts_failures_in_every_cell() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((300, 2))
    won = rng.random(300) < 0.7
    text = condition_chart(ConditionMap(("x", "y"), (0.1, 0.2), places, won, "all"), 680.0)
    cells = re.findall(r"(\d+) of (\d+) failed here", text)
    assert sum(int(bad) for bad, _ in cells) == int((~won).sum())
    assert sum(int(every) for _, every in cells) == 300
    assert text.count('class="cross"') == int((~won).sum())


def test_experiments_are_drawn_a_line_each() -> None:
    node = ExperimentNode("e1", "p", "a", "bc", "h", "kept", "", 0.2, 0.1, 0.3, 9, 1.0)
    untried = ExperimentNode("e2", "e1", "a", "bc", "h", "failed", "", None, -1.0, 1.0, 0, 1.0)
    for width in (350.0, 1000.0):
        root = ET.fromstring(experiment_chart([node, untried], width))
        titles = [title.text or "" for title in root.iter("title")]
        assert [title.split(" by ")[0] for title in titles] == ["e1", "e2"]
    assert shortened("abcdef", 4) == "abc…"
