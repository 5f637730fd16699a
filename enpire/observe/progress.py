"""What a running loop shows: a live table on a terminal, plain timestamped lines elsewhere.

What it does right now stands in a file of the run, too (`status.py`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from enpire.errors import StoreError
from enpire.observe import account
from enpire.observe.sparkline import sparkline
from enpire.observe.status import remove_status, status_of, write_status
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.state import LoopState
from enpire.store import Run

LOOK_S = 0.5  # between looks at the state
LINE_S = 10.0  # between lines about the same step
SAVE_S = 30.0  # between savings of what only this process knows


class Progress:
    """Shows a loop from a thread of its own, and each decision once; a `with` block.

    save: called now and then, so that a killed process loses little of its own accounts.
    """

    def __init__(
        self,
        run: Run,
        state: LoopState,
        fleet: Fleet,
        budget: Budget,
        save: Callable[[], None],
        console: Console | None = None,
        emit: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """console: for people. emit: takes the same as events, for programs."""
        self._emit = emit or (lambda event: None)
        self._run, self._state, self._fleet, self._budget = run, state, fleet, budget
        self._save = save
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._told = len(run.ledger.decisions())
        self._last = ("", 0, 0.0)  # what the last line was about, and when [s]
        self._saved = time.monotonic()
        self._began = fleet.robot_s, budget.elapsed  # of this start [s]
        self._first: float | None = None  # success of the first policy, if it was seen
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = self._stack.enter_context(
                Live(self._table(), console=self._console, auto_refresh=False)
            )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        remove_status(self._run.folder)
        self._stack.close()

    def say(self, text: str) -> None:
        """Print one line, with the time, above the table."""
        self._console.print(f"{time.strftime('%H:%M:%S')}  {text}", markup=False)

    def _watch(self) -> None:
        while True:
            over = self._over.wait(LOOK_S)
            try:
                self._show(last=over)
            except StoreError:  # the loop meets it too, and ends by it
                return
            if over:
                return

    def _show(self, last: bool) -> None:
        decisions = self._run.ledger.decisions(since=self._told)
        for decision in decisions:
            self.say(f"{decision.kind}: {decision.text}")
            self._emit({"event": "decision", **asdict(decision)})
        self._told += len(decisions)
        write_status(self._run.folder, status_of(self._state, self._fleet.states))
        now = time.monotonic()
        if now - self._saved >= SAVE_S or last:
            self._save()
            self._saved = now
        doing, round_, said = self._last
        new = (doing, round_) != (self._state.doing, self._state.round)
        due = new or now - said >= LINE_S
        if due:
            self._emit(self._event())
            self._last = (self._state.doing, self._state.round, now)
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
        elif due:
            self.say(self._line())

    def _event(self) -> dict[str, Any]:
        """What a line says, for programs."""
        state = self._state
        return {
            "event": "progress",
            "at": time.time(),
            "round": state.round,
            "doing": state.doing,
            "done": state.done,
            "planned": state.planned,
            "deciding": state.deciding,
            "incumbent": state.incumbent,
            **account.as_json(state.success),
            "sealed_attempts": state.sealed_attempts,
            "robot_hours": self._fleet.robot_s / 3600,
            "mru": account.ledger_mru(self._run.ledger),
            "wall_s": self._budget.elapsed,
        }

    def _line(self) -> str:
        return "  ".join(f"{name} {value}".strip() for name, value in self._facts() if value)

    def _facts(self) -> list[tuple[str, str]]:
        state = self._state
        done = f"{state.done}/{state.planned}" if state.planned else ""
        mru = account.ledger_mru(self._run.ledger)
        limit = self._budget.robot_s / 3600
        of = "" if math.isinf(limit) else f" of {limit:g}"
        target = self._run.asked.get("target")
        rounds = self._budget.rounds
        return [
            ("round", f"{state.round}" if math.isinf(rounds) else f"{state.round} of {rounds:g}"),
            (state.doing, done or " "),
            ("deciding", state.deciding),
            ("success", f"{state.success} ({state.incumbent})" if state.incumbent else ""),
            ("target", "" if target is None else f"{target:g}"),
            ("sealed attempts", str(state.sealed_attempts) if state.sealed_attempts else ""),
            ("verified by", self._fleet.stations.verified_by),
            ("robot", f"{self._fleet.robot_s / 3600:.2f}{of} h"),
            ("MRU", "" if math.isnan(mru) else f"{mru:.0%}"),
            ("left", self._time_left()),
        ]

    def _time_left(self) -> str:
        left = self._budget.wall_s - self._budget.elapsed
        by_robots = self._left_by_robots()
        if by_robots < left:
            return f"about {clock(by_robots)}, until robot time is used up"
        if math.isinf(left):
            return f"no limit, {clock(self._budget.elapsed)} gone"
        return clock(max(0.0, left))

    def _left_by_robots(self) -> float:
        """Time on the clock until robot time is used up, if it is spent as fast as so far [s]."""
        spent, elapsed = self._fleet.robot_s - self._began[0], self._budget.elapsed - self._began[1]
        if spent <= 0.0 or math.isinf(self._budget.robot_s):
            return math.inf
        return max(0.0, self._budget.robot_s - self._fleet.robot_s) * elapsed / spent

    def _course(self) -> str:
        """Success of the incumbents so far, round by round and now."""
        state = self._state
        if state.success.trials and not self._run.ledger.rounds():
            self._first = state.success.rate
        rates = [row.success.rate for row in self._run.ledger.rounds() if row.trials]
        first = [] if self._first is None else [self._first]
        now = [state.success.rate] if state.success.trials and rates else []
        return sparkline([*first, *rates, *now])

    def _table(self) -> Group:
        state = self._state
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for name, value in self._facts():
            if name == "success" and value:
                value = f"{self._course()}  {value}"
            if value:
                table.add_row(name, value)
        return Group(table, ProgressBar(total=max(1, state.planned), completed=state.done))


def clock(seconds: float) -> str:
    """Seconds as `1:23:45` or `23:45`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
