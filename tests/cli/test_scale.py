"""A run of 100,000 episodes, as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import batched
from pathlib import Path

import numpy as np
import pytest

from enpire.store import Interval, Phase, Run
from enpire.types import Outcome, Predicate, Purpose, Times, Verdict
from tests.observe.report.ledgers import SETTINGS, STATIONS
from tests.store.samples import episode

EPISODES, BATCH, ROUND = 100_000, 8, 2000
SPENT = ((Phase.RESET, 0.5), (Phase.EXECUTE, 3.0), (Phase.VERIFY, 0.5))
LIMIT_S = 5.0  # of processor time
LIMIT_BYTES = 1 << 30

RESUME = """
import os, sys
from pathlib import Path
from enpire.store import Run
with Run.open(Path(sys.argv[1]), writable=True) as run:
    assert sum(e.success for e in run.episodes(without=None)) > 0
    os._exit(0)  # closing walks all rows once more, which resuming does not
"""


def _made(folder: Path) -> Path:
    """A run that was closed; its ledger says everything, its batches hold nothing."""
    rng = np.random.default_rng(0)
    clocks = [0.0] * STATIONS
    with Run.create(folder, {"loop": SETTINGS}) as run:
        run.ledger.file._connection.execute("PRAGMA synchronous = OFF")  # only to make it sooner
        run.save_policy("policy-0", {"w": np.zeros(3)}, {"kind": "chunk"}, state="incumbent")
        for number, some in enumerate(batched(range(EPISODES), BATCH), 1):
            spent: list[Interval] = []
            made = []
            for at in some:
                good, station = rng.random() < 0.5, at % STATIONS
                outcome = Outcome.SUCCESS if good else Outcome.FAILURE
                lifted = Predicate("lifted", 61.0 if good else 20.0, 60.0, "mm")
                held = Predicate("in_hand", 5.0, 8.0, "mm", at_least=False)
                one = episode(
                    f"evaluation-{at}",
                    1,
                    seed=int(rng.integers(2**62)),
                    purpose=(Purpose.EVALUATION, Purpose.COLLECTION)[at // ROUND % 2],
                    policy="policy-0",
                    round=at // ROUND,
                    station=station,
                    verdict=Verdict(outcome, (lifted, held), float(good), "held", ""),
                    times=Times(0.5, 3.0, 0.5),
                )
                made.append(one)
                for phase, seconds in SPENT:
                    start = clocks[station]
                    clocks[station] += seconds
                    spent.append(Interval(station, phase, start, clocks[station], one.id))
            path = f"episodes/{number:08d}"
            (folder / path).mkdir()
            run.ledger.add_batch(path, "0" * 64, 100_000, made, spent)
    return folder


def _took(*words: str) -> tuple[float, int]:
    """Processor time of a command with its start [s], and its memory at its largest [bytes]."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, env=environment
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


@pytest.mark.slow
@pytest.mark.timeout(7200)  # of the clock: a busy machine gives little of its time to it
def test_a_hundred_thousand_episodes_take_seconds_and_less_than_a_gigabyte(tmp_path: Path) -> None:
    folder = _made(tmp_path / "runs" / "run")
    commands = {
        "list": ("-m", "enpire.cli", "list", str(folder.parent)),
        "show": ("-m", "enpire.cli", "show", str(folder), "--json"),
        "report": ("-m", "enpire.cli", "report", str(folder), "-o", str(tmp_path / "o.html")),
        "resume": ("-c", RESUME, str(folder)),
    }
    took = {name: _took(*words) for name, words in commands.items()}
    for name, (seconds, size) in took.items():
        print(f"{name}: {seconds:.1f} s, {size / 1e6:.0f} MB")
    assert {name: each for name, each in took.items() if each[0] > LIMIT_S} == {}
    assert {name: each for name, each in took.items() if each[1] > LIMIT_BYTES} == {}
