"""Bytes that come in by any door are used, or refused by a sentence, soon, and never run."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.changes import changed
from tests.fuzz.doors import Door, doors

FEW, FEWEST = 60, 1_000_000
LONGEST_S = 20.0  # of one input; on a machine that does nothing else, all take below 0.1 s
RUNS_CODE = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}

_ran: list[str] = []
_listening = False


def _hear(event: str, _: object) -> None:
    if _listening and event in RUNS_CODE:
        _ran.append(event)


sys.addaudithook(_hear)  # stays: there is no way to remove one


@pytest.fixture
def listening() -> Iterator[None]:
    """Hear of programs that are started."""
    global _listening
    _ran.clear()
    _listening = True
    yield
    _listening = False


def _fuzz(door: Door, count: int) -> None:
    """Give a door so many inputs; raises AssertionError that names the first that it does not bear.

    The same count draws the same inputs, so that one which fails is found again by its number.
    """
    rng = np.random.default_rng(zlib.crc32(door.name.encode()))
    for example in door.examples:
        door.give(example)
    for number in range(count):
        data = changed(door.examples[number % len(door.examples)], rng, door.examples)
        start = time.monotonic()
        said = "nothing is wrong"
        try:
            door.give(data)
        except door.refuses as error:
            said = str(error).strip()
        except Exception as error:
            raise AssertionError(f"{door}, input {number}: {error!r} of {data[:200]!r}") from error
        assert said, f"{door}, input {number}: refused without a word"
        assert time.monotonic() - start < LONGEST_S, f"{door}, input {number} took long"
        assert not _ran, f"{door}, input {number} started a program: {data[:200]!r}"


@pytest.mark.medium
@pytest.mark.usefixtures("listening")
@pytest.mark.filterwarnings("ignore")
def test_a_few_inputs_by_each_door(tmp_path: Path) -> None:
    for door in doors(tmp_path):
        _fuzz(door, FEW)


@pytest.mark.slow
@pytest.mark.timeout(10_800)
@pytest.mark.usefixtures("listening")
@pytest.mark.filterwarnings("ignore")
def test_a_million_inputs(tmp_path: Path) -> None:
    total = 0
    for door in doors(tmp_path):
        start = time.monotonic()
        _fuzz(door, door.inputs)
        total += door.inputs
        print(
            f"{door}: {door.inputs} in {time.monotonic() - start:.0f} s; {total} in all", flush=True
        )
    assert total >= FEWEST
