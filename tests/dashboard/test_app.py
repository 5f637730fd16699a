"""What the dashboard answers, and what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from enpire.dashboard.app import Dashboard
from enpire.dashboard.run_board import RunBoard
from enpire.dashboard.serving import access_to
from enpire.rollout.fleet import requests
from enpire.rollout.fleet.requests import Request, Requests
from enpire.store import Run
from tests.observe.report.ledgers import write_run
from tests.store.samples import episode

BASE = "http://127.0.0.1:8321"
TOKEN = "a-token"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, and a file beside them that is none of the dashboard's business."""
    found = tmp_path_factory.mktemp("runs")
    for name in ("run-1", "run-2"):
        write_run(found / name).close()
    (found / "run-1" / "evidence").mkdir()
    (found / "run-1" / "evidence" / "00000001-0-front.png").write_bytes(b"picture")
    (found / "secret.png").write_text("secret")
    return found


def _client(folder: Path, host: str = "127.0.0.1", read_only: bool = False) -> TestClient:
    access = replace(access_to(host, read_only), token=TOKEN)
    return TestClient(Dashboard(RunBoard(folder), access).app(), base_url=BASE)


@pytest.fixture
def client(folder: Path) -> TestClient:
    return _client(folder)


def _control(**asked: Any) -> dict[str, Any]:
    return {"content": json.dumps(asked), "headers": _headers()}


def _headers(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {"loop": {"task": "reach", "robots": 2}}) as run:
        yield run


# What there is to see


def test_episodes_are_searched_and_paged(client: TestClient) -> None:
    found = client.get("/api/episodes", params={"run": "run-1"}).json()
    assert found["total"] == 100
    first = [one["number"] for one in found["episodes"]]
    assert first == list(range(100, 50, -1))
    older = client.get("/api/episodes", params={"run": "run-1", "before": "51"}).json()
    assert [one["number"] for one in older["episodes"]] == list(range(50, 0, -1))
    one = found["episodes"][7]
    for name in ("seed", "stage", "policy", "purpose", "verdict", "station"):
        asked = {"run": "run-1", name: str(one[name])}
        lines = client.get("/api/episodes", params=asked).json()["episodes"]
        assert lines, name
        assert all(line[name] == one[name] for line in lines)
    both = client.get(
        "/api/episodes", params={"run": "run-1", "station": "2", "verdict": "failure"}
    ).json()
    assert {(e["station"], e["verdict"]) for e in both["episodes"]} == {(2, "failure")}


@pytest.mark.parametrize(
    "asked",
    [
        {"seed": "-1"},
        {"seed": "1e3"},
        {"seed": "9" * 19},
        {"station": "²"},
        {"verdict": "x"},
        {"purpose": "' OR 1"},
        {"before": "x"},
    ],
)
def test_what_makes_no_search_is_refused(client: TestClient, asked: dict[str, str]) -> None:
    assert client.get("/api/episodes", params={"run": "run-1"} | asked).status_code == 400


def test_the_log_has_levels(client: TestClient) -> None:
    def kinds(level: str) -> list[str]:
        asked = {"run": "run-1", "level": level}
        return [line["kind"] for line in client.get("/api/log", params=asked).json()["lines"]]

    assert kinds("info") == ["sealed", "kept", "stop", "promoted"]
    assert kinds("error") == ["stop"]
    assert client.get("/api/log", params={"run": "run-1", "level": "x"}).status_code == 400


def test_runs_are_compared_on_the_same_axes(client: TestClient) -> None:
    html = client.get("/api/compare", params={"run": ["run-1", "run-2"]}).json()["html"]
    assert html.count('<g class="run-1">') == 3  # in the legend, and in both widths
    assert "success of 2 runs against robot-hours" in html
    assert client.get("/api/compare", params={"run": ["run-1", "nobody"]}).status_code == 404


def test_metrics_are_in_prometheus_s_format(client: TestClient) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'enpire_run_live{run="run-1",task="pick_cube"} 0' in lines
    counts = [
        float(line.rsplit(" ", 1)[1])
        for line in lines
        if line.startswith('enpire_run_episodes_total{run="run-1"')
    ]
    assert sum(counts) == 100
    (robot,) = [li for li in lines if li.startswith('enpire_run_robot_seconds_total{run="run-1"')]
    assert float(robot.rsplit(" ", 1)[1]) > 100.0
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.split("{")[0] for line in lines if not line.startswith("#")} <= named


