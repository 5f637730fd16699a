"""What a round's episodes are: the policy on fresh seeds with exploration, unless a recipe differs.

The jobs of a round follow from its seeds and the episodes of earlier rounds, and from nothing else,
so that a round that was cut short asks for the same ones again. `None` among them says that none is
due yet: how often that is said is a matter of time, and of no consequence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from enpire.environment import Controller, Job, Operator, StationBackend
from enpire.errors import RecipeError
from enpire.policies import Policy
from enpire.types import Episode, Purpose

WAIT = 0.001  # that whoever asks for a job is held up, where none is due [s]


@dataclass(frozen=True, slots=True)
class Collection:
    """What is asked for, and what there is to go by."""

    stations: StationBackend
    base: str  # name of the policy to explore from
    parent: str  # of the one that it was made from, empty if of none
    policy: Callable[[str], Policy]  # the one of that name
    controller: Callable[[str], Controller]  # that has it act
    round: int
    count: int  # of episodes
    seeds: Iterator[int]  # fresh ones, endless
    exploration: float  # chance that a chunk is varied
    seed: int  # of everything random in the choice of jobs
    episodes: Sequence[Episode]  # of earlier rounds, in the order of their ids, none of them sealed
    helper: Operator | None = None  # of the loop, if it has one

    def plain(self, count: int | None = None) -> Iterator[Job]:
        """The base policy on fresh seeds: `count` episodes, all if not said."""
        controller = self.controller(self.base)
        for seed in islice(self.seeds, self.count if count is None else count):
            yield Job(seed, Purpose.COLLECTION, controller, self.base, self.round, self.exploration)


def caught(jobs: Iterator[Job | None], errors: list[RecipeError]) -> Iterator[Job | None]:
    """These jobs; they end with what the recipe raises, which is put to `errors`.

    It is of this round, whichever is under way when a job is drawn.
    """
    try:
        yield from jobs
    except RecipeError as error:
        errors.append(error)


def meanwhile[T](
    jobs: Iterable[Job | None], learn: Callable[[], T]
) -> Generator[Job | None, None, T]:
    """These jobs, while something is learned in a thread; `yield from` it gives what was.

    After them none is due until it is learned: what else is under way on stations goes on.
    """
    with ThreadPoolExecutor(1) as beside:
        learning = beside.submit(learn)
        yield from jobs
        while not wait([learning], WAIT).done:
            yield None
        return learning.result()


def first(jobs: Iterator[Job | None], count: int) -> Iterator[Job | None]:
    """The first `count` jobs, and where none is due before them."""
    for job in jobs if count else ():
        yield job
        count -= job is not None
        if not count:
            return
