"""A report printed to PDF by a browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from enpire.cli.helpers.pdf import BROWSERS, find_browser, print_page
from enpire.errors import StoreError, UsageError

CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), "")


def _browser(folder: Path, does: str) -> str:
    path = folder / "chromium"
    path.write_text(
        f'#!/bin/sh\nfor word in "$@"; do case "$word" in --print-to-pdf=*) {does};; esac; done\n'
    )
    path.chmod(0o755)
    return str(path)


def test_a_page_is_printed_beside_itself(tmp_path: Path) -> None:
    page = tmp_path / "a report.html"
    page.write_text("<p>words")
    browser = _browser(tmp_path, 'echo printed > "${word#*=}"')
    assert print_page(browser, page) == tmp_path / "a report.pdf"
    assert (tmp_path / "a report.pdf").read_text() == "printed\n"


def test_a_browser_that_fails_leaves_the_pdf_that_was_there(tmp_path: Path) -> None:
    page, before = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text("<p>words")
    before.write_text("before")
    with pytest.raises(StoreError, match="no display at all"):
        print_page(_browser(tmp_path, "echo no display at all >&2"), page)
    assert before.read_text() == "before"


def test_without_a_browser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="apt-get install chromium"):
        find_browser()


@pytest.mark.slow  # a browser that is none is above
@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium here: apt-get install chromium")
def test_chromium_prints(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>t</title><p>words")
    assert print_page(CHROMIUM, page).read_bytes().startswith(b"%PDF-")
