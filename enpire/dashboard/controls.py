"""What a person may ask of a run from its page: each is left as a request for the loop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from enpire.dashboard.watched_run import WatchedRun
from enpire.json_text import parsed
from enpire.rollout.fleet.requests import Request, ask, require_loop

WHO = "by a person at the dashboard"


class Action(StrEnum):
    """An action on the whole run: pause, resume, stop; or on one station: aside, back."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    ASIDE = "aside"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """What is asked for; station: None for the whole run."""

    run: str
    action: Action
    station: int | None = None

    @classmethod
    def read(cls, body: bytes) -> ControlRequest:
        """Read a request as JSON has it.

        Raises:
            ValueError: it is none.
        """
        try:
            said = parsed(body)
            run, action, station = said["run"], Action(said["action"]), said.get("station")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError("this is no request of a control") from error
        of_station = action in (Action.ASIDE, Action.BACK)
        if not isinstance(run, str) or of_station != (type(station) is int):
            raise ValueError(f"{action} is of {'one station' if of_station else 'a whole run'}")
        return cls(run, action, station)


def carry_out(run: WatchedRun, asked: ControlRequest) -> None:
    """Leave what is asked for in the folder of a run, where its loop takes it.

    Raises:
        StoreError: no loop works on it, or the request cannot be written.
        ValueError: it has no such station.
    """
    require_loop(run.folder)
    robots = run.now.robots
    if asked.station is not None and not 0 <= asked.station < robots:
        raise ValueError(f"{run.name} has no station {asked.station}: 0 to {robots - 1}")
    for request in _requests(asked, robots):
        ask(run.folder, request)


def _requests(request: ControlRequest, robots: int) -> list[Request]:
    every = range(robots)
    match request.action:
        case Action.STOP:
            return [Request.stop(f"stopped {WHO}")]
        case Action.PAUSE:
            return [Request(row, True, f"paused {WHO}") for row in every]
        case Action.RESUME:
            return [Request(row, False, f"resumed {WHO}") for row in every]
        case Action.ASIDE:
            return [Request(request.station or 0, True, f"put aside {WHO}")]
        case Action.BACK:
            return [Request(request.station or 0, False, f"put back {WHO}")]
