"""Augmented pictures: shifted by what was drawn, relit within bounds, the same for a seed."""

from __future__ import annotations

import torch

from enpire.improvement.augment import relit, shifted


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some() -> torch.Tensor:
    return torch.randint(0, 256, (40, 2, 8, 8, 3), dtype=torch.uint8, generator=drawn(9))


def test_each_picture_is_shifted_whole_and_edges_go_on() -> None:
    pictures = some()
    moved = shifted(pictures, 2, drawn())
    padded = pictures[:, :, torch.arange(-2, 10).clamp(0, 7)]
    padded = padded[:, :, :, torch.arange(-2, 10).clamp(0, 7)]
    found = set()
    for example in range(40):
        for camera in range(2):
            whole = padded[example, camera]
            at = [
                (y, x)
                for y in range(5)
                for x in range(5)
                if torch.equal(whole[y : y + 8, x : x + 8], moved[example, camera])
            ]
            assert len(at) == 1
            found.add(at[0])
    assert len(found) > 15  # of 25
    assert torch.equal(shifted(pictures, 2, drawn()), moved)
    assert torch.equal(shifted(pictures, 0, drawn()), pictures)


def test_light_and_contrast_change_within_their_share() -> None:
    grey = torch.full((50, 2, 4, 4, 3), 100, dtype=torch.uint8)
    seen = relit(grey, 0.2, drawn())
    assert seen.dtype == torch.uint8
    assert 100 - 0.2 * 127.5 - 0.2 * 27.5 - 1 <= seen.min() < 90
    assert 110 < seen.max() <= 100 + 0.2 * 127.5 + 0.2 * 27.5
    assert (seen == seen[:, :, :1, :1, :1]).all()
    assert torch.equal(relit(grey, 0.2, drawn()), seen)
    assert torch.equal(relit(some(), 0.0, drawn()), some())
