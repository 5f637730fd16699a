"""The station's fixture for resets: a pawl lifter, and three lines that present the tie.

Thin lines run from the head's two sides and from the tail, where the link that is held begins, over
eyelets of wire before the bundle's free end to a winch, which draws each with no more than `PULL`.
The head's two lines keep it upright, and still its swinging; closed fingers have room between and
beside the eyelets. A cable at the head turns the release tab up, as the thumb does at a releasable
tie, and so lifts the pawl.

While a policy runs, and when hands carry the tie, the eyelets are up out of the way, the lines are
slack and the cable is loose. On the twin a line is a spring that pulls only beyond its length, and
has no stiffness at all then; the cable is a torque at the pawl's hinge.
"""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray

from .frames import HEAD
from .strap import GRASPED, TAIL

PAWL, LINES = "pawl", "lines"  # the fixture's two outputs
PRESENTED = np.array(
    [[0.37, 0.0, 0.205], [0.37, -0.084, 0.205]]
)  # head, held place of the tail [m]
HELD = np.array([TAIL[0] / 2, 0.0, 0.0])  # that place in its link [m]
TIED = {  # which of these, its body, where in its frame a line is tied [m]
    "head_near": (0, "head", np.array([0.0, 0.0075, 0.0])),
    "head_far": (0, "head", np.array([0.0, -0.0075, 0.0])),
    "tail": (1, f"link{GRASPED}", np.zeros(3)),
}
REST = 0.004  # of a line that is wound in [m]
STIFFNESS, DAMPING = 150.0, 0.3  # of a line [N/m], [N s/m]
PULL, SPEED = 2.5, 0.15  # of a line by its winch [N], [m/s]
SLACK = 2.0  # of a line that is paid out [m]
LIFT = 0.02  # of the cable at the pawl, against its spring [N m]


def add_fixture(spec: mujoco.MjSpec) -> None:
    """Eyelets, and lines without any stiffness; the strap is there already."""
    for name, (_, body, tied) in TIED.items():
        eyelet = eyelet_of(name, PRESENTED, HEAD)
        spec.worldbody.add_site(name=f"eyelet_{name}", pos=eyelet, size=[0.001] * 3, group=4)
        spec.body(body).add_site(name=f"line_{name}", pos=tied, size=[0.001] * 3, group=4)
        line = spec.add_tendon(name=f"line_{name}", springlength=(0.0, SLACK), group=4)
        line.wrap_site(f"eyelet_{name}")
        line.wrap_site(f"line_{name}")


class Fixture:
    """The fixture of every station of a twin."""

    def __init__(self, twin: Twin) -> None:
        """At rest."""
        model = twin.model
        self._lines = [model.tendon(f"task_line_{name}").id for name in TIED]
        self._eyelets = [model.site(f"task_eyelet_{name}").id for name in TIED]
        self._tied = [model.site(f"task_line_{name}").id for name in TIED]
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
        length = np.full(len(TIED), SLACK)
        if wound:
            lines = self._site[row, self._tied] - self._site[row, self._eyelets]
            span = np.linalg.norm(lines, axis=1)
            drawn = np.minimum(self._length[row, self._lines, 1], span) - SPEED * period
            length = np.maximum(drawn, np.maximum(REST, span - PULL / STIFFNESS))
        self._length[row, self._lines, 1] = length


def eyelet_of(name: str, ends: FloatArray, frame: FloatArray) -> FloatArray:
    """Where it is, if head and held place of the tail are to hang at `ends` (2, 3) [m]."""
    which, _, tied = TIED[name]
    eyelet: FloatArray = ends[which] + frame @ (tied - HELD if which else tied) + (0.0, 0.0, REST)
    return eyelet
