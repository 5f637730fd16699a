"""The station's fixture for resets: a pawl lifter, and two lines that present the tie.

A thin line runs from the head, and one from the held link of the tail, over an eyelet before the
bundle's free end to a winch. A winch draws with no more than `PULL`. A cable at the head turns the
release tab up, as the thumb does at a releasable tie, and so lifts the pawl. While a policy runs
the eyelets are raised out of the way, the lines are slack and the cable is loose: on the twin a
line is a spring that pulls only beyond its length, with no stiffness at all then, and the cable
a torque at the pawl's hinge.
"""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.twin import Twin

from .strap import GRASPED, TAIL, WIDTH

PAWL, LINES = "pawl", "lines"  # the fixture's two outputs
PRESENTED = np.array([[0.37, 0.0, 0.205], [0.37, -0.084, 0.205]])  # head, held link [m]
EDGE = np.array([[0.0, -0.0075, 0.0], [TAIL[0] / 2, -WIDTH / 2, 0.0]])  # where lines are tied [m]
REST = np.array([0.004, 0.008])  # of a line that is wound in [m]
STIFFNESS, DAMPING = 150.0, 0.3  # of a line [N/m], [N s/m]
PULL, SPEED = 4.0, 0.15  # of a winch [N], [m/s]
SLACK = 2.0  # of a line that is paid out [m]
LIFT = 0.02  # of the cable at the pawl, against its spring [N m]


def add_fixture(spec: mujoco.MjSpec) -> None:
    """Eyelets, and lines without any stiffness; the strap is there already."""
    for name, body, edge, at, rest in zip(
        ("head", "tail"), ("head", f"link{GRASPED}"), EDGE, PRESENTED, REST, strict=True
    ):
        eyelet = at + np.array([abs(edge[1]), 0.0, rest])
        spec.worldbody.add_site(name=f"eyelet_{name}", pos=eyelet, size=[0.001] * 3, group=4)
        spec.body(body).add_site(name=f"line_{name}", pos=edge, size=[0.001] * 3, group=4)
        line = spec.add_tendon(name=f"line_{name}", springlength=(0.0, SLACK), group=4)
        line.wrap_site(f"eyelet_{name}")
        line.wrap_site(f"line_{name}")


class Fixture:
    """The fixture of every station of a twin."""

    def __init__(self, twin: Twin) -> None:
        """At rest."""
        model = twin.model
        self._lines = [model.tendon(f"task_line_{name}").id for name in ("head", "tail")]
        self._ends = np.array(
            [
                [model.site(f"task_{end}_{name}").id for end in ("eyelet", "line")]
                for name in ("head", "tail")
            ]
        )
        self._pawl = model.joint("task_pawl").dofadr[0]
        self._site = twin.site_xpos
        self._torque = twin.bind("qfrc_applied")
        self._length = twin.expand("tendon_lengthspring")
        self._stiffness = twin.expand("tendon_stiffness")
        self._damping = twin.expand("tendon_damping")

    def operate(self, row: int, on: tuple[str, ...], period: float) -> None:
        """Have these outputs on for the next `period` [s]."""
        self._torque[row, self._pawl] = -LIFT if PAWL in on else 0.0
        wound = LINES in on
        self._stiffness[row, self._lines] = STIFFNESS if wound else 0.0
        self._damping[row, self._lines] = DAMPING if wound else 0.0
        if wound:
            ends = self._site[row, self._ends]
            span = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
            drawn = np.minimum(self._length[row, self._lines, 1], span) - SPEED * period
            drawn = np.maximum(drawn, span - PULL / STIFFNESS)
            self._length[row, self._lines, 1] = np.maximum(drawn, REST)
        else:
            self._length[row, self._lines, 1] = SLACK
