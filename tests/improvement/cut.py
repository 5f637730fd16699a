"""A training that is cut short whenever it has kept where it is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np

from enpire.improvement.checkpoint import Checkpoint, TrainingState
from enpire.improvement.recipe import Recipe, RecipeInputs


class Cut(Checkpoint):
    def keep(self, stage: str, kept: TrainingState) -> None:
        super().keep(stage, kept)
        raise KeyboardInterrupt


def assert_goes_on_when_cut(recipe: Recipe, given: RecipeInputs, folder: Path) -> None:
    """Assert that it comes to the same weights as undisturbed; its states go into `folder`."""
    whole = recipe.improve(given).policy.tensors()
    times = itertools.count()
    candidate, cuts = None, 0
    while candidate is None:
        checkpoint = Cut(folder, every=2, clock=lambda: float(next(times)))
        try:
            candidate = recipe.improve(replace(given, checkpoint=checkpoint))
        except KeyboardInterrupt:
            cuts += 1
    assert cuts > 1
    for name, value in candidate.policy.tensors().items():
        np.testing.assert_array_equal(value, whole[name])
