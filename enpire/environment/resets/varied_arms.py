"""Twins of arms that are not all alike: each episode draws its servos, joints and finger pads."""

from __future__ import annotations

import numpy as np

from enpire.twin import Twin


class VariedArms:
    """Draws the arms of a twin from what its robot's `variation` allows.

    In a world that was identified only the finger pads are drawn: its own dynamics say the rest.
    """

    def __init__(self, twin: Twin) -> None:
        """Expand the fields that vary; where nothing varies, none."""
        scene, self._twin = twin.scene, twin
        self._variation = scene.robot.variation
        self._servos = scene.world.dynamics is None
        self._actuators = np.array([arm.actuators for arm in scene.arms])
        self._dofs = np.array([arm.dofs for arm in scene.arms])
        self._pads = [scene.finger_pads(arm) for arm in scene.arms]

    def vary(self, row: int, rng: np.random.Generator) -> None:
        """Write one station's arms, at the beginning of an episode.

        rng: the episode's own. It always gives the same number of draws.
        """
        twin, model, spread = self._twin, self._twin.model, self._variation
        shape = self._actuators.shape
        kp, kv = rng.uniform(*spread.kp, shape), rng.uniform(*spread.kv, shape)
        friction = rng.uniform(*spread.friction, shape)
        pads = rng.uniform(*spread.pad_friction, len(self._pads))
        if self._servos and spread.kp != ONE:
            at = self._actuators
            twin.expand("actuator_gainprm")[row, at, 0] = kp * model.actuator_gainprm[at, 0]
            twin.expand("actuator_biasprm")[row, at, 1] = kp * model.actuator_biasprm[at, 1]
        if self._servos and spread.kv != ONE:
            at = self._actuators
            twin.expand("actuator_biasprm")[row, at, 2] = kv * model.actuator_biasprm[at, 2]
        if self._servos and spread.friction != ONE:
            at = self._dofs
            twin.expand("dof_frictionloss")[row, at] = friction * model.dof_frictionloss[at]
        if spread.pad_friction != ONE:
            for geoms, factor in zip(self._pads, pads, strict=True):
                sliding = factor * model.geom_friction[geoms, 0]
                twin.expand("geom_friction")[row, geoms, 0] = sliding


ONE = (1.0, 1.0)
