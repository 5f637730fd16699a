"""The marks on the bench around the tray, by which the cameras are told where they stand."""

from __future__ import annotations

import numpy as np

from enpire.environment import CameraMarks

# As in scene.xml [m]; nothing that is pushed comes there.
MARKS = CameraMarks(
    np.array(
        [
            (0.301, 0.000, 0.0),
            (0.285, -0.090, 0.0),
            (0.285, 0.090, 0.0),
            (0.240, -0.168, 0.0),
            (0.253, 0.150, 0.0),
            (0.098, -0.100, 0.0),
        ]
    ),
    radius=0.008,
)
