"""A page that somebody has open, in Debian's Chromium, until this process is asked to end."""

from __future__ import annotations

import shutil
import signal
import sys
import threading

from enpire.errors import EnpireError, UsageError

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
SIZE = (1440, 900)  # of its window [px]
LOOK_S = 0.5  # between looks at whether it is to end


def find_chromium() -> str:
    """Return where it is.

    Raises:
        UsageError: it is not installed, or the library that drives it is not.
    """
    try:
        import playwright  # noqa: F401
    except ImportError as error:
        raise UsageError("playwright is not installed: pip install playwright") from error
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        raise UsageError("there is no chromium here: apt-get install chromium")
    return found


def main() -> int:
    """Open the address that is given, and stay; what the page complains of goes to stderr."""
    from playwright.sync_api import sync_playwright

    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    width, height = SIZE
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("pageerror", lambda error: print(error, file=sys.stderr))
        page.goto(sys.argv[1])
        while not over.is_set():
            page.wait_for_timeout(1000 * LOOK_S)
        browser.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EnpireError as error:
        sys.exit(str(error))
