"""Policies of LeRobot (0.6 or newer): ACT, Diffusion, SmolVLA and whatever else it can load.

LeRobot itself is imported when such a policy acts or learns, not before: it takes ten seconds.
"""

from enpire.policies.lerobot.folder import find_folder
from enpire.policies.lerobot.policy import LeRobotPolicy
from enpire.policies.lerobot.spec import LeRobotSpec

__all__ = ["LeRobotPolicy", "LeRobotSpec", "find_folder"]
