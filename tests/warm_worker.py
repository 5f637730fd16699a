"""The process that trains, for the loops of many tests: see `tests/warm_trainer.py`.

A line that names a folder and variables is no training: what comes after it is done there.
"""

from __future__ import annotations

import os
import sys
from queue import SimpleQueue
from typing import IO, Any

from enpire.improvement import worker
from enpire.json_text import loads


def listen(lines: IO[str], asked: SimpleQueue[dict[str, Any]]) -> None:
    for line in lines:
        said = loads(line)
        if "variables" not in said:
            asked.put(said)
            continue
        os.chdir(said["folder"])
        sys.path[0] = said["folder"]
        os.environ.clear()
        os.environ.update(said["variables"])
    os._exit(0)


if __name__ == "__main__":
    worker.listen = listen
    worker.main()
