"""What answers and learns in the comparison is the same policy, on the same episodes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.datasets.policy_bench import RANK, Effort, bench_policy, made_up
from enpire.datasets.share import Share
from enpire.policies import LeRobotPolicy
from enpire.policies.lerobot.blank import SIZES, smolvla
from tests.policies.lerobots import folder_of

QUICK = Effort(batch=2, steps=1, calls=2, workers=0, seed=0)


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
        low, high = each.ratio_range
        assert 0 < low <= each.ratio <= high < math.inf
    if not torch.cuda.is_available():
        assert measured.device.startswith("processor")
        assert whole.share == (None, None)


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_so_is_any_other_folder(kind: str, tmp_path: Path) -> None:
    policy = LeRobotPolicy.read(folder_of(kind, tmp_path / kind, 6, 3))
    assert bench_policy(policy, tmp_path, QUICK).pictures == (0, 0)


def test_made_up_episodes_fit_the_policy(tmp_path: Path) -> None:
    policy = LeRobotPolicy.read(folder_of("act", tmp_path / "act", 6, 3, ("top",), 32))
    one, other = made_up(policy, 0)[:2]
    assert one.observations.shape[1] == 6
    assert one.pictures.shape == (len(one), 1, 32, 32, 3)
    assert not np.array_equal(one.pictures, other.pictures)
    again = made_up(policy, 0)[0]
    np.testing.assert_array_equal(one.pictures, again.pictures)


def tells(folder: Path, told: str, monkeypatch: pytest.MonkeyPatch) -> Share:
    """A share that is asked of a program of this name that prints so."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{told}\n")
    program.chmod(0o755)
    share = Share(torch.device("cpu"))
    share._asked = [str(program)]
    monkeypatch.setattr("enpire.datasets.share.EVERY_S", 0.001)
    return share


def test_the_share_of_a_gpu_is_the_mean_of_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tells(tmp_path, "echo 40", monkeypatch) as share:
        while len(share._looks) < 2:
            share._ended.wait(0.01)
    assert share.mean == pytest.approx(0.4)


@pytest.mark.parametrize("told", ["exit 9", "echo '[N/A]'"])
def test_who_cannot_tell_says_nothing(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tells(tmp_path, told, monkeypatch) as share:
        share._thread.join()
    assert share.mean is None
