"""A policy of your own: any function from an observation to an action can be measured.

This one is written by hand. It has a state, so it is an object whose `begin` is called once an
episode and returns the function that acts in it. Without a state, a plain function is enough.
"""

import numpy as np

import enpire


class PickUp:
    """Go above the cube, go down, close the jaw, lift."""

    def begin(self, task):
        names = task.observation_names
        cube = [names.index(f"cube_from_hand_{axis}") for axis in "xyz"]
        turn = [names.index(f"cube_turn_{part}") for part in ("cos", "sin")]
        height, opening = names.index("hand_z"), [names.index(f"opening_{axis}") for axis in "xy"]
        closed = 0  # control periods since the jaw began to close

        def act(observation):
            nonlocal closed
            to_cube = 0.03 * observation[cube]  # observations are scaled to about one; now [m]
            to_cube[:2] -= 0.003 * observation[opening]  # the fixed finger stays off the cube
            angle = np.arctan2(*observation[turn[::-1]]) / 4  # a cube looks alike at each quarter
            above = 0.03 * observation[height] + 0.04 - 0.0165  # of the hand over its grasp [m]
            aligned = np.hypot(*to_cube[:2]) < 0.004 and abs(angle) < 0.12
            action = np.zeros(7)
            if closed or (above < 0.004 and aligned):
                closed += 1
                action[2] = 0.5 if closed > 10 else 0.0
                action[6] = -1.0
            else:
                action[:2] = 50 * to_cube[:2]
                action[2] = np.clip(-50 * above, -0.5, 0.5) if aligned else 50 * (0.04 - above)
                action[5] = 2.5 * angle
                action[6] = -0.52  # a little wider than the cube
            return np.clip(action, -1, 1)

        return act


def still(observation):
    """Do nothing, for comparison."""
    return np.zeros(7)


print(enpire.evaluate(PickUp(), task="pick_cube", episodes=50, seed=1))
print(enpire.evaluate(still, task="pick_cube", episodes=10, seed=1))
