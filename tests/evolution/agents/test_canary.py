"""A key that a campaign needs is where its model is asked, and nowhere else."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.evolution.agents.programs import WORKSPACES
from enpire.evolution.experiments import unbiased_estimate
from enpire.sandbox.sandbox import available
from tests.evolution import coding
from tests.evolution.coding import FILE, KEYS, ran, researcher
from tests.needs import needs

psutil = pytest.importorskip("psutil")
needs("mcp")
needs("anthropic")

pytestmark = [
    pytest.mark.medium,
    pytest.mark.skipif(not available().works, reason=available().reason),
]

CANARY = "canary-51d0c2e7"
LOOK_S = 0.05  # between looks at the processes that run


class _Processes:
    """Looks at command lines and environments of all children, over and over."""

    def __init__(self) -> None:
        self.looked: set[int] = set()
        self.leaks: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Processes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        this = psutil.Process()
        while not self._ended.wait(LOOK_S):
            for child in this.children(recursive=True):
                with suppress(psutil.Error):  # it has just ended
                    said = f"{child.cmdline()} {child.environ()}"
                    self.looked.add(child.pid)
                    self.leaks |= {said} if CANARY in said else set()


def _has_it(data: bytes) -> bool:
    return CANARY.encode() in data


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def test_a_canary_is_in_no_file_log_report_process_or_child(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(coding, "HARNESS_KEY", CANARY)
    for name in (*KEYS, "HF_TOKEN", "WANDB_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "run"
    with _Processes() as processes:
        workspace = (folder / WORKSPACES / "claude-0" / "work").resolve()
        ended = ran(folder, "claude", researcher("claude", workspace))
        report = tmp_path / "report.html"
        assert main(["report", str(folder), "-o", str(report)]) == 0
        assert main(["show", str(folder), "--json"]) == 0
        assert main(["fsck", str(folder)]) == 0
        assert main(["copy", str(folder), str(tmp_path / "copy")]) == 0
    assert ended.campaign.state.reached
    assert (ended.workspace / FILE).exists(), "the agent has worked"
    assert any(CANARY in str(asked.headers) for asked in ended.replay.asked), "the control"
    assert len(processes.looked) > 2, "the agent's own among them"
    assert processes.leaks == set()
    assert [path for path in _files(tmp_path) if _has_it(path.read_bytes())] == []
    assert len(_files(tmp_path)) > 20
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text
