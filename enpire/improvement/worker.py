"""The process that trains: a line of JSON in, what to learn; a line out, what came of it.

It ends when its standard input does, in the middle of a training too: with the loop that asked.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

import torch

from enpire.errors import EnpireError
from enpire.improvement.training_process import FOLDER, LOG, carry_out
from enpire.json_text import loads


def main() -> None:
    """Train what is asked for, one after the other."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    torch.set_num_threads(1)  # the other cores are the stations'
    asked: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=listen, args=(sys.stdin, asked), daemon=True).start()
    while True:
        said = asked.get()
        log_to(Path(said["run"]) / FOLDER / LOG)
        try:
            answer = carry_out(said)
        except EnpireError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")


def listen(lines: IO[str], asked: SimpleQueue[dict[str, Any]]) -> None:
    for line in lines:
        asked.put(loads(line))
    os._exit(0)  # nobody waits for what is under way; a checkpoint has it


def log_to(path: Path) -> None:
    """Send what is printed there, by recipes and by libraries below Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


if __name__ == "__main__":
    main()
