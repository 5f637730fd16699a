"""Pick the block of gymnasium-robotics' FetchPickAndPlace up, and carry it to the goal."""

import numpy as np

STEP = 0.05  # of an action of 1 [m]
ABOVE = np.array([0.0, 0.0, 0.06])  # from where the hand goes down [m]


def act(observation):
    """Close over the block, open above it; which of the two, what is seen says."""
    seen, goal = observation["observation"], observation["desired_goal"]
    hand, block, fingers = seen[:3], seen[3:6], seen[9] + seen[10]
    off = block - hand
    if np.linalg.norm(off) < 0.02:
        closed = fingers < 0.055  # the block is 0.05 wide
        return move(goal - block if closed else np.zeros(3), -1.0)
    over = np.linalg.norm(off[:2]) < 0.01
    return move(off if over else off + ABOVE, 1.0)


def move(way, fingers):
    return np.append(np.clip(way / STEP, -1.0, 1.0), fingers)
