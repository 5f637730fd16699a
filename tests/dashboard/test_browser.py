"""Pages in a real browser, Debian's Chromium: reports, and the dashboard beside a loop."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from enpire.observe.report.experiments import AgentCost, CampaignReport, ExperimentNode
from enpire.observe.report.page import page as report_page
from enpire.observe.report.reading import FilmStrip, read_report
from enpire.observe.report.verifier import VerifierAudit
from enpire.rollout.evaluation.statistics import Confusion
from enpire.store import Run, under_way
from tests.dashboard.serving import Served, served
from tests.observe.report.ledgers import write_run

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
psutil = pytest.importorskip("psutil")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PICTURES = os.environ.get("ENPIRE_SCREENSHOTS", "")  # a folder for a person to look at
WIDTHS = {"phone": (390, 844), "desk": (1440, 900)}
UPDATE_S = 2.0
LOOP = ("--task", "pick_cube", "--robots", "2", "--demonstrations", "2000", "--pace", "real")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=list(WIDTHS))
def width(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Seen:
    """A page, and what its console has said."""

    def __init__(self, browser: Any, width: str, scheme: str = "light") -> None:
        w, h = WIDTHS[width]
        context = browser.new_context(
            viewport={"width": w, "height": h}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.width, self.scheme = width, scheme
        self.page = context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []  # what the page has sent for
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))

    def check(self, name: str) -> None:
        """No console error, no serious violation, nothing wider than the screen."""
        found = axe.Axe().run(self.page).response["violations"]
        serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        nodes = {one["id"]: [n["html"][:200] for n in one["nodes"][:3]] for one in found}
        if PICTURES:
            path = Path(PICTURES) / f"{name}-{self.width}-{self.scheme}.png"
            self.page.screenshot(path=str(path), full_page=True)
        assert not serious, nodes
        assert self.errors == []
        wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, "the page scrolls sideways"


def _until(there: Callable[[], Any], limit_s: float, what: str) -> float:
    """Wait until something is so; returns after how long [s]."""
    began = time.monotonic()
    while not there():
        assert time.monotonic() - began < limit_s, what
        time.sleep(0.02)
    return time.monotonic() - began


def _shows(page: Any, condition: str) -> None:
    """Wait until a page fulfils a condition; its policy forbids Playwright's own way to."""
    _until(lambda: page.evaluate(condition), 10.0, condition)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A loop that runs, with some episodes done."""
    folder = tmp_path_factory.mktemp("runs") / "live"
    command = [sys.executable, "-m", "enpire.cli", "loop", *LOOP, "--run", str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
    try:
        _until(lambda: under_way(folder) and _episodes(folder) > 4, 200.0, "the loop never began")
        yield folder
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _episodes(folder: Path) -> int:
    try:
        with Run.glance(folder) as run:
            return len(run.ledger.episodes_since(0))
    except Exception:
        return 0


@pytest.fixture(scope="module")
def server(loop: Path) -> Iterator[Served]:
    with served(loop) as found:
        yield found


def test_a_running_loop_is_followed_and_controlled(
    browser: Any, server: Served, loop: Path, width: str
) -> None:
    seen = Seen(browser, width)
    page = seen.page
    page.goto(f"{server.address}/#token={server.token}")
    page.wait_for_selector(".station .doing.running", timeout=20_000)
    assert "token" not in page.url
    assert page.inner_text("#run-state") == "running"
    for station in range(2):  # drawn for this page
        picture = page.locator(".station").nth(station).locator("img")
        _until(picture.count, 60.0, "never drawn")
        assert picture.evaluate("image => image.naturalWidth") > 300
    seen.check("live")
    before = _episodes(loop)
    _until(lambda: _episodes(loop) > before, 60.0, "no further episode")
    now = _episodes(loop)

    def counted() -> int:
        return int(page.inner_text("#tiles div:nth-child(4) dd span").replace(",", ""))

    assert _until(lambda: counted() >= now, 10.0, "never updated") < UPDATE_S
    # Aside, and back.
    card = page.locator(".station").nth(1)
    card.get_by_role("button", name="Put aside").click()
    _until(lambda: card.locator(".doing.aside").count(), 30.0, "never put aside")
    card.get_by_role("button", name="Put back").click()
    _until(lambda: card.locator(".doing.running").count(), 30.0, "never put back")
    page.select_option("#level", "warning")
    page.wait_for_selector("#log li.warning")
    assert page.locator("#log li.info").count() == 0
    # The whole run.
    page.get_by_role("button", name="Pause").click()
    _until(lambda: page.locator(".doing.aside").count() == 2, 30.0, "never paused")
    page.get_by_role("button", name="Resume").click()
    _until(lambda: page.locator(".doing.running").count() == 2, 30.0, "never resumed")
    seen.check("live-later")


def test_without_the_token_there_is_nothing_to_control(
    browser: Any, server: Served, width: str
) -> None:
    seen = Seen(browser, width)
    page = seen.page
    page.goto(server.address)
    page.wait_for_selector(".station .doing.running", timeout=20_000)
    assert page.locator("#controls").is_hidden()
    assert page.locator(".station button:visible").count() == 0
    assert page.locator("#unlock").is_visible()
    seen.check("without-token")
    answers = page.evaluate(
        """async () => (await fetch("/api/control", {method: "POST", body: "{}"})).status"""
    )
    assert answers == 401


def test_stopping_takes_two_clicks(browser: Any, loop: Path, server: Served) -> None:
    seen = Seen(browser, "desk")
    page = seen.page
    page.goto(f"{server.address}/#token={server.token}")
    page.wait_for_selector("#controls:not([hidden])", timeout=20_000)
    page.locator("[data-action=stop]").click()
    page.get_by_role("button", name="Stop: click again").click()
    _until(lambda: not under_way(loop), 60.0, "never stopped")
    _shows(page, "document.getElementById('run-state').textContent === 'interrupted'")
    seen.check("stopped")
    assert not list(loop.glob("*-wal")) + list(loop.glob("*-shm"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_is_searched(browser: Any, tmp_path: Path, width: str, scheme: str) -> None:
    write_run(tmp_path / "run", scale=3).close()
    with served(tmp_path / "run") as server:
        seen = Seen(browser, width, scheme)
        page = seen.page
        page.goto(server.address)
        page.wait_for_selector("#episodes tbody tr")
        assert page.inner_text("#episode-count") == "300 episodes"
        page.select_option("#search [name=verdict]", "failure")
        page.select_option("#search [name=station]", "2")
        _shows(
            page,
            """[...document.querySelectorAll("#episodes tbody tr")].every(
                (row) => row.cells[2].textContent === "failure"
                    && row.cells[6].textContent === "2")""",
        )
        seed = page.inner_text("#episodes tbody tr:first-child td:nth-child(8)")
        page.fill("#search [name=seed]", seed)
        _shows(page, "document.querySelectorAll('#episodes tbody tr').length === 1")
        page.get_by_role("button", name="Clear").click()
        _shows(page, "document.querySelectorAll('#episodes tbody tr').length === 50")
        page.locator("#episodes-older").click()
        _shows(page, "document.querySelector('#episodes tbody td').textContent === '250'")
        page.locator("#episodes-latest").click()
        seen.check("run")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_runs_of_a_folder_are_compared(
    browser: Any, tmp_path: Path, width: str, scheme: str
) -> None:
    for number in range(3):
        write_run(tmp_path / f"run-{number}", scale=number + 1).close()
    with served(tmp_path) as server:
        seen = Seen(browser, width, scheme)
        page = seen.page
        page.goto(server.address)
        page.wait_for_selector("#runs tbody tr:nth-child(3)")
        page.fill("#find-run", "run-1")
        assert page.locator("#runs tbody tr:visible").count() == 1
        page.fill("#find-run", "")
        success = page.locator("#runs tbody tr:first-child td:nth-child(5)").bounding_box()
        assert success["x"] + success["width"] <= WIDTHS[width][0], "seen without scrolling"
        row = page.get_by_role("row").nth(1)
        assert row.get_by_role("cell").count() == 8, "it is a table to a screen reader as well"
        seen.check("folder")
        for box in page.get_by_role("checkbox").all():
            box.check()
        page.get_by_role("button", name="Compare").click()
        page.wait_for_selector("#comparison svg")
        seen.check("compare")
        page.locator("#home").click()
        page.get_by_role("link", name="run-2").click()
        page.wait_for_selector("#tiles .tile")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_with_one_of_everything_is_a_file_that_asks_for_nothing(
    browser: Any, tmp_path: Path, width: str, scheme: str
) -> None:
    with write_run(tmp_path / "run", scale=2) as run:
        report = read_report(run, "enpire campaign --task pick_cube")
    picture = cv2.imencode(".jpg", np.full((240, 320, 3), 128, np.uint8))[1].tobytes()
    strips = {
        id: FilmStrip(id, tuple(map(float, range(6))), (picture,) * 6)
        for id in (cluster.examples[0] for cluster in report.failures.clusters)
    }
    node = ExperimentNode("e1", "", "a1", "bc", "moves", "kept", "better", 0.1, 0.05, 0.2, 20, 60.0)
    nodes = (node, replace(node, id="e2", base="e1", state="dropped", effect=-0.1))
    campaign = CampaignReport(nodes, (AgentCost("a1", 2, 1, 60.0, 12_345, 0.5),), "none", "h")
    audits = (VerifierAudit("stress", Confusion(50, 1, 2, 47)),)
    path = tmp_path / "report.html"
    path.write_text(report_page(replace(report, strips=strips, campaign=campaign, audits=audits)))
    seen = Seen(browser, width, scheme)
    seen.page.goto(path.as_uri())
    assert seen.page.locator(".strip img").count() == 6 * len(strips)
    for folded in seen.page.locator("summary").all():
        folded.click()
    seen.check("report")
    assert [url for url in seen.asked if not url.startswith("data:")] == [path.as_uri()]
    button = seen.page.locator("button[data-themes]")
    button.click()
    other = {"light": "dark", "dark": "light"}[scheme]
    assert seen.page.evaluate("document.documentElement.dataset.theme") == other
    seen.check("report-turned")


def _processor_s() -> float:
    """Processor time of this process, which serves, and of the browser [s]."""
    this = psutil.Process()
    total = 0.0
    for each in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):  # it has just ended
            times = each.cpu_times()
            total += times.user + times.system
    return total


def test_a_hundred_runs_are_painted_at_once(browser: Any, tmp_path: Path) -> None:
    """Processor time of all who take part is what it takes on a machine that does nothing else."""
    first = tmp_path / "run-000"
    write_run(first, scale=10).close()
    for number in range(1, 100):
        shutil.copytree(first, tmp_path / f"run-{number:03d}")
    with served(tmp_path) as server:
        times, paints = [], []
        for _ in range(3):  # the first one has the ledgers read
            seen = Seen(browser, "desk")
            seen.page.goto("about:blank")  # the browser has begun
            began = _processor_s()
            seen.page.goto(server.address)
            seen.page.wait_for_selector("#runs tbody tr:nth-child(100)")
            times.append(_processor_s() - began)
            paints += seen.page.evaluate(
                "performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)"
            )
        print(json.dumps({"processor_s": times, "first_paint_ms": paints}))
        assert min(times) < 1.0
