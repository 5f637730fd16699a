"""A learner in a process of its own, as the loop talks to it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from enpire.child_environment import child_environment
from enpire.child_process import before_log, end_child, why_ended
from enpire.errors import RecipeError, TrainerKilledError
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import LOG, TrainingRequest, as_json
from enpire.improvement.versions import earlier, read_candidate, read_version
from enpire.json_text import loads
from enpire.policies import Policy

FOLDER = "learner"  # of a run: versions, and where learning is
WORKER = "enpire.improvement.online_worker"
SILENT_S = 3600.0  # without an answer, after which a learner that owes one is taken for hung


class OnlineProcess:
    """Learns online beside the stations: blocks of episodes go in, versions of a policy come out.

    Version k has learned from the first k blocks; version 0, the policy that it set out from, is
    there from the outset. One that crashes, diverges or hangs raises RecipeError from then on, and
    TrainerKilledError if it was killed; it can bring no station down.
    """

    def __init__(self, run: Path, request: TrainingRequest, first: int) -> None:
        """Start the process, which learns at once from what the run has of before round `first`."""
        self.folder = run / FOLDER / str(first)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._versions = {0: "", **earlier(self.folder)}
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._candidates: deque[Candidate] = deque()
        self._error: RecipeError | None = None
        self._handed, self._asked = 0, 0  # blocks; candidates that are still to come
        self._heard = time.monotonic()  # when there was an answer, or nothing to answer
        self.numbers: dict[str, float] = {}
        self._unlogged = before_log()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "enpire.quick_start", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._unlogged,
            text=True,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for the loop, which ends it in order
        )
        self._tell({**as_json(run, request), "folder": str(self.folder), "first": first})
        self._listener = Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()

    def hand_over(self, ids: Sequence[str]) -> None:
        """Have it learn from a block of episodes, which are in the store."""
        self._ask({"block": list(ids)})
        self._handed += 1

    def newest(self) -> int:
        """Return the newest version there is."""
        self._look()
        return max(self._versions)

    def has(self, version: int) -> bool:
        """Return whether a version is there."""
        self._look()
        return version in self._versions

    def policy(self, version: int) -> Policy:
        """Return a version that it has made."""
        return read_version(self.folder, version, self._versions[version])

    def ask_candidate(self, now: bool) -> None:
        """Have it propose a candidate once it has learned from all that it was handed.

        now: it may leave blocks for later, from which it has not learned yet.
        """
        self._ask({"candidate": True, "now": now})
        self._asked += 1

    def candidate(self) -> Candidate | None:
        """Return the candidate that was asked for; None: it is still to come."""
        self._look()
        return self._candidates.popleft() if self._candidates else None

    def close(self) -> None:
        """End it."""
        end_child(self._process, self._listener, self._unlogged)

    @property
    def _owes(self) -> bool:
        """Whether it has an answer to give."""
        return self._asked > 0 or max(self._versions) < self._handed

    def _ask(self, said: dict[str, Any]) -> None:
        """Tell it what it has to answer; its silence counts from here if it owed nothing."""
        if not self._owes:
            self._heard = time.monotonic()
        self._tell(said)

    def _tell(self, said: dict[str, Any]) -> None:
        if self._process.stdin is None:
            raise RecipeError("the learning process has no pipes")
        try:
            self._process.stdin.write(json.dumps(said) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone, which its last answer says

    def _look(self) -> None:
        """Take what it has answered.

        Raises:
            TrainerKilledError: it was killed.
            RecipeError: it has ended otherwise.
        """
        while True:
            try:
                said = self._answers.get_nowait()
            except Empty:
                break
            self._heard = time.monotonic()
            if "error" in said:
                kind = TrainerKilledError if said.get("killed") else RecipeError
                self._error = self._error or kind(said["error"])
            elif "candidate" in said:
                self._asked -= 1
                self._candidates.append(read_candidate(self.folder, said))
            else:
                self._versions[said["version"]] = said["sha256"]
                self.numbers = said["numbers"]
        silent = time.monotonic() - self._heard
        if self._owes and silent > SILENT_S and not self._error:
            self.close()
            self._error = RecipeError(
                f"the learner has said nothing for {silent / 60:.0f} min, so it was ended; its log "
                f"is {self.folder / LOG}"
            )
        if self._error:
            raise self._error

    def _listen(self, stdout: IO[str]) -> None:
        for line in stdout:
            self._answers.put(loads(line))
        code = self._process.wait()
        why = why_ended(code, self._unlogged, self.folder / LOG)
        self._answers.put({"error": f"learning ended with {why}", "killed": code < 0})