def test_a_run_that_cannot_be_read_is_listed_with_what_is_wrong(tmp_path: Path) -> None:
    write_run(tmp_path / "good").close()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "ledger.sqlite").write_text("nonsense" * 1000)
    (tmp_path / "bad" / "config.toml").write_text("")
    client = _client(tmp_path)
    text = client.get("/metrics").text
    assert 'enpire_run_unreadable{run="bad",task="?"} 1' in text
    assert 'enpire_run_unreadable{run="good",task="pick_cube"} 0' in text
    assert client.get("/api/episodes", params={"run": "bad"}).status_code == 409


def test_pictures_of_a_run_are_shown_and_nothing_else(client: TestClient) -> None:
    assert client.get("/evidence/run-1/00000001-0-front.png").content == b"picture"
    assert client.get("/evidence/run-1/00000001-1-front.png").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/evidence/run-1/..%2F..%2Fsecret.png",
        "/evidence/..%2F/secret.png",
        "/evidence/run-1/../../secret.png",
        "/evidence/%2e%2e/secret.png",
        "/evidence/run-1/00000001-0-..%2f..%2f..%2fsecret.png",
        "/static/..%2Fapp.py",
        "/static/app.py",
        "/api/episodes?run=..%2Frun-1",
        "/api/episodes?run=%00",
        "/api/log?run=.",
    ],
)
def test_no_path_leads_out_of_what_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_link_among_the_pictures_is_not_followed(folder: Path, client: TestClient) -> None:
    link = folder / "run-1" / "evidence" / "00000002-0-front.png"
    link.symlink_to(folder / "secret.png")
    try:
        assert client.get(f"/evidence/run-1/{link.name}").status_code == 404
    finally:
        link.unlink()


