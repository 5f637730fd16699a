"""What the files and folders of a run are called."""

from __future__ import annotations

import re

LEDGER, CONFIG, RESULT, LOCK = "ledger.sqlite", "config.toml", "result.json", "writer.lock"
EPISODES, POLICIES, EVIDENCE = "episodes", "policies", "evidence"
LOST = "lost"
TENSORBOARD = "tensorboard"  # event files (`enpire.observe.tracking.events`)
STATUS = "status.json"  # what a loop does right now; there while it runs
SCENES = "scenes.bin"  # how its stations' scenes lie (`enpire.observe.live_scene`); likewise
SEAL = "ledger.sha256"  # of the ledger, since its last writer closed it

BATCH = re.compile(r"\d{8}")
"""Names of batches in `episodes/`."""

CONFIG_HASH, RESULT_HASH = "config_sha256", "result_sha256"  # facts of the ledger
NO_RESULT = "none"  # in place of a hash, before the first result
