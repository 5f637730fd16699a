"""What answers and learns in the comparison is the same policy, on the same episodes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from benchmarks.policy import RANK, Effort, bench_policy
from enpire.policies import LeRobotPolicy
from enpire.policies.lerobot.blank import SIZES, smolvla
from tests.policies.lerobots import folder_of

pytestmark = pytest.mark.medium

QUICK = Effort(batch=2, steps=1, calls=2, workers=0, seed=0)


@pytest.mark.slow  # an ACT is measured in every lane, below
def test_a_smolvla_is_measured_both_ways(tmp_path: Path) -> None:
    made = smolvla(tmp_path / "policy", SIZES["tiny"], 5, 3, ("top", "wrist"))
    measured = bench_policy(LeRobotPolicy.read(made), tmp_path, QUICK)
    assert measured.policy == "smolvla"
    assert measured.pictures == (2, 64)
    assert [each.batch for each in measured.answering] == [1, 8]
    whole, adapters = measured.learning
    assert (whole.rank, adapters.rank) == (0, RANK)
    assert measured.parameters > whole.learned > adapters.learned > 0
    for each in (*measured.answering, *measured.learning):
        ratio = each.ratio
        assert 0 < ratio.least <= ratio.median <= ratio.largest < math.inf
    if not torch.cuda.is_available():
        assert measured.device.startswith("processor")
        assert whole.share == (None, None)


@pytest.mark.parametrize("kind", ["act", pytest.param("diffusion", marks=pytest.mark.slow)])
def test_so_is_any_other_folder(kind: str, tmp_path: Path) -> None:
    policy = LeRobotPolicy.read(folder_of(kind, tmp_path / kind, 6, 3))
    assert bench_policy(policy, tmp_path, QUICK).pictures == (0, 0)
