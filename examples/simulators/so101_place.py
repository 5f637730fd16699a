"""The script of lerobot-env-so101 for its SO101PickPlace, made with `action_scale=0.025`."""

from lerobot_env_so101.scripted import PickPlaceController


def begin(env):
    there, script = env.unwrapped, PickPlaceController()

    def act(observation):
        return script.act(there.ik_point_pos, observation["environment_state"][:3], there.goal_pos)

    return act
