"""Signals that end a command do so as Ctrl-C does."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from enpire.cli import main
from enpire.rollout.loop.budget import Budget
from enpire.session import session
from enpire.session.signals import interrupt_on_signals
from enpire.web.serving import PageServer


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Who starts the tests with `nohup` has SIGHUP ignored in all of them."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_loop_ends_at_its_next_period_and_at_a_second_signal_at_once(number: int) -> None:
    budget = Budget()
    before = signal.getsignal(number)
    with session._signals(budget):
        signal.raise_signal(number)
        assert budget.interrupted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_what_nohup_ignores_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        budget = Budget()
        with session._signals(budget), interrupt_on_signals():
            signal.raise_signal(signal.SIGHUP)
        assert not budget.interrupted
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_server_that_is_asked_to_end_exits_as_documented(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    pytest.importorskip("websockets")
    pytest.importorskip("msgpack")
    chosen: dict[str, Any] = {"policy": None, "task": "reach", "python": "", "success": ""}
    chosen |= {"name": "policy-0", "sha256": "", "require_trusted": lambda *_: None}
    frozen = "enpire.observe.policy_loading"
    monkeypatch.setattr(f"{frozen}.load", lambda *_: SimpleNamespace(**chosen))
    monkeypatch.setattr(f"{frozen}.images", lambda *_: 0)
    monkeypatch.setattr(f"{frozen}.require_fit", lambda *_: None)
    monkeypatch.setattr("enpire.environment.open_stations", lambda *_: None)
    chunks = SimpleNamespace(longest=1, metadata={})
    monkeypatch.setattr("enpire.policies.remote.server.ChunkServer", lambda *_: chunks)
    main_loop = PageServer.main_loop

    async def asked_to_end(server: PageServer) -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        await main_loop(server)

    monkeypatch.setattr(PageServer, "main_loop", asked_to_end)
    assert main(["serve", "policy", "RUN", "--port", "0"]) == 130


LOST = """
import signal, sys, time
from enpire.session.signals import signal_handler
heard = []
with signal_handler((signal.SIGHUP,), lambda: heard.append(True)):
    print("ready", flush=True)
    while not heard:
        time.sleep(0.01)
    print("to a terminal that is gone", flush=True)
sys.exit(7)
"""


def test_to_print_to_a_terminal_that_is_gone_raises_nothing() -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", LOST],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(theirs)
    assert b"ready" in os.read(ours, 100)
    os.close(ours)  # the terminal is gone
    child.send_signal(signal.SIGHUP)
    assert child.wait(120) == 7
