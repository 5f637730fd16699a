"""Tasks written with the old names of hooks still run, and are told the new ones."""

import warnings
from typing import Any, ClassVar

import numpy as np
import pytest

from enpire.environment import Job, Task
from enpire.environment.core.renamed_hooks import NEW_NAMES
from enpire.types import Outcome, Purpose
from tests.environment.reach import Reach, Speed, reach_stations


def old(**members: Any) -> type[Reach]:
    """Reach with these members, whose old names are no news to the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return type("Old", (Reach,), members)


def test_an_old_name_is_told_where_it_stands() -> None:
    with pytest.warns(FutureWarning, match="Old.judge is called verify now") as told:

        class Old(Reach):
            def judge(self, evidence: Any) -> Any:
                return super().verify(evidence)

    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize(("name", "new"), NEW_NAMES.items())
def test_an_old_name_is_the_new_one(name: str, new: str) -> None:
    value = {0: 0.5} if name == "kept" else lambda self: name
    task = old(**{name: value})
    assert vars(task)[new] is value
    assert hasattr(Task, name), "so that super() finds it"


def test_a_task_of_old_names_runs() -> None:
    called: list[str] = []

    def spy(name: str) -> Any:
        def hook(self: Reach, *given: Any) -> Any:
            called.append(name)
            return getattr(super(task, self), name)(*given)

        return hook

    names = [name for name in NEW_NAMES if name not in ("kept", "judge_views", "truth")]
    task = old(**{name: spy(name) for name in names}, kept={6: -1.0})
    stations = reach_stations(task=task())
    stations.begin(0, Job(0, Purpose.COLLECTION, Speed(), "p"))
    done = []
    while stations.busy:
        done += stations.tick(0)
    (episode,) = done
    assert episode.verdict.outcome is Outcome.SUCCESS
    assert {*called} == {*names}
    np.testing.assert_array_equal(episode.actions[:, 6], -1.0)


def test_a_helper_beside_the_hook_stays_what_it_is() -> None:
    class New(Reach):
        place: ClassVar[str] = "bench"

        def set_initial_state(self, *given: Any) -> None:
            raise NotImplementedError

    assert New.place == "bench"
