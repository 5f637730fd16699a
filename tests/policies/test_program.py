"""A policy that is a program: bytes, until a sandbox runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from enpire.errors import PolicyError
from enpire.policies import ProgramPolicy, load, metadata
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.store import Run
from tests.environment.reach import Speed, reach_stations

FILES = {"policy.py": b"raise SystemExit('run')", "data/weights.npy": bytes(range(9))}


def made() -> ProgramPolicy:
    return ProgramPolicy.of(FILES, "reach", 2, 7)


def test_it_is_kept_and_read_again_as_any_policy(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.save_policy("p", made().tensors(), metadata(made()))
        tensors, said = run.load_policy("p")
    again = load(said, tensors)
    assert isinstance(again, ProgramPolicy)
    assert again == made()


def test_other_files_than_the_description_is_of_are_refused() -> None:
    tensors = made().tensors() | {"policy.py": np.frombuffer(b"other", np.uint8)}
    with pytest.raises(PolicyError, match="changed after the policy was frozen"):
        load(metadata(made()), tensors)


def test_it_never_acts_in_this_process() -> None:
    with pytest.raises(PolicyError, match="sandbox of its own"):
        made().controller(reach_stations())


@pytest.mark.parametrize(
    "changed", [{"task": "x" * 999}, {"observation": "2"}, {"action": True}, {"more": 1}]
)
def test_a_description_that_is_none_is_refused(changed: dict[str, object]) -> None:
    spec = json.dumps(json.loads(made().spec.to_json()) | changed)
    with pytest.raises(PolicyError, match="not a program's description"):
        load({"kind": "program", "spec": spec}, made().tensors())


def test_whoever_asks_what_has_it_act_is_given_another(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.save_policy("p", made().tensors(), metadata(made()))
        known = EpisodeCache(run, reach_stations(), lambda policy, name: Speed())
        assert known.controller("p") is not known.controller("p")
