"""The demonstrator: it closes its fingers where a pin is, and knows where it has carried it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import build_stations

from .samples import from_tray, module


@pytest.mark.parametrize(("height", "then"), [(0.020, "REACH"), (0.003, "GRASP")])
def test_a_push_is_the_bristles_only_where_they_are(height: float, then: str) -> None:
    """The wrist also feels a hand that starts off: high over a pin, fingers that shut miss it."""
    demonstrator, view = module("demonstrator"), module("frames").View
    stations, rng = from_tray(), np.random.default_rng(0)
    stations.set_initial_state(0, stations.task.sample(rng))
    readings = stations.sensors.read(np.array([0]), [0])[0]
    person = demonstrator.Teleoperator(
        rng, stations.task.actions, tremor=0.0, skill=demonstrator.Skill.REACH
    )
    position = person._goal(view.of(readings))[0] + (0.0, 0.0, height)
    readings = replace(readings, hand_position=position[None, None])
    rotation = person._goal(view.of(readings))[1]
    readings = replace(
        readings,
        hand_rotation=rotation[None, None],
        wrist_force=np.array([[[0.0, 0.0, -3.0]]]),
    )
    person.act(readings)
    assert person.skill is demonstrator.Skill[then]


def test_a_held_pin_is_where_the_hand_has_carried_it_since_it_was_seen() -> None:
    """Steered by where it was seen, a soft hand, itself late, swung about the hole by 4 mm."""
    demonstrator, view = module("demonstrator"), module("frames").View
    stations, rng = build_stations("pin_box", 1, 1), np.random.default_rng(0)
    stations.set_initial_state(0, stations.task.sample(rng))
    before = stations.sensors.read(np.array([0]), [0])[0]
    by, turn = np.array([0.002, -0.003, 0.001]), Rotation.from_rotvec((0.0, 0.02, 0.05)).as_matrix()
    hand = before.hand_position[0, 0]
    position, rotation = before.position.copy(), before.rotation.copy()
    position[0, -1] = hand + by + turn @ (position[0, -1] - hand)
    rotation[0, -1] = turn @ rotation[0, -1]
    now = replace(
        before,
        hand_position=before.hand_position + by,
        hand_rotation=turn @ before.hand_rotation,
        position=position,
        rotation=rotation,
    )
    person = demonstrator.Teleoperator(rng, stations.task.actions)
    held, there = person._hold(view.of(before), view.of(now)), view.of(now)
    assert np.linalg.norm(there.end - view.of(before).end) > 0.002
    np.testing.assert_allclose(held.end, there.end, atol=1e-9)
    np.testing.assert_allclose(held.direction, there.direction, atol=1e-9)
    np.testing.assert_allclose(held.grip, there.grip, atol=1e-9)


@pytest.mark.parametrize("off", [(0.002, 0.0), (0.0, -0.002)])
def test_a_search_comes_back_to_its_hole(off: tuple[float, float]) -> None:
    """A pin that sticks to the face does not go where setpoints do: it is led by where it is."""
    demonstrator, view = module("demonstrator"), module("frames").View
    stations, rng = build_stations("pin_box", 1, 1), np.random.default_rng(0)
    stations.set_initial_state(0, stations.task.sample(rng))
    seen = view.of(stations.sensors.read(np.array([0]), [0])[0])
    seen = replace(seen, end=np.array([*off, 0.0]))
    person = demonstrator.Teleoperator(rng, stations.task.actions, skill=demonstrator.Skill.SEARCH)
    moves = [person._guide(seen, np.zeros(3))[0][:2] for _ in range(40)]
    assert np.sum(moves, axis=0) @ off < -0.5 * np.dot(off, off)
