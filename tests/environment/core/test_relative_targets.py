"""Which targets of actions are observed, too, and in which unit."""

from __future__ import annotations

import numpy as np

from enpire.environment import relative_targets
from tests.environment.reach import by_joints, reach_stations


def test_a_target_that_is_a_joints_own_place_leaves_it_there() -> None:
    stations = reach_stations(task=by_joints())
    targets = relative_targets(stations)
    dof = stations.control.ends.shape[2] - 1
    assert [each.done for each in targets] == list(range(dof)), "and no gripper"
    low, high = (end.ravel()[:dof] for end in stations.control.ends)
    joints = np.random.default_rng(0).uniform(low, high, (5, dof))
    kept = 2.0 * (joints - low) / (high - low) - 1.0
    own = joints[:, [each.seen for each in targets]] * [each.scale for each in targets]
    np.testing.assert_allclose(kept - own, np.tile(kept[0] - own[0], (5, 1)), atol=1e-12)
    names = stations.task.observation_names
    assert all(names[each.seen].startswith("joint") for each in targets)


def test_actions_that_move_hands_have_none() -> None:
    assert relative_targets(reach_stations()) == ()
