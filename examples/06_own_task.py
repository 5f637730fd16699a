"""A task of your own: a folder with a `task.py`, here examples/tasks/reach.

One arm reaches for a goal that floats somewhere before it. The folder is all that the loop needs.
"""

from pathlib import Path

import enpire

reach = Path(__file__).parent / "tasks" / "reach"

print(enpire.evaluate("random", task=reach, episodes=20))
result = enpire.improve(
    task=reach,
    demonstrations=40,
    start_episodes=100,
    execute=4,  # actions of a chunk of eight, then the policy looks again
    max_rounds=0,  # the first policy alone, and how good it is
    first_recipe_settings={"training": {"steps": 1000}},
    progress=True,
)
print(f"cloned from 40 demonstrations: {result.start}")
