"""What a loop begins with that was there before it: a policy, demonstrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import RecipeError, UsageError
from enpire.option_values import RANDOM
from enpire.packs.finder import GYM, sets_joints

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.improvement.configured_recipe import ConfiguredRecipe
    from enpire.policies import Policy
    from enpire.rollout.loop.settings import LoopSettings
    from enpire.store import Run

GIVEN = "given"  # the recipe of a policy that nothing here has made
UNTAUGHT, TAUGHT = "finetune", "dagger"  # of LeRobot's policies: by themselves, by a teacher
FROM_HELP, FROM_PICTURES = "replay_bc", "state_estimation"
UNTRACKED = "recover"  # from pictures, where demonstrations have nothing of a tracker's
BEGINS = ("policy", "demonstrations_of")  # settings that name where it is


def warm_start_settings(given: dict[str, Any], task: str) -> dict[str, Any]:
    """Return settings with what goes with a policy, demonstrations or a helper that are given.

    A task's own recipe may be one that no help and no picture reaches: a script's.

    Raises:
        StoreError, PolicyError: there is no such policy, or no such run.
        UsageError: it is a script, or random actions.
    """
    if given.get("policy") == RANDOM:
        raise UsageError(
            "--policy random: random actions learn nothing; leave it out, and the loop begins with "
            "demonstrations. enpire eval --policy random measures them"
        )
    if (script := str(given.get("policy", ""))).endswith(".py"):
        raise UsageError(
            f"--policy {script}: a script learns nothing; --demonstrator {script} has a gym: task "
            "begin with what it shows, and enpire eval measures it"
        )
    paths = {name: os.path.abspath(given[name]) for name in BEGINS if name in given}
    goes: dict[str, Any] = {"demonstrations": 0} if paths else {}
    if "policy" in paths:
        from enpire.observe import policy_loading
        from enpire.policies import Composed, LeRobotPolicy

        policy = policy_loading.load(paths["policy"]).policy
        if images := policy_loading.images(policy):
            goes["images"] = images
        if isinstance(policy, Composed):
            policy = policy.base
        if isinstance(policy, LeRobotPolicy):
            helped = bool(given.get("helper"))
            untaught = helped or task.startswith(GYM) or sets_joints(task)
            goes["recipe"] = UNTAUGHT if untaught else TAUGHT
    if given.get("helper"):
        goes.setdefault("recipe", FROM_HELP)
    elif (goes | given).get("images"):
        if "demonstrations_of" in paths and not _tracked(paths["demonstrations_of"]):
            goes.setdefault("recipe", UNTRACKED)
        elif task.startswith(GYM):
            goes.setdefault("recipe", FROM_HELP)  # nothing of it comes from a tracker
        elif "recipe" not in goes | given:
            goes |= {"recipe": FROM_PICTURES, "first_recipe": FROM_PICTURES}
    return goes | given | paths


def _tracked(shown: str) -> bool:
    """Whether demonstrations of a run have what a tracker says; those of a dataset may not.

    Raises:
        StoreError: it is no run.
    """
    from enpire.improvement.data import tracked
    from enpire.store import Run
    from enpire.types import Purpose

    with Run.open(Path(shown)) as run:
        return next((tracked(e) for e in run.episodes(Purpose.DEMONSTRATION) if len(e)), False)


def require_warm_start(
    settings: LoopSettings, stations: StationBackend, recipe: ConfiguredRecipe
) -> None:
    """See whether a run can begin with them, before there is one.

    recipe: the one that improves them first.

    Raises:
        StoreError, PolicyError: they are not there, or not for these stations.
        UsageError: the recipe does not improve such a policy.
    """
    if settings.first.demonstrations_of:
        from enpire.rollout.collection.import_demonstrations import demonstrations

        demonstrations(Path(settings.first.demonstrations_of), stations)
    if settings.first.policy:
        policy = _fitting(settings.first.policy, stations)
        try:
            recipe.require_policy(policy)
        except RecipeError as error:
            raise UsageError(f"--policy {settings.first.policy}: {error}") from error


def warm_start(run: Run, settings: LoopSettings, stations: StationBackend) -> None:
    """See to it that a run has them, whether it begins or goes on.

    Raises as `require_warm_start`.
    """
    if settings.first.demonstrations_of:
        from enpire.rollout.collection.import_demonstrations import adopt

        adopt(run, Path(settings.first.demonstrations_of), stations)
    from enpire.rollout.loop.round_decisions import POLICY

    if settings.first.policy and run.ledger.policy(f"{POLICY}-0") is None:
        from enpire.policies import metadata

        policy = _fitting(settings.first.policy, stations)
        tensors, said = policy.tensors(), metadata(policy)
        run.save_policy(f"{POLICY}-0", tensors, said, recipe=GIVEN, state="incumbent")


def _fitting(reference: str, stations: StationBackend) -> Policy:
    from enpire.observe import policy_loading
    from enpire.policies import LeRobotPolicy

    chosen = policy_loading.load(reference)
    policy_loading.require_fit(chosen.policy, stations, chosen.name)
    if isinstance(chosen.policy, LeRobotPolicy):
        return chosen.policy.fitted(stations)
    return chosen.policy
