"""A buffer of chunks that grows."""

from __future__ import annotations

import torch

from enpire.improvement.chunk_buffer import ChunkBuffer, Chunks
from enpire.improvement.growing_tensors import FIRST_SIZE


def chunks(rows: int, mark: float) -> Chunks:
    """Chunks that can be told by their reward."""
    return Chunks(
        seen=torch.full((rows, 3), mark),
        actions=torch.zeros(rows, 2, 1),
        later=(torch.arange(rows) + 2).clamp(max=rows - 1),
        reward=torch.full((rows,), mark),
        discount=torch.zeros(rows),
        followed=torch.zeros(rows),
    )


def test_it_keeps_all_and_counts_what_comes_later_in_the_whole() -> None:
    buffer = ChunkBuffer()
    buffer.add(chunks(5, 1.0), demonstration=True)
    for mark in range(2, 6):
        buffer.add(chunks(FIRST_SIZE // 2, float(mark)))
    whole = buffer.whole
    assert len(buffer) == len(whole) == 5 + 4 * (FIRST_SIZE // 2)
    assert whole.later[:7].tolist() == [2, 3, 4, 4, 4, 7, 8]
    assert whole.reward.unique().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert int(whole.later.max()) == len(buffer) - 1


def test_a_batch_has_its_share_of_demonstrations() -> None:
    generator, buffer = torch.Generator().manual_seed(0), ChunkBuffer()
    buffer.add(chunks(5, 1.0), demonstration=True)
    assert buffer.whole.at(buffer.sample(8, 0.5, generator)).reward.tolist() == [1.0] * 8
    buffer.add(chunks(50, 2.0))
    buffer.add(chunks(5, 1.0), demonstration=True)
    drawn = buffer.sample(400, 0.25, generator)
    assert (buffer.whole.at(drawn).reward == 1.0).sum() == 100
    assert set(drawn[:100].tolist()) == {0, 1, 2, 3, 4, 55, 56, 57, 58, 59}
    alone = ChunkBuffer()
    alone.add(chunks(5, 2.0))
    assert len(alone.sample(8, 0.5, generator)) == 8, "of what there is"
