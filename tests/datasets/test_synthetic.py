"""Episodes that never were fit the policy that they are for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enpire.datasets.synthetic import synthetic_episodes
from enpire.policies import LeRobotPolicy
from tests.policies.lerobots import folder_of


def test_made_up_episodes_fit_the_policy(tmp_path: Path) -> None:
    policy = LeRobotPolicy.read(folder_of("act", tmp_path / "act", 6, 3, ("top",), 32))
    one, other = synthetic_episodes(policy, 0)[:2]
    assert one.observations.shape[1] == 6
    assert one.pictures.shape == (len(one), 1, 32, 32, 3)
    assert not np.array_equal(one.pictures, other.pictures)
    again = synthetic_episodes(policy, 0)[0]
    np.testing.assert_array_equal(one.pictures, again.pictures)
