"""What the files and folders of a run are called."""

from __future__ import annotations

import re
from pathlib import Path

from enpire.store.archive import SUFFIX

LEDGER, CONFIG, RESULT, LOCK = "ledger.sqlite", "config.toml", "result.json", "writer.lock"
EPISODES, POLICIES, EVIDENCE = "episodes", "policies", "evidence"
LOST = "lost"
TENSORBOARD = "tensorboard"  # event files (`enpire.observe.tracking.events`)
STATUS = "status.json"  # what a loop does right now; there while it runs
SCENES = "scenes.bin"  # how its stations' scenes lie (`enpire.observe.live_scene`); likewise
SEAL = "ledger.sha256"  # of the ledger, since its last writer closed it

BATCH = re.compile(rf"\d{{8}}({re.escape(SUFFIX)})?")
"""Names of batches in `episodes/`: archives; folders where an older enpire wrote them."""

CONFIG_HASH, RESULT_HASH = "config_sha256", "result_sha256"  # facts of the ledger
NO_RESULT = "none"  # in place of a hash, before the first result


def batch_number(path: str) -> str:
    """Return the number of a batch by its path, in eight digits, whatever it is stored in."""
    return Path(path).name.removesuffix(SUFFIX)
