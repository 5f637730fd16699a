"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from enpire.session.graphics import choose_graphics

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

gc.disable()  # until all is imported and collected: none of it is garbage
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may ask a hub
choose_graphics()  # before any test imports MuJoCo

# Keys of runs made by tests are nobody's own.
STATE = tempfile.TemporaryDirectory(prefix="enpire-tests-")
os.environ["XDG_STATE_HOME"] = STATE.name

# A shell's background job ignores Ctrl-C, and so does all that it starts; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time, however busy the machine: what fails, fails for everybody.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _repeatable_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealed seeds are drawn anew in each run. In tests they are the same ones, run after run."""
    from enpire.rollout.evaluation import seeds
    from tests.entropy import repeatable

    monkeypatch.setattr(seeds, "secrets", repeatable())


@pytest.fixture(autouse=True)
def _warm_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of tests train in one process, one after the other."""
    from enpire.improvement import training_process
    from tests.warm_trainer import WarmTrainer

    monkeypatch.setattr(training_process, "_Worker", WarmTrainer)


def pytest_configure(config: pytest.Config) -> None:
    """Quieten MuJoCo and torch wherever tests run."""
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return  # it hands tests out to workers, who wait for what it imports
    import mujoco  # once graphics are chosen
    import torch

    # No MUJOCO_LOG.TXT in the checkout: its data count warnings, too.
    mujoco.set_mju_user_warning(lambda text: None)
    # Networks here are tiny: a second thread only gets in the way of what else the machine does.
    torch.set_num_threads(1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Of several workers, two import LeRobot."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.scheduling import LeRobotTogether

    return LeRobotTogether(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is imported and collected out of every garbage collection: it stays to the end."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)  # LeRobot is imported later, and so looked at less often
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several workers, none is left with a long file at the end: those come first."""
    if hasattr(config, "workerinput"):
        long = Counter(item.path for item in items if item.get_closest_marker("medium"))
        items.sort(key=lambda item: -long[item.path])  # files stay whole, and in their order
