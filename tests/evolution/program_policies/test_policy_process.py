"""A policy's process: what it is told, and when."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Readings
from enpire.errors import PolicyFault
from enpire.evolution.program_policies import policy_process
from enpire.evolution.program_policies.policy_process import PolicyLimits, PolicyProcess
from enpire.sandbox.sandbox import Confinement
from tests.evolution.hostile.arena import needs_sandbox

SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))
# Acts on what it sees; told of less than zero, it dies with all that it has been told.
TELLS = """
import numpy as np
class Policy:
    def __init__(self):
        self.begun, self.seen = [], []
    def begin(self, row):
        self.begun.append(row)
    def saw(self, row, observations):
        self.seen.append((row, observations[:, 0].tolist()))
    def act(self, rows, observations):
        import json
        if observations[0, 0] < 0:
            raise RuntimeError(json.dumps([self.begun, self.seen, rows.tolist()]))
        return np.tile(observations[:, None, :1], (1, 3, 2))
def make(observation, action):
    assert (observation, action) == (2, 2)
    return Policy()
"""


@pytest.fixture(
    params=[pytest.param(Confinement.BUBBLEWRAP, marks=needs_sandbox), Confinement.NONE]
)
def process(request: pytest.FixtureRequest) -> Iterator[PolicyProcess]:
    made = PolicyProcess({"policy.py": TELLS.encode()}, 2, 2, confinement=request.param)
    yield made
    made.close()


def see(*values: float) -> np.ndarray:
    return np.array([[value, 0.0] for value in values], np.float32)


def test_plans_and_what_was_seen_meanwhile_cross_over(process: PolicyProcess) -> None:
    rng = np.random.default_rng(0)
    for row in (0, 2):
        process.begin(row, rng, 0.0)
    actions = process.act(np.array([0, 2]), see(1, 2), SENSED)
    np.testing.assert_array_equal(actions, [[1, 1], [2, 2]])
    np.testing.assert_array_equal(process.plan(2), [[2, 2], [2, 2]])
    process.plan(0)
    process.saw(2, see(3, 4))
    process.begin(0, rng, 0.0)
    with pytest.raises(PolicyFault) as raised:
        process.act(np.array([2]), see(-1), SENSED)
    told = str(raised.value).partition("RuntimeError: ")[2].rstrip("'\"")
    assert json.loads(told) == [[0, 2, 0], [[2, [3, 4]]], [2]]


def test_fault_stays(process: PolicyProcess) -> None:
    for _ in range(2):
        with pytest.raises(PolicyFault, match="died"):
            process.act(np.array([0]), see(-1), SENSED)
    assert "died" in process.fault


def test_an_episode_that_begins_while_others_wait_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = PolicyProcess({"policy.py": TELLS.encode()}, 2, 2, confinement=Confinement.NONE)
    rng, write = np.random.default_rng(0), process._write

    def meanwhile(data: bytes, end: float) -> None:
        write(data, end)
        process.begin(1, rng, 0.0)

    monkeypatch.setattr(process, "_write", meanwhile)
    process.begin(0, rng, 0.0)
    process.act(np.array([0]), see(1), SENSED)
    with pytest.raises(PolicyFault) as raised:
        process.act(np.array([0, 1]), see(-1, -1), SENSED)
    assert "[[0, 1], [], [0, 1]]" in str(raised.value)


def test_one_that_is_slow_is_ended_by_its_pace() -> None:
    text = TELLS.replace("import json\n", "import json, time; time.sleep(0.05)\n")
    limits = PolicyLimits(pace_s=0.02)
    process = PolicyProcess({"policy.py": text.encode()}, 2, 2, limits, Confinement.NONE)
    for _ in range(policy_process.SETTLED - 1):
        process.act(np.array([0]), see(1), SENSED)
    with pytest.raises(PolicyFault, match="for an answer, on average"):
        process.act(np.array([0]), see(1), SENSED)


def test_folders_that_a_killed_harness_leaves_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = PolicyProcess({"policy.py": TELLS.encode()}, 2, 2, confinement=Confinement.NONE)
    left = Path(tempfile.mkdtemp(prefix=policy_process.FOLDER))
    (left / "policy.py").write_text("")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / f"{policy_process.FOLDER}link").symlink_to(outside)
    policy_process.sweep()
    assert left.exists()  # young: somebody may be making it
    policy_process.sweep(young_s=0.0)
    assert not left.exists()
    assert outside.exists()
    assert process.act(np.array([0]), see(1), SENSED).shape == (1, 2)  # what is in use stays
    process.close()
    assert [p.name for p in tmp_path.glob(f"{policy_process.FOLDER}*")] == ["enpire-policy-link"]
