"""Where the cameras stand, from round marks that lie on the bench.

A camera that is a millimetre from where it was calibrated shows things half a millimetre from where
they are, and two that agree need not be right. With the marks where they are seen, each camera
shows things where they are on the bench. Its pose is the one nearest to the calibration at which
all marks are seen where they lie (least squares by Gauss and Newton; the calibration counts as
another measurement).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import scipy  # and its rotations when they are asked for: they take a third of a second

from enpire.environment.cameras.camera import Camera, CameraView, coloured, outline_area
from enpire.types import FloatArray

MAGENTA, SATURATION = (285.0, 335.0), 110.0  # of them [deg], of 255
REACH = 0.020  # of where a mark is expected is what may be it [m]
LEAST = 30  # pixels of a mark
WHOLE = (0.90, 1.10)  # of its outline's area is seen of a mark that nothing hides
ENOUGH = 4  # whole marks that a view must show
APART = 0.4  # that a mark may be seen from where it lies, with the camera where it fits best [px]
MARK = 0.1  # standard deviation of a mark's middle [px]
PLACED = np.array([0.005] * 3 + [0.010] * 3)  # and of the calibration's poses [m], [rad]
STEPS = 4  # of Gauss and Newton
NUDGE = 1e-6  # for slopes [m], [rad]
ROUND = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)  # corners that a mark is drawn with [rad]
RIM = np.stack([np.cos(ROUND), np.sin(ROUND), 0 * ROUND], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class CameraMarks:
    """Magenta discs on a bench."""

    places: FloatArray  # their middles, (n, 3) [m]
    radius: float  # of all of them [m]

    def placed(self, view: CameraView) -> CameraView | None:
        """The view with its camera where the marks say; None if they do not say one thing."""
        camera = view.camera
        places, pixels = self._visible(view)
        if len(places) < ENOUGH:
            return None
        by = np.zeros(6)
        for _ in range(STEPS):
            here = _moved(camera, by).project(places)
            slopes = np.stack(
                [
                    (_moved(camera, by + NUDGE * way).project(places) - here).ravel()
                    for way in np.eye(6)
                ],
                axis=1,
            )
            weighed = np.concatenate([slopes / NUDGE / MARK, np.diag(1 / PLACED)])
            missed = np.concatenate([(pixels - here).ravel() / MARK, -by / PLACED])
            by = by + np.linalg.lstsq(weighed, missed, rcond=None)[0]
        found = _moved(camera, by)
        if np.linalg.norm(found.project(places) - pixels, axis=1).max() > APART:
            return None
        return replace(view, camera=found)

    def _visible(self, view: CameraView) -> tuple[FloatArray, FloatArray]:
        """The marks that are seen whole: places (m, 3) [m], and where they are seen (m, 2) [px]."""
        camera = view.camera
        mask = coloured(view, MAGENTA, SATURATION).mask.astype(np.uint8)
        count, _, stats, centres = cv2.connectedComponentsWithStats(mask)
        large = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= LEAST]
        places, pixels = [], []
        for mark in self.places:
            reach = REACH * camera.focal / float(np.linalg.norm(camera.position - mark))
            at = camera.project(mark)
            near = [i for i in large if np.linalg.norm(centres[i] - at) < reach]
            if len(near) != 1:
                continue
            share = stats[near[0], cv2.CC_STAT_AREA] / outline_area(
                camera, mark + self.radius * RIM
            )
            if WHOLE[0] < share < WHOLE[1]:
                places.append(mark)
                pixels.append(centres[near[0]])
        return np.array(places).reshape(-1, 3), np.array(pixels).reshape(-1, 2)


def _moved(camera: Camera, by: FloatArray) -> Camera:
    """Shifted [m] and turned [rad] in the world by (6,)."""
    turn = scipy.spatial.transform.Rotation.from_rotvec(by[3:]).as_matrix()
    return replace(camera, position=camera.position + by[:3], rotation=turn @ camera.rotation)
