"""Folders of LeRobot's policies with anything in one place; docs/inputs.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enpire.environment import Stations
from enpire.errors import PolicyError
from enpire.policies import LeRobotPolicy
from tests.environment.reach import reach_stations
from tests.policies.lerobots import folder_of

pytestmark = pytest.mark.medium

SOME = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ODD = st.sampled_from(
    [None, True, -1, 0, 3, 1.5, float("nan"), 1e30, "", "x", [], [1], ["x"], {}, {"a": 1}]
)


@pytest.fixture(scope="module")
def stations() -> Stations:
    return reach_stations(1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, stations: Stations) -> dict[str, bytes]:
    to = tmp_path_factory.mktemp("policy") / "act"
    made = folder_of("act", to, stations.observation_size, stations.action_size)
    return dict(LeRobotPolicy.read(Path(made)).files)


@SOME
@given(data=st.data(), odd=ODD)
@pytest.mark.filterwarnings("ignore")
def test_anything_in_one_place_of_a_folder_is_refused_or_does_not_matter(
    files: dict[str, bytes], stations: Stations, data: st.DataObject, odd: Any
) -> None:
    name = data.draw(st.sampled_from(sorted(n for n in files if n.endswith(".json"))))
    said = json.loads(files[name])
    at = data.draw(st.sampled_from(sorted(_places(said), key=str)))
    changed = {**files, name: json.dumps(_with(said, at, odd)).encode()}
    try:
        policy = LeRobotPolicy.of(changed)
        policy.controller(stations)
    except PolicyError:
        return
    sizes = policy.spec.observation, policy.spec.action
    assert sizes == (stations.observation_size, stations.action_size)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in it."""
    yield at
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(each, (*at, key))


def _with(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    """The same with `odd` there."""
    if not at:
        return odd
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[at[0]] = _with(changed[at[0]], at[1:], odd)
    return changed
