"""What critics think of an episode, worked out from the file of a policy that keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.observe.critic_values import critic_values
from enpire.observe.episode_record import read_record
from enpire.observe.picture import Viewpoint
from enpire.policies import BestOfPolicy, Chooser, ChooserSpec, ChunkSpec, FlowPolicy, FlowSpec
from enpire.policies import metadata as metadata_of
from enpire.store import Run
from tests.store.samples import episode

LENGTH, CHUNK = 10, 4
SAMPLE = episode("sizes", LENGTH)
SIZES = SAMPLE.observations.shape[1], SAMPLE.actions.shape[1]
SPEC = ChunkSpec("t", *SIZES, history=2, stride=1, chunk=CHUNK, execute=CHUNK, hidden=(8,))
SHAPE = ChooserSpec(
    SIZES[0], (3, 0), SIZES[1], CHUNK, (0,), width=8, critics=3, samples=4, caution=0.5
)


@pytest.fixture
def policy() -> BestOfPolicy:
    torch.manual_seed(0)
    chooser = Chooser(SHAPE).eval()
    with torch.no_grad():
        for values in chooser.parameters():
            values.normal_(0.0, 0.5)
    return BestOfPolicy(FlowPolicy(FlowSpec.of(SPEC)).eval(), chooser)


@pytest.fixture
def run(policy: BestOfPolicy, tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {"loop": {"task": "no_such_task", "execute": CHUNK}}) as made:
        made.save_policy("policy-1", policy.tensors(), metadata_of(policy))
        made.save_policy("policy-0", {"w": np.zeros(1)}, {"kind": "chunk"})
        names = {"own": "policy-1", "version": "policy-1.7", "other": "policy-0", "gone": "p-9.1"}
        made.add_episodes([episode(id, LENGTH, policy=name) for id, name in names.items()])
        yield made


def test_values_are_those_of_the_chunks_that_were_carried_out(
    run: Run, policy: BestOfPolicy
) -> None:
    one = next(e for e in run.episodes() if e.id == "own")
    found = critic_values(run, one)
    assert found is not None
    assert found.policy == "policy-1"
    assert found.periods.tolist() == [0.0, 4.0], "a chunk that was cut short has no value"
    chooser = policy.head
    seen = np.stack([[one.observations[max(at - lag, 0)] for lag in (3, 0)] for at in (0, 4)])
    chunks = np.stack([one.actions[at : at + CHUNK] for at in (0, 4)])
    with torch.inference_mode():
        told = chooser.see(torch.from_numpy(seen))
        values = chooser.values(told, torch.from_numpy(chunks)).numpy()
    np.testing.assert_allclose(found.values[:, 0], values.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(found.values[:, 1], values.std(axis=0, ddof=1), rtol=1e-4)
    beyond, ahead = found.values[:, 3], found.values[:, 0] - found.values[:, 2]
    assert (beyond < ahead).all(), "caution takes something off"
    again = critic_values(run, one)
    assert again is not None
    np.testing.assert_array_equal(found.values, again.values)


def test_an_online_version_is_seen_by_what_it_became(run: Run) -> None:
    found = {e.id: critic_values(run, e) for e in run.episodes()}
    assert found["version"] is not None
    assert found["version"].policy == "policy-1"
    assert found["other"] is None
    assert found["gone"] is None


def test_a_record_has_them_and_says_whose_they_are(run: Run) -> None:
    one = next(e for e in run.episodes() if e.id == "version")
    record = read_record(run, one, Viewpoint())
    (track,) = [each for each in record.tracks if each.name == "critics"]
    assert track.entries == ("chosen", "disagreement", "base", "beyond")
    np.testing.assert_array_equal(track.stamps, one.stamps[[0, 4]])
    assert record.policy["critics"] == "policy-1"
