"""After a latched stop nothing moves until a person clears it, whatever else anybody tries."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from enpire.errors import SafetyError
from enpire.safety.machine import Event, Mode, after
from enpire.safety.rules import GateRule
from tests.safety.hostile import SETPOINTS, _body
from tests.safety.rig import Rig

ASKS = ("arm", "recover", "park", "disarm", "episode", "stop")


class Latched(RuleBasedStateMachine):
    """Anything but `clear`, once it is latched; `clear` gives no motion of itself."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.rig = Rig(Path(self.folder.name), records=False)

    @initialize(how=st.sampled_from(["moving", "armed", "idle", "parking", "broken", "often"]))
    def latch(self, how: str) -> None:
        rig = self.rig
        if how in ("moving", "broken", "often"):
            rig.moving()
        elif how != "idle":
            getattr(rig.supervisor, {"armed": "arm", "parking": "park"}[how])()
            rig.tick(3)
        if how == "broken":
            rig.arms.broken = True
            rig.tick()
            rig.arms.broken = False
        elif how == "often":
            for _ in range(4):
                rig.supervisor.stop()
                rig.settle()
                self.ask("recover")
        else:
            rig.supervisor.stop(GateRule.EMERGENCY)
            rig.tick()
        self.sent = len([s for s, _ in rig.arms.sent if s is not None])
        self.at = rig.arms.position.copy()

    @rule(what=st.sampled_from(ASKS))
    def ask(self, what: str) -> None:
        try:
            getattr(self.rig.supervisor, what)()
        except SafetyError:
            return

    @rule(kind=st.sampled_from(SETPOINTS), number=st.integers(0, 2**32), count=st.integers(1, 5))
    def want(self, kind: str, number: int, count: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(count):
            body = _body(self.rig, kind, rng)
            if body is not None:
                self.rig.put(body)
            self.rig.tick()

    @rule(periods=st.integers(1, 20))
    def wait(self, periods: int) -> None:
        self.rig.tick(periods)

    @rule()
    def emergency(self) -> None:
        self.rig.supervisor.stop(GateRule.EMERGENCY)
        self.rig.tick()

    @invariant()
    def nothing_moves(self) -> None:
        if hasattr(self, "sent"):
            assert self.rig.supervisor.mode is Mode.LATCHED
            assert len([s for s, _ in self.rig.arms.sent if s is not None]) == self.sent

    def teardown(self) -> None:
        rig = self.rig
        rig.supervisor.clear()
        rig.tick(5)
        assert rig.supervisor.mode is Mode.HOLDING
        assert len([s for s, _ in rig.arms.sent if s is not None]) == self.sent
        self.folder.cleanup()


QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


class TestLatched(Latched.TestCase):
    settings = settings(max_examples=20, stateful_step_count=15, derandomize=True, **QUIET)


@pytest.mark.slow
class TestLatchedAThousandTimes(Latched.TestCase):
    settings = settings(max_examples=1000, stateful_step_count=30, **QUIET)


def test_only_clear_leads_out_of_latched() -> None:
    leads = {}
    for event in Event:
        with contextlib.suppress(SafetyError):
            leads[event] = after(Mode.LATCHED, event)
    assert leads == {Event.CLEAR: Mode.HOLDING, Event.LATCH: Mode.LATCHED}
