"""This program run once more, as a child that records what it has when it is stopped."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from enpire.child_environment import child_environment
from enpire.session.signals import interrupt_on_signals

DONE = (0, 3)  # exit codes of what has ended as it should, its target reached or not
LOOK_S = 2.0  # between looks at a run that another process writes to


class Children:
    """They end with the block, or when it is told so; each is a session of its own, so that Ctrl-C
    reaches it once, from here: as SIGTERM, which a script in the background does not ignore.
    """

    def __init__(self, until: float = math.inf, keys: Mapping[str, str] | None = None) -> None:
        """until: when their time is up, `time.monotonic` [s]. keys: the secrets that they need."""
        self.until, self._keys = until, keys
        self._stopped = threading.Event()
        self._running: set[subprocess.Popen[str]] = set()
        self._turn = threading.Lock()
        self._signals = ExitStack()

    def run(self, words: Sequence[str], label: str, log: Path) -> str | None:
        """What `enpire WORDS` printed; None where time was up or it failed, which is said.

        label: what it is, for a person. log: what was printed is added to.
        """
        left = self.until - time.monotonic()
        if self._stopped.is_set() or left <= 0.0:
            return None
        text, code = self._printed(words, left if math.isfinite(left) else None)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as kept:
            kept.write(f"$ enpire {' '.join(words)}\n{text}\n")
        if code in DONE:
            return text
        if code is not None:
            last = (text.rstrip().splitlines() or ["nothing"])[-1]
            print(f"{label}: enpire {words[0]} ended with {code}: {last}", flush=True)
        return None

    def _printed(self, words: Sequence[str], within: float | None) -> tuple[str, int | None]:
        """Output and exit code; none if it was stopped."""
        child = subprocess.Popen(
            [sys.executable, "-m", "enpire.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=child_environment(self._keys),
        )
        with self._turn:
            self._running.add(child)
        try:
            if self._stopped.is_set():
                child.terminate()
            text, _ = child.communicate(timeout=within)
            return text, None if self._stopped.is_set() else child.returncode
        except subprocess.TimeoutExpired:
            child.terminate()  # it records what it has and can go on
            return child.communicate()[0], None
        except KeyboardInterrupt:
            child.terminate()
            child.communicate()
            raise
        finally:
            with self._turn:
                self._running.discard(child)
            if child.poll() is None:
                child.kill()

    def alone(self, run: Path) -> bool:
        """Wait until nobody else writes to a run: a child of one that was killed, say.

        Returns whether that was so in time.
        """
        from enpire.store.run_folder import under_way

        while under_way(run):
            left = min(LOOK_S, self.until - time.monotonic())
            if left <= 0.0 or self._stopped.wait(left):
                return False
        return True

    def stop(self) -> None:
        """Have them record what they have, and end."""
        self._stopped.set()
        with self._turn:
            for child in self._running:
                child.terminate()

    def __enter__(self) -> Self:
        self._signals.enter_context(interrupt_on_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._signals.close()
