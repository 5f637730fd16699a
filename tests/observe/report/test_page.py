"""The page of a report: whole, self-contained, and true to what was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from enpire.observe.report.experiments import AgentCost, CampaignReport, ExperimentNode
from enpire.observe.report.page import page
from enpire.observe.report.reading import FilmStrip, RunReport, read_report
from enpire.observe.report.verifier import VerifierAudit
from enpire.rollout.evaluation.statistics import Confusion
from enpire.store import Run

from .ledgers import write_run

VOID = ("meta", "img", "br", "link", "input", "hr")
HOSTILE = '<script>alert("x")</script><img src=https://evil.example/>'


class Elements(HTMLParser):
    """Collects a document's elements, and checks that each one is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with write_run(tmp_path_factory.mktemp("runs") / "run") as made:
        yield made


@pytest.fixture(scope="module")
def report(run: Run) -> RunReport:
    return read_report(run, "enpire loop --task pick_cube --seed 7")


def _node(id: str, base: str, words: str = "bc") -> ExperimentNode:
    state = "kept" if id == "e1" else "dropped"
    return ExperimentNode(id, base, "a1", words, words, state, words, 0.1, -0.05, 0.25, 20, 60.0)


def test_a_page_is_whole_and_asks_no_network(report: RunReport) -> None:
    text = page(report)
    elements = Elements(text).found
    for tag, attributes in elements:
        for name in ("src", "href"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
        assert tag not in ("link", "iframe", "object")
    assert not re.search(r"@import|url\(", text)
    (policy,) = [a["content"] for t, a in elements if a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_answer_comes_first(report: RunReport) -> None:
    text = page(report)
    assert text.index("96.2% success, on sealed seeds") < text.index("<section>")
    assert "target reached" in text
    assert "succeeds in 25 of 26 episodes" in text
    for words in (
        "better on 9 of 12 seeds",
        "sealed evaluation that reached the target",
        "candidate that was not kept",
        "versions of an online learner",
        "Reached on_bench, missed lifted and in_hand",
        "1 safety event",
        "a wrist felt 48 N",
        "enpire loop --task pick_cube --seed 7",
    ):
        assert words in text, words


def test_every_chart_is_there_for_a_desk_and_for_a_phone(report: RunReport) -> None:
    drawn = [a for t, a in Elements(page(report)).found if t == "svg" and a.get("role") == "img"]
    widths = [a["width"] for a in drawn]
    assert widths.count("1000") == widths.count("350") - 1 == 2  # the map is drawn 680 wide
    assert all(a["aria-label"] for a in drawn)


def test_what_others_wrote_is_text(report: RunReport) -> None:
    node = _node("e1", "policy-0", HOSTILE)
    campaign = CampaignReport((node,), (AgentCost(HOSTILE, 1, 1, 60.0, 5, 0.1),), HOSTILE, HOSTILE)
    summary = replace(report.summary, state=HOSTILE, folder=HOSTILE, task=HOSTILE)
    text = page(replace(report, campaign=campaign, summary=summary, command=HOSTILE))
    assert [tag for tag, _ in Elements(text).found].count("script") == 1
    assert "<img src=https" not in text


def test_experiments_stand_in_a_tree_with_what_agents_used(report: RunReport) -> None:
    nodes = (_node("e1", "policy-0"), _node("e2", "e1"))
    campaign = CampaignReport(nodes, (AgentCost("a1", 2, 1, 120.0, 12345, 0.5),), "bubblewrap", "h")
    text = page(replace(report, campaign=campaign))
    assert "2 experiments, 1 kept" in text
    assert "12,345" in text
    assert "+0.100 [-0.050, +0.250] of 20 pairs" in text


def test_truth_is_told_where_it_is_known(report: RunReport) -> None:
    assert "Nobody held them against the truth" in page(report)
    audited = replace(report, audits=(VerifierAudit("stress", Confusion(50, 1, 2, 47)),))
    assert "97.0% of 100 verdicts agree with it" in page(audited)


def test_frames_of_an_example_stand_with_its_cluster(report: RunReport) -> None:
    example = report.failures.clusters[0].examples[0]
    strip = FilmStrip(example, (0.0, 1.0), (b"one", b"two"))
    elements = Elements(page(replace(report, strips={example: strip}))).found
    assert [a["alt"] for t, a in elements if t == "img"] == ["after 0.0 s", "after 1.0 s"]
    assert "No frames: no OpenGL" in page(replace(report, no_strips="no OpenGL"))
    some = replace(report, strips={example: strip}, no_strips="no time")
    assert "No frames of some: no time" in page(some)


def test_a_run_that_has_only_begun_has_a_page_too(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": "gym:CartPole-v1"}}) as run:
        text = page(read_report(run))
    Elements(text)
    assert "nothing measured yet" in text
