"""Lift the cube of gym-hil's PandaPickCube."""

import numpy as np

STEP = 0.025  # of an action of 1 [m]
OPEN, KEEP, CLOSE = 0.0, 1.0, 2.0


def act(observation):
    """Go over the cube, down, close and lift; which of these, what is seen says."""
    arm, cube = observation["agent_pos"], observation["environment_state"]
    hand, grip = arm[-3:], arm[-4]  # the command: 0 open, 255 closed
    off = cube - hand
    if np.linalg.norm(off[:2]) > 0.015 and hand[2] > cube[2] + 0.03:
        return move([off[0], off[1], cube[2] + 0.08 - hand[2]], OPEN)
    if np.linalg.norm(off) > 0.012 and grip < 200:
        return move(off, OPEN)
    return move([0.0, 0.0, 0.02 if grip > 200 else 0.0], CLOSE)


def move(way, grip):
    return np.append(np.clip(np.array(way) / STEP, -1.0, 1.0), grip).astype(np.float32)
