"""Old names of what a task has: they work for one release, and warn."""

from __future__ import annotations

import warnings

NEW_NAMES = {
    "vary": "randomize_physics",
    "place": "set_initial_state",
    "prepare": "after_compile",
    "plant": "after_step",
    "probe": "verification_action",
    "judge": "verify",
    "judge_views": "verify_views",
    "ready": "looks_done",
    "truth": "ground_truth",
    "kept": "fixed_action_dims",
}


def accept_old_names(task: type) -> None:
    """Give a task's class what it defines under an old name under the new one, too.

    A class that defines both has a helper of its own under the old name, which stays what it is.
    Otherwise both names find the same, so that `super()` in a subclass finds either. Python hides a
    DeprecationWarning outside the main script, and packs are modules: it is a FutureWarning.
    """
    own = dict(vars(task))
    for old, new in NEW_NAMES.items():
        if new in own and old not in own:
            setattr(task, old, own[new])
        elif old in own and new not in own:
            setattr(task, new, own[old])
            warnings.warn(
                f"{task.__name__}.{old} is called {new} now: rename it; the old name goes with 0.3",
                FutureWarning,
                stacklevel=4,  # the class statement, behind `__init_subclass__` and `ABCMeta`
            )
