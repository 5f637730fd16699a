"""What holds for all tests."""

from __future__ import annotations

import torch

# Networks here are tiny: a second thread only gets in the way of whatever else the machine does.
torch.set_num_threads(1)
