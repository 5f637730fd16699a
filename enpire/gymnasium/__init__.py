"""Every task as a Gymnasium environment: `zip_tie` is `enpire/ZipTie-v0`.

    import enpire.gymnasium  # registers them
    env = gymnasium.make("enpire/ZipTie-v0")
    envs = gymnasium.make_vec("enpire/ZipTie-v0", num_envs=16)  # stations of one twin

Or without the import: `gymnasium.make("enpire.gymnasium:enpire/ZipTie-v0")`. Registering imports
neither MuJoCo nor a task.
"""

from __future__ import annotations

import ctypes.util
import os
import re
import sys

import gymnasium

from enpire.packs.finder import AT_START, available, with_start

# To render without a display; MuJoCo looks once, when it is imported.
if sys.platform == "linux" and ctypes.util.find_library("EGL"):
    os.environ.setdefault("MUJOCO_GL", "egl")


def register_tasks() -> list[str]:
    """Register all tasks that can be found and are not registered; returns the ids of all.

    Called at import; again where tasks were added since.
    """
    names = [*available("tasks"), *(name + AT_START for name in with_start())]
    tasks = {environment_id(name): name for name in names}
    for name, task in tasks.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="enpire.gymnasium.environment:TaskEnv",
                vector_entry_point="enpire.gymnasium.environment:TaskVectorEnv",
                kwargs={"task": task},
            )
    return list(tasks)


def environment_id(task: str) -> str:
    """`zip_tie` is `enpire/ZipTie-v0`, `pin_box@start` is `enpire/PinBoxStart-v0`."""
    words = re.findall(r"[A-Za-z0-9]+", task)
    return f"enpire/{''.join(word[0].upper() + word[1:] for word in words)}-v0"


register_tasks()
