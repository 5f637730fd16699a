"""Seeds that nothing can know before, as sealed ones: in tests they are the same in every run."""

from __future__ import annotations

import random
from types import SimpleNamespace


def repeatable(start: int = 0) -> SimpleNamespace:
    """Return what stands for the module `secrets` in `enpire.rollout.evaluation.seeds`.

    One in a thousand of the seeds is one on which a test's good policy fails.
    """
    return SimpleNamespace(randbits=random.Random(start).getrandbits)
