"""Each task's README has the same parts, is short, and says of the task what its code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from enpire.environment import Task
from enpire.environment.loading import load_task
from enpire.packs import available, find
from tests.docs.test_words import LONGEST, ROOT, sentences

FEWEST, MOST = 500, 900  # words
PARTS = [
    "What it is",
    "Facts",
    "How an episode begins, and is put back",
    "How the verdict is made",
    "Demonstrator and skill script",
    "How policies fare",
    "Known limits",
    "Why it is so",
    "How to run it",
]
COPIED = {"pick_cube": ["A task of your own"]}  # a last part of the one that is copied
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")


@pytest.fixture(params=available("tasks"))
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(find("tasks", request.param))


@pytest.fixture
def page(task: Task) -> Path:
    return task.folder / "README.md"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", one).lower().replace(" ", "-") for one in headings}


def facts(page: Path) -> dict[str, str]:
    """Return the table of facts: what it says of each."""
    table = page.read_text(encoding="utf-8").split("## Facts")[1].split("## ")[0]
    return dict(re.findall(r"^\| ([\w ]+) \| (.+) \|$", table, re.MULTILINE))


def test_it_has_the_same_parts(task: Task, page: Path) -> None:
    title, *parts = HEADING.findall(page.read_text(encoding="utf-8"))
    assert title == task.name
    assert parts == PARTS + COPIED.get(task.name, [])


def test_it_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    words = [one for one in text.split() if any(c.isalnum() for c in one)]
    assert FEWEST <= len(words) <= MOST
    found = sentences(text)
    assert sum(len(one.split()) for one in found) < LONGEST * len(found)


def test_its_facts_are_those_of_the_code(task: Task, page: Path) -> None:
    said = facts(page)
    assert f"(`{task.robot}`)" in said["robot"]
    assert said["time limit"].startswith(f"{task.time_limit:g} s,")
    assert said["control period"] == f"{1e3 / task.control_hz:g} ms"
    assert said["action"].startswith(f"{task.actions.size} entries:")
    assert said["observation"].startswith(f"{len(task.observation_names)} entries:")
    for force in (task.actions.push, task.force_limit):
        assert f"{force:g} N" in said["force"]


def test_its_links_lead_to_headings(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    there = {to: anchors(page.parent / to if to else page) for to, _ in links}
    assert [(to, anchor) for to, anchor in links if anchor not in there[to]] == []
    assert ("../../docs/results.md", "the-default-loop") in links


def test_how_anchors_are_made(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# `pick_cube` here\n\n## How it begins, and ends\n", encoding="utf-8")
    assert anchors(page) == {"pick_cube-here", "how-it-begins-and-ends"}
    assert "pick_cube" in anchors(ROOT / "docs" / "tasks.md")
