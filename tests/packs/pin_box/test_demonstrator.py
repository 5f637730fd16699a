"""The demonstrator: it closes its fingers where a pin is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from .samples import from_tray, module


@pytest.mark.parametrize(("height", "then"), [(0.020, "REACH"), (0.003, "GRASP")])
def test_a_push_is_the_bristles_only_where_they_are(height: float, then: str) -> None:
    """The wrist also feels a hand that starts off: high over a pin, fingers that shut miss it."""
    demonstrator, view = module("demonstrator"), module("frames").View
    stations, rng = from_tray(), np.random.default_rng(0)
    stations.place(0, stations.task.sample(rng))
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
