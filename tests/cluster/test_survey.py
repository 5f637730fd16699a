"""Nodes that differ are named before anything runs on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enpire.cluster.survey import CLOCK_S, Node, ask, questions, require_alike
from enpire.errors import UsageError
from enpire.packs import find

OURS = {("tasks", "pick_cube"): "a" * 64, ("sim", "bench"): "b" * 64}
GOOD = Node("left", "1.0", "/usr/bin/python", "", dict(OURS), 0.01, 0.002)


def test_nodes_that_are_alike_will_do() -> None:
    require_alike([GOOD, replace(GOOD, offset=-CLOCK_S)], "1.0", OURS)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (replace(GOOD, missing="No module named 'enpire'"), "right cannot import.*install enpire"),
        (replace(GOOD, version="0.9"), "right has enpire 0.9, this machine 1.0"),
        (replace(GOOD, packs={**OURS, ("sim", "bench"): "c" * 64}), "right has another sim/bench"),
        (replace(GOOD, packs={**OURS, ("tasks", "pick_cube"): "unknown task"}), "unknown task"),
        (replace(GOOD, packs={}), "right has another tasks/pick_cube.*none there"),
        (replace(GOOD, offset=7.5), "right is 7.5 s ahead of"),
        (replace(GOOD, offset=-7.5), "right is 7.5 s behind"),
    ],
)
def test_a_node_that_differs_is_named(found: Node, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        require_alike([GOOD, replace(found, name="right")], "1.0", OURS)


def test_a_clock_counts_as_apart_only_if_it_surely_is() -> None:
    require_alike([replace(GOOD, offset=3.0, within=2.5)], "1.0", OURS)


def test_a_node_says_what_it_has() -> None:
    from enpire import __version__

    node = ask("here", lambda: questions()([("sim", "bench"), ("tasks", "no_such")]))
    assert (node.version, node.missing) == (__version__, "")
    assert node.packs["sim", "bench"] == find("sim", "bench").sha256
    assert "no_such" in node.packs["tasks", "no_such"]
    assert abs(node.offset) <= node.within + 1e-3


def test_the_quickest_answer_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose clock is 5 s ahead takes 4 s to answer at first, then 0.2 s."""
    now = [100.0]
    monkeypatch.setattr("enpire.cluster.survey.time.time", lambda: now[0])
    delays = [4.0, 0.2, 1.0]

    def answer() -> dict[str, object]:
        delay = delays.pop(0)
        now[0] += 0.75 * delay  # there; back is quicker
        said = {"version": "1", "python": "p", "missing": "", "packs": {}, "clock": now[0] + 5.0}
        now[0] += 0.25 * delay
        return said

    node = ask("far", answer)
    assert node.offset == pytest.approx(5.05)
    assert node.within == pytest.approx(0.1)