# Who may ask


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8321", 200),
        ("localhost:9", 200),
        ("[::1]:8321", 200),
        ("evil.example", 421),
        ("evil.example:8321", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.7:8321", 421),
        ("", 421),
    ],
)
def test_only_this_machine_s_names_are_served(client: TestClient, host: str, status: int) -> None:
    assert client.get("/metrics", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (BASE, 200),
        ("http://evil.example", 403),
        ("http://127.0.0.1:9999", 403),
        ("https://127.0.0.1:8321", 403),
        ("null", 403),
    ],
)
def test_pages_of_other_origins_are_refused(client: TestClient, origin: str, status: int) -> None:
    assert client.get("/metrics", headers={"Origin": origin}).status_code == status
    fetched = client.get("/metrics", headers={"Sec-Fetch-Site": "cross-site"})
    assert fetched.status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_every_answer_tells_a_browser_what_it_may_do(client: TestClient) -> None:
    for path in ("/", "/static/page.js", "/metrics", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_beyond_this_machine_nothing_is_told_without_the_token(folder: Path) -> None:
    client = _client(folder, host="0.0.0.0")
    for path in ("/metrics", "/api/episodes?run=run-1", "/evidence/run-1/x", "/api/events"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers=_headers("wrong")).status_code == 401
    assert client.get("/metrics", headers=_headers()).status_code == 200
    assert "run-1" not in client.get("/").text
    assert client.get("/", headers={"Host": "192.168.1.7:8321"}).status_code == 200
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_an_address_that_is_too_long_is_refused(client: TestClient) -> None:
    assert client.get(f"/api/log?run={'x' * 3000}").status_code == 414


# Controls


def test_a_control_needs_the_token(running: Run) -> None:
    client = _client(running.folder)
    body = json.dumps({"run": "run", "action": "stop"})
    for headers in ({}, _headers("wrong"), _headers(""), {"Authorization": TOKEN}):
        assert client.post("/api/control", content=body, headers=headers).status_code == 401
    other = _headers() | {"Origin": "http://evil.example"}
    assert client.post("/api/control", content=body, headers=other).status_code == 403
    form = _headers() | {"Content-Type": "text/plain"}
    assert client.post("/api/control", content=body, headers=form).status_code == 415
    assert client.get("/api/control", headers=_headers()).status_code == 405
    assert not (running.folder / "requests").exists()


def test_there_are_no_controls_where_one_may_only_read(running: Run) -> None:
    client = _client(running.folder, read_only=True)
    assert client.post("/api/control", **_control(run="run", action="stop")).status_code == 404
    assert not (running.folder / "requests").exists()


def test_a_control_reaches_the_loop(running: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LOOK_S", 0.0)
    stopped: list[bool] = []
    taking = Requests(running.folder, lambda: stopped.append(True))
    client = _client(running.folder)
    client.get("/metrics")

    def asked(**of: Any) -> list[Request]:
        assert client.post("/api/control", **_control(run="run", **of)).status_code == 200
        return taking.take()

    who = "by a person at the dashboard"
    assert asked(action="aside", station=1) == [Request(1, True, f"put aside {who}")]
    assert asked(action="back", station=1) == [Request(1, False, f"put back {who}")]
    assert asked(action="pause") == [Request(n, True, f"paused {who}") for n in (0, 1)]
    assert asked(action="resume") == [Request(n, False, f"resumed {who}") for n in (0, 1)]
    assert asked(action="stop") == []
    assert stopped == [True]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "[" * 4000,
        "{}",
        '{"run": "run", "action": "burn"}',
        '{"run": "run", "action": "aside"}',
        '{"run": "run", "action": "aside", "station": 2}',
        '{"run": "run", "action": "aside", "station": -1}',
        '{"run": "run", "action": "aside", "station": true}',
        '{"run": "run", "action": "stop", "station": 0}',
        '{"run": ["run"], "action": "stop"}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_control_is_refused(running: Run, body: str | bytes) -> None:
    client = _client(running.folder)
    client.get("/metrics")
    answer = client.post("/api/control", content=body, headers=_headers())
    assert answer.status_code == 400
    assert not (running.folder / "requests").exists()


def test_nobody_hears_of_a_control_where_no_loop_runs(client: TestClient, folder: Path) -> None:
    answer = client.post("/api/control", **_control(run="run-1", action="stop"))
    assert answer.status_code == 409
    assert "no loop works on" in answer.text
    assert client.post("/api/control", **_control(run="x", action="stop")).status_code == 404
    assert not (folder / "run-1" / "requests").exists()


def test_an_oversized_request_is_refused_whether_it_says_so_or_not(running: Run) -> None:
    client = _client(running.folder)
    large = b" " * 5000
    assert client.post("/api/control", content=large, headers=_headers()).status_code == 413
    parts = iter([large[:2500], large[2500:]])
    assert client.post("/api/control", content=parts, headers=_headers()).status_code == 413


def test_what_is_shown_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    write_run(tmp_path / "run").close()

    def state() -> list[tuple[str, int, int]]:
        paths = sorted(tmp_path.rglob("*"))
        return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in paths]

    before = state()
    os.chmod(tmp_path / "run", 0o555)
    try:
        client = _client(tmp_path)
        client.get("/metrics")
        for path in ("episodes", "log", "compare"):
            assert client.get(f"/api/{path}?run=run").status_code == 200
    finally:
        os.chmod(tmp_path / "run", 0o755)
    assert state() == before


def test_a_picture_is_of_a_station_of_a_run_under_way(client: TestClient, running: Run) -> None:
    there = _client(running.folder)
    there.get("/api/compare", params={"run": "run"})
    for asked, status in (("station=x", 400), ("station=0", 404), ("", 404)):
        assert there.get(f"/api/picture?run=run&{asked}").status_code == status
    assert client.get("/api/picture?run=run-1&station=0").status_code == 404
    assert client.get("/api/picture?run=../run-1&station=0").status_code == 404


def test_an_episode_is_asked_for_by_its_number(running: Run) -> None:
    running.add_episodes([episode("e1")])
    client = _client(running.folder)
    assert "enpire replay" in client.get("/api/episode?run=run&number=1").json()["html"]
    for asked, status in (("number=2", 404), ("number=0", 404), ("", 404), ("number=x", 400)):
        assert client.get(f"/api/episode?run=run&{asked}").status_code == status
