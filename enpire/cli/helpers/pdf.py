"""A page printed to PDF by a browser that is installed, without a display."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from enpire.child_environment import child_environment
from enpire.errors import StoreError, UsageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LIMIT_S = 60.0  # that a browser may take


def find_browser() -> str:
    """Return a browser that prints; raises UsageError where there is none."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            "--pdf needs Chromium or Chrome to print with: apt-get install chromium, or print the "
            "page from any browser"
        )
    return found


def print_page(browser: str, page: Path) -> Path:
    """Print an HTML file to a PDF of the same name; returns where that is.

    Raises:
        StoreError: the browser made none.
    """
    path = page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory() as folder:  # a profile of its own, nobody's
        new = Path(folder, "page.pdf")
        command = [
            *(browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={new}"),
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # it does not start as root with one
            page.resolve().as_uri(),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                env=child_environment(),
            )
            said = done.stderr.strip().splitlines()[-1:]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = [str(error)]
        if not new.is_file():
            raise StoreError(f"{browser} printed nothing of {page}: {''.join(said)}")
        shutil.move(new, path)
    return path
