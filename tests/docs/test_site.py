"""`docs/` as a site: it builds with its links checked, and every page has its place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KINDS = ["Home", "Tutorial", "How-to", "Reference", "Explanation"]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder as strictly as for everybody."""
    zensical = Path(sys.executable).with_name("zensical")
    return subprocess.run(
        [zensical, "build", "--strict"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.medium
def test_the_site_is_built_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "enpire").symlink_to(ROOT / "enpire")
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / "build" / "site"
    assert (site / "tutorial" / "index.html").is_file()
    page = (site / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    assert 'id="enpire.environment.Task.verify"' in page


@pytest.mark.medium
@pytest.mark.parametrize("text", ["[gone](gone.md)", "[gone](index.md#gone)"])
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, text: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n{text}\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: a\n")
    assert build(tmp_path).returncode != 0


def places(entry: object) -> list[str]:
    """Return the pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry
    return [page for one in inner for page in places(one)]  # type: ignore[attr-defined]


def test_every_page_has_one_place() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = yaml.safe_load(text)["nav"]
    assert [kind for part in navigation for kind in part] == KINDS
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(places(navigation)) == sorted(pages)
