"""Pictures as they might have been taken: shifted, brighter or darker, of more or less contrast.

The shift is that of DrQ (Yarats et al. 2021, arXiv 2004.13649): padded with the pixels at the edge
and cropped again, by a whole number of pixels drawn for each picture.
"""

from __future__ import annotations

import torch
from torch import Tensor


def shifted(pictures: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Each of pictures (batch, cameras, size, size, 3) by up to `most` pixels along both axes."""
    batch, cameras, size = pictures.shape[:3]
    by = torch.randint(-most, most + 1, (2, batch, cameras, 1), generator=generator)
    row, column = (torch.arange(size) + by).clamp(0, size - 1).to(pictures.device)
    one, other = torch.arange(batch)[:, None, None, None], torch.arange(cameras)[:, None, None]
    return pictures[one, other, row[..., :, None], column[..., None, :]]


def relit(pictures: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Each of uint8 pictures (batch, cameras, size, size, 3) with light and contrast of its own.

    share: up or down, of full brightness and of contrast about the middle.
    """
    drawn = torch.rand(2, *pictures.shape[:2], 1, 1, 1, generator=generator).to(pictures.device)
    light, contrast = share * (2 * drawn - 1)
    middle = 127.5
    changed = (pictures - middle).mul_(1 + contrast).add_(middle * (1 + light))
    return changed.clamp_(0, 255).to(torch.uint8)
