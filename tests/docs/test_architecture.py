"""The documents name what is there: layers, files, verbs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    + [
        page
        for part in ("docs", "tasks", "launch", "examples")
        for page in (ROOT / part).rglob("*.md")
    ]
)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PLACEHOLDER = re.compile(r"/[A-Z]+(?:/|$)")
IN_REPOSITORY = re.compile(
    r"`((?:enpire|benchmarks|docs|tests|tasks|robots|sim|agents|launch)/[\w./-]*\w/?)(?:::\w+)?`"
)


def test_the_layers_are_those_that_the_linter_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if "containers" not in one)
    held = [re.findall(r"enpire\.(\w+)", layer) for layer in layers]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = text.split("## The layers")[1].split("```")[1]
    names = [re.match(r"[\w, ]+?(?=\s{2}|$)", line) for line in block.strip().splitlines()]
    assert [name[0].split(", ") for name in names if name] == held


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [one for one in IN_REPOSITORY.findall(text) if not PLACEHOLDER.search(one)]
    assert [one for one in named if not (ROOT / one).exists()] == []
    assert [one for one in LINK.findall(text) if not (page.parent / one).exists()] == []


def test_pages_that_code_speaks_of_are_there() -> None:
    kinds = ("*.py", "*.toml", "*.md", "*.service", "*.html", "*.css")
    parts = (
        "enpire",
        "benchmarks",
        "tasks",
        "robots",
        "sim",
        "agents",
        "launch",
        "examples",
        "tests",
    )
    files = [one for part in parts for kind in kinds for one in (ROOT / part).rglob(kind)]
    named = {
        page: file
        for file in files
        for page in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md", file.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert {page: file for page, file in named.items() if not (ROOT / page).is_file()} == {}
