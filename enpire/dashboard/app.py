"""The dashboard's server: pages, JSON, events, controls."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib import resources
from typing import Any

from sse_starlette import EventSourceResponse
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from enpire.dashboard import views
from enpire.dashboard.controls import ControlRequest, carry_out
from enpire.dashboard.episode_detail import episode_html
from enpire.dashboard.evidence import EvidencePictures
from enpire.dashboard.lazy_thread import LazyThread
from enpire.dashboard.live_pictures import LivePictures
from enpire.dashboard.log_levels import LogLevel
from enpire.dashboard.metrics import CONTENT_TYPE, metrics_text
from enpire.dashboard.run_board import RunBoard
from enpire.dashboard.watched_run import WatchedRun
from enpire.errors import EnpireError
from enpire.store import Run
from enpire.store.layout import SCENES
from enpire.store.search import EpisodeFilter
from enpire.types import Outcome, Purpose
from enpire.web.access import Access, Gate
from enpire.web.limits import read_body

# Else any server that ends in this process cuts off the streams of all; ours end by themselves.
AppStatus.enable_automatic_graceful_drain = False

EVERY_S = 0.7  # between looks for somebody who has a page open
STREAMS = 16  # pages that may be open at a time
PAGE = 50  # rows of a table
MOST = 2**62  # more than any number of a row

Sections = dict[str, Callable[[], Any]]


class Dashboard:
    """What the routes need: the runs, and who may ask.

    Attributes:
        over: set when the server ends, which ends all streams.
    """

    def __init__(self, board: RunBoard, access: Access) -> None:
        """board: the runs. access: who may ask what."""
        self.board, self.access = board, access
        self.over = asyncio.Event()
        self._pictures: dict[str, EvidencePictures] = {}
        self._lazy = LazyThread()
        self._live = LivePictures(self._lazy)
        self._html: dict[tuple[str, str], tuple[int, str]] = {}  # by section and run
        self._streams = 0

    def end(self) -> None:
        """End all streams, and what was begun for them."""
        self.over.set()
        self._live.close()

    def app(self) -> ASGIApp:
        """Return what serves all of it."""
        routes = [
            Route("/", self.page),
            Route("/runs/{run}", self.page),
            Route("/compare", self.page),
            Route("/static/{name}", self.static),
            Route("/api/events", self.events),
            Route("/api/episodes", self.episodes),
            Route("/api/episode", self.episode),
            Route("/api/log", self.log),
            Route("/api/compare", self.compare),
            Route("/api/picture", self.picture),
            Route("/evidence/{run}/{name}", self.evidence),
            Route("/metrics", self.metrics),
        ]
        if not self.access.read_only:
            routes.append(Route("/api/control", self.control, methods=["POST"]))
        handlers: Mapping[Any, Any] = {EnpireError: _failed, HTTPException: _refused}
        return Gate(Starlette(routes=routes, exception_handlers=handlers), self.access)

    # Pages

    async def page(self, request: Request) -> Response:
        """The one page; its script shows what the address names."""
        return Response(_file("page.html"), media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """The page's style and its script."""
        match request.path_params["name"]:
            case "page.css":
                return Response(_style(), media_type="text/css; charset=utf-8")
            case "page.js":
                return Response(_file("page.js"), media_type="text/javascript; charset=utf-8")
            case "icon.svg":
                return Response(_file("icon.svg"), media_type="image/svg+xml")
        raise HTTPException(404, "there is no such file")

    # What there is to see

    async def events(self, request: Request) -> Response:
        """What has changed, as it changes: of a run, or of all."""
        run = self._run(request) if "run" in request.query_params else None
        if self._streams >= STREAMS:
            raise HTTPException(503, f"{STREAMS} pages are open: close one")
        sections = self._of_all() if run is None else self._of_run(run)
        return EventSourceResponse(self._changes(sections, run is None), ping=5)

    async def _changes(self, sections: Sections, early: bool) -> AsyncIterator[dict[str, str]]:
        """Yield sections that have changed; early: those of before the first look, at once."""
        sent: dict[str, str] = {}
        self._streams += 1
        try:
            while not self.over.is_set():
                whole = not early and await run_in_threadpool(self.board.refresh)
                early = False
                for name, text in (await run_in_threadpool(_written, sections)).items():
                    if sent.get(name) != text:
                        sent[name] = text
                        yield {"event": name, "data": text}
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.over.wait(), EVERY_S if whole else 0)
        finally:
            self._streams -= 1

    def _of_all(self) -> Sections:
        board = self.board
        return {
            "about": self._about,
            "runs": lambda: [views.run_line(run) for run in board.runs()],
        }

    def _of_run(self, run: WatchedRun) -> Sections:
        def counts() -> dict[str, int]:
            with run.lock:
                return {"log": len(run.log), "episodes": run.tally.number}

        return {
            "about": self._about,
            "head": lambda: views.run_head(run, run.status()),
            "stations": lambda: self._stations(run),
            "success": lambda: self._cached("success", run, views.success_html),
            "rounds": lambda: self._cached("rounds", run, views.rounds_html),
            "experiments": lambda: self._cached("experiments", run, views.experiments_html),
            "choices": lambda: views.choices(run),
            "counts": counts,
        }

    def _about(self) -> dict[str, Any]:
        single = self.board.single
        return {
            "controls": not self.access.read_only,
            "single": single.name if single else None,
            "folder": str(self.board.folder),
        }

    def _stations(self, run: WatchedRun) -> list[dict[str, Any]]:
        found = views.stations(run, run.status())
        pictures = self._pictures.setdefault(run.name, EvidencePictures(run))
        drawn = run.now.live and (run.folder / SCENES).exists()
        with run.lock:
            last = {number: one.last for number, one in run.tally.stations.items()}
        for one in found:
            row = last.get(one["number"])
            one["pictures"] = pictures.names(row) if row else []
            one["drawn"] = drawn
        return found

    def _cached(self, name: str, run: WatchedRun, make: Callable[[WatchedRun], str]) -> str:
        version = run.now.version
        known = self._html.get((name, run.name))
        if known is None or known[0] != version:
            known = self._html[name, run.name] = version, make(run)
        return known[1]

    def episodes(self, request: Request) -> Response:
        """A page of the episodes that are asked for, the latest first."""
        run, asked = self._run(request), request.query_params
        with _bad_request():
            wanted = EpisodeFilter(
                seed=_number(asked.get("seed")),
                station=_number(asked.get("station")),
                outcome=Outcome(asked["verdict"]) if asked.get("verdict") else None,
                stage=asked.get("stage"),
                policy=asked.get("policy") or None,
                purpose=Purpose(asked["purpose"]) if asked.get("purpose") else None,
            )
            before = _number(asked.get("before"))
        with Run.glance(run.folder) as opened:
            rows = opened.ledger.find_episodes(wanted, MOST if before is None else before, PAGE)
            total = opened.ledger.count_episodes(wanted)
        lines = [views.episode_line(row) | {"number": number} for number, row in rows]
        return JSONResponse({"episodes": lines, "total": total})

    async def episode(self, request: Request) -> Response:
        """One episode: what its verdict rests on, and what critics think of it."""
        run = self._run(request)
        with _bad_request():
            number = _number(request.query_params.get("number"))
        asked = number or 0  # there is no episode 0
        html = await asyncio.wrap_future(
            self._lazy.submit(lambda: episode_html(run.folder, asked) if asked else None)
        )
        if html is None:
            raise HTTPException(404, "there is no such episode")
        return JSONResponse({"html": html})

    def log(self, request: Request) -> Response:
        """A page of a run's log, the latest lines first."""
        run, asked = self._run(request), request.query_params
        with _bad_request():
            level = LogLevel(asked.get("level", LogLevel.INFO))
            before = _number(asked.get("before"))
        page = views.log_page(run, level, MOST if before is None else before, PAGE)
        return JSONResponse(page)

    def compare(self, request: Request) -> Response:
        """Some runs on the same axes."""
        self._read_all()
        names = request.query_params.getlist("run")
        found = [self.board.find(name) for name in dict.fromkeys(names)]
        runs = [run for run in found if run is not None]
        if not runs or len(runs) < len(found):
            raise HTTPException(404, "there is no such run")
        return JSONResponse({"html": views.comparison_html(runs)})

    def evidence(self, request: Request) -> Response:
        """A picture that the verifier's cameras took."""
        run = self._find(request.path_params["run"])
        path = EvidencePictures(run).path(request.path_params["name"])
        if path is None:
            raise HTTPException(404, "there is no such picture")
        return FileResponse(path, media_type="image/png")

    async def picture(self, request: Request) -> Response:
        """A station of a run as it is now, drawn for who asks."""
        run = self._run(request)
        with _bad_request():
            station = _number(request.query_params.get("station"))
        if station is None or not run.now.live:
            raise HTTPException(404, "there is no such picture")
        drawn = await asyncio.wrap_future(self._live.picture(run.folder, station))
        if drawn is None:
            raise HTTPException(404, "this station cannot be drawn here")
        return Response(drawn, media_type="image/jpeg", headers={"Cache-Control": "no-store"})

    def metrics(self, request: Request) -> Response:
        """All runs, for Prometheus."""
        self._read_all()
        return Response(metrics_text(self.board.runs()), media_type=CONTENT_TYPE)

    # What a person asks for

    async def control(self, request: Request) -> Response:
        """Pause, resume, stop; put a station aside, and back."""
        if not self.access.holds_token(request.headers.get("authorization", "")):
            raise HTTPException(401, "the token is missing or wrong")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, "a control is asked for in JSON")
        body = await read_body(request)
        with _bad_request():
            asked = ControlRequest.read(body)
            run = self._find(asked.run)
            await run_in_threadpool(carry_out, run, asked)
        return JSONResponse({"asked": asked.action})

    def _read_all(self) -> None:
        while not self.board.refresh():
            pass

    def _run(self, request: Request) -> WatchedRun:
        return self._find(request.query_params.get("run", ""))

    def _find(self, name: str) -> WatchedRun:
        run = self.board.find(name)
        if run is None:
            self.board.refresh()
            run = self.board.find(name)
        if run is None:
            raise HTTPException(404, "there is no such run")
        if not run.now.version:  # asked for before it was its turn
            run.refresh()
        return run


def _written(sections: Sections) -> dict[str, str]:
    return {name: json.dumps(make()) for name, make in sections.items()}


@contextlib.contextmanager
def _bad_request() -> Iterator[None]:
    """Answer 400 with the reason where what was asked for makes no sense."""
    try:
        yield
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


def _number(text: str | None) -> int | None:
    """A number as an address has it; None for none.

    Raises:
        ValueError: it is none, or larger than a ledger's numbers are.
    """
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) >= 2**63:
        raise ValueError(f"{text[:30]!r} is no number of 0 or more")
    return int(text)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = error.detail if isinstance(error, HTTPException) else "it cannot be shown"
    return PlainTextResponse(f"{words}\n", status)


async def _failed(request: Request, error: Exception) -> Response:
    """A run that cannot be read now, or that cannot be asked."""
    return PlainTextResponse(f"{error}\n", 409)


def _file(name: str) -> str:
    return resources.files("enpire.dashboard").joinpath(name).read_text(encoding="utf-8")


def _style() -> str:
    """The report's style, and what a dashboard adds to it."""
    report = resources.files("enpire.observe.report").joinpath("page.css")
    return report.read_text(encoding="utf-8") + _file("page.css")
