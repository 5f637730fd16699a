"""The process that learns online: lines of JSON in, blocks of episodes; out, versions.

It ends when its standard input does, in the middle of learning too: with the loop that asked.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import torch

from enpire.errors import EnpireError, RecipeError
from enpire.freed_memory import give_back
from enpire.improvement.checkpoint import Checkpoint, TrainingState, digest
from enpire.improvement.online import OnlineLearner, OnlineRecipe
from enpire.improvement.training_process import LOG, TrainingRequest, recipe_inputs, request_from
from enpire.improvement.versions import publish, publish_candidate
from enpire.improvement.worker import listen, log_to
from enpire.store import Run
from enpire.store.curves import CurveWriter, learner_curve
from enpire.types import Episode

STAGE = "online"
BLOCKS = "blocks"  # in what is kept: how many were learned from


def main() -> None:
    """Learn from block after block, and publish a version after each."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    torch.set_num_threads(1)  # the other cores are the stations'
    asked: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=listen, args=(sys.stdin, asked), daemon=True).start()
    begun = asked.get()
    folder = Path(begun["folder"])
    log_to(folder / LOG)
    try:
        with Run.open(Path(begun["run"]), following=True) as run:
            for said in learned(run, folder, begun, in_turn(asked)):
                answers.write(json.dumps(said) + "\n")
    except EnpireError as error:
        answers.write(json.dumps({"error": str(error)}) + "\n")
    except Exception as error:
        answers.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        raise


def in_turn(asked: SimpleQueue[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is asked, in its order; but a candidate that is wanted now goes before blocks."""
    waiting = deque[dict[str, Any]]()
    while True:
        while not waiting or not asked.empty():
            waiting.append(asked.get())
        said = next((each for each in waiting if each.get("now")), waiting[0])
        waiting.remove(said)
        yield said


def learned(
    run: Run, folder: Path, begun: dict[str, Any], asked: Iterator[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield what to answer: a version after each block, and a candidate where it is asked for.

    What there is to learn before any block is learned while stations collect the first ones.
    """
    training = request_from(begun)
    before = _before(run, begun["first"])
    checkpoint = Checkpoint(folder, digest(training, *(e.id for e in before)))
    learner = _learner(training, run, before)
    curve = CurveWriter(learner_curve(run.folder, begun["first"]))
    kept = checkpoint.find(STAGE)
    version, candidates = 0, list[dict[str, Any]]()
    if kept is None:
        learner.add(())
    else:  # it may be ahead of the first blocks that are handed over again
        version, blocks = int(kept.state[BLOCKS]), list[list[str]]()
        while len(blocks) < version:
            said = next(asked)
            if "block" in said:
                blocks.append(said["block"])
            else:
                candidates.append(said)
        episodes = _episodes_of(run, list(chain.from_iterable(blocks)))
        learner.restore(episodes, TrainingState(kept.tensors, kept.state["state"]))
        yield {"version": version, "numbers": {}} | publish(folder, version, learner.policy())
    for said in chain(candidates, asked):
        if "candidate" in said:
            yield publish_candidate(folder, learner.candidate())
            give_back()
            continue
        numbers = learner.add(_episodes_of(run, said["block"]))
        run.let_go()  # a learner keeps what it learns from
        version += 1
        curve.add(STAGE, version, numbers)
        yield {"version": version, "numbers": numbers} | publish(folder, version, learner.policy())
        if checkpoint.due:
            state = learner.state()
            checkpoint.keep(
                STAGE, TrainingState(state.tensors, {BLOCKS: version, "state": state.state})
            )


def _learner(training: TrainingRequest, run: Run, before: list[Episode]) -> OnlineLearner:
    recipe = training.recipe.recipe
    if not isinstance(recipe, OnlineRecipe):
        raise RecipeError(f"{training.recipe.name} learns in rounds, not online")
    return recipe.learner(recipe_inputs(run, training, before))


def _before(run: Run, first: int) -> list[Episode]:
    """Return what was there before round `first`, in an order of its own."""
    known = (e for e in run.episodes() if e.tells and e.round < first)
    return sorted(known, key=lambda e: e.id)


def _episodes_of(run: Run, ids: list[str]) -> list[Episode]:
    """Return episodes of these ids, in this order."""
    known = run.episodes_of(ids)
    return [known[id] for id in ids]


if __name__ == "__main__":
    main()
