"""Where demonstrations begin: at starts that lie far apart, so that few of them show much.

Starts that are drawn at random leave gaps between them, and hardly reach the ends of what may vary.
A policy that is cloned from them fails there. Each start here is the one, of many that were drawn,
that lies farthest from all that were taken before: the farthest-point design of Gonzalez, 1985,
"Clustering to minimize the maximum intercluster distance".
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from enpire.environment import Task, initial_condition
from enpire.rollout.evaluation.seeds import stream
from enpire.types import FloatArray

POOL = 1000  # starts that are drawn, from which those that lie far apart are taken
SHARE = 4  # of the pool, where more than a quarter of it is asked for


def demonstration_seeds(
    seed: int,
    count: int,
    task: Task | None = None,
    physical: bool = False,
    name: str = "demonstration",
) -> list[int]:
    """Return the seeds of demonstrations.

    Args:
        seed: The run's.
        count: How many.
        task: Whose starts lie far apart; None: they are as they were drawn.
        physical: Whether skills bring the start about, so that only what they can set is looked at.
        name: Of the stream of seeds that they are of.
    """
    drawn = stream(seed, name)
    if task is None:
        return list(islice(drawn, count))
    pool = list(islice(drawn, max(POOL, SHARE * count)))
    starts = np.array([initial_condition(task, each, physical) for each in pool])
    return [pool[i] for i in far_apart(starts, count)]


def far_apart(points: FloatArray, count: int) -> list[int]:
    """Return which points, (n, entries), to take, so that they lie far apart; the first is outmost.

    An entry's unit is its standard deviation. The first of several that are as far is taken, so
    without entries the first points are.
    """
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    left = np.linalg.norm(scaled, axis=1)  # at first from the middle, then from what is taken
    chosen: list[int] = []
    while len(chosen) < min(count, len(points)):
        best = int(np.argmax(left))
        distance = np.linalg.norm(scaled - scaled[best], axis=1)
        left = np.minimum(left, distance) if chosen else distance
        left[best] = -1.0
        chosen.append(best)
    return chosen
