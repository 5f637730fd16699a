"""Whose hands: options of `collect` and `loop`, the device and the page that they name."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import UsageError
from enpire.option_values import LEROBOT, SCRIPT
from enpire.session.audience import Say, say_at_once

if TYPE_CHECKING:
    from enpire.environment import Operator, StationBackend, Stations
    from enpire.improvement.configured_recipe import ConfiguredRecipe
    from enpire.packs import Robot
    from enpire.packs.toml import Table
    from enpire.people import Device, Hands, OneHelper
    from enpire.rollout.fleet.clock import Clock
    from enpire.rollout.loop.settings import LoopSettings

LEADER = "leader"  # of a teleoperator's settings, the one that is not LeRobot's
FIELDS = (
    f"fields of its LeRobot config, as port and id; {LEADER} ROBOT: the robot pack that a leader "
    "arm is built as, if not the station's"
)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Hands that are asked for."""

    whose: str  # as `option_values.hands` has it
    settings: Mapping[str, str] = field(default_factory=dict)  # of a teleoperator, as `FIELDS` says
    files: Sequence[Path] = ()  # of stations with arms
    port: int = 0  # of the page
    leaves: bool = False  # whether a person may leave, and then is asked for nothing


@dataclass(frozen=True, slots=True)
class TeleopSession:
    """Who has hands in it, on which stations; no hands are a script's. say: takes the address."""

    wanted: DeviceRequest
    stations: Stations
    helper: Operator
    desk: OneHelper
    hands: Hands | None
    say: Say = say_at_once

    def now(self) -> bool:
        """Whether somebody has, in what is under way."""
        return self.stations.attended and self.desk.open

    def ahead(self) -> int:
        """See `Fleet`."""
        from enpire.rollout.fleet.fleet import AHEAD

        return 0 if self.now() else AHEAD

    @contextmanager
    def beside_policies(self, clock: Clock) -> Iterator[Clock]:
        """The clock of a loop: twins keep to a person's pace while one has a hand in it."""
        from enpire.rollout.fleet.clock import PacedClock, SimulatedClock

        if self.hands is not None and isinstance(clock, SimulatedClock):
            clock = PacedClock(clock, self.now)
        with self.at_page(clock, "the policy's") as watched:
            yield watched

    @contextmanager
    def at_page(self, clock: Clock, alone: str = "") -> Iterator[Clock]:
        """A clock at whose every tick the page shows what there is; a script's needs none.

        alone: whose turn it is where nobody is served, in words.
        """
        from enpire.people import LiveView, OperatorCommand, Page
        from enpire.rollout.fleet.clock import WatchedClock

        hands, desk, stations = self.hands, self.desk, self.stations
        if hands is None:
            yield clock
            return

        def state() -> dict[str, str]:
            whose = "yours" if desk.served is not None or not alone else alone
            phase = stations.phase(desk.shown).value
            line = f"station {desk.shown + 1} of {len(stations)}: {phase}, {whose}"
            return {"line": line + (f", {desk.waiting} waiting" if desk.waiting else "")}

        with ExitStack() as stack:
            page = stack.enter_context(Page(hands, state, self.wanted.port))
            view = None if self.wanted.files else LiveView(stations, page.show)
            if view is not None:
                stack.callback(view.close)

            def look() -> None:
                if hands.was_given(OperatorCommand.STATION):
                    desk.show_next(len(stations))
                if view is not None and self.now():
                    view.take(desk.shown)

            self.say(f"open {page.address}")
            yield WatchedClock(clock, look)


@contextmanager
def open_teleop(
    request: DeviceRequest, stations: Stations, say: Say = say_at_once
) -> Iterator[TeleopSession]:
    """Whoever is wanted, with their device, until the block ends. say: takes the page's address.

    Raises:
        UsageError: settings are for what takes none, or a device has too many arms.
        PackError, DriverError: there is no such device, or it does not answer.
    """
    from enpire.environment import Operator
    from enpire.people import Hands, OneHelper, Person
    from enpire.people.person import NAME

    odd = next(iter(request.settings), None)
    if odd is not None and not request.whose.startswith(LEROBOT):
        raise UsageError(f"{odd} is a setting of lerobot:TYPE, and {request.whose} has none")
    if request.whose == SCRIPT:
        desk = OneHelper()
        yield TeleopSession(request, stations, Operator(*stations.starter, desk), desk, None, say)
        return
    with ExitStack() as stack:
        device = None
        if request.whose.startswith(LEROBOT):
            device = stack.enter_context(_device(request, stations))
        hands = Hands(device)
        desk = OneHelper(hands, request.leaves)
        person = Person(hands, stations.task.actions, stations.twin.scene.robot)
        yield TeleopSession(request, stations, Operator(NAME, person, desk), desk, hands, say)


def require_helper(
    settings: LoopSettings, recipes: Sequence[ConfiguredRecipe], stations: StationBackend
) -> None:
    """Raise UsageError where nobody can help, or somebody is needed who is not there."""
    from enpire.environment import Stations

    needy = next((recipe.name for recipe in recipes if recipe.needs_helper), None)
    if not settings.assistance.helper:
        if needy:
            raise UsageError(f"{needy} is to have a helper correct: --helper says who")
        if settings.assistance.helper_settings:
            raise UsageError("settings of a helper without one: --helper says who")
        return
    if settings.rounds.abort:
        raise UsageError("--abort ends the episodes that --helper helps: leave one of them out")
    if not isinstance(_inner(stations), Stations):
        raise UsageError("--helper is for stations of a task pack on this machine")


@contextmanager
def open_helper(
    settings: LoopSettings,
    stations: StationBackend,
    files: Sequence[Path],
    port: int,
    say: Say = say_at_once,
) -> Iterator[TeleopSession | None]:
    """Who helps in a loop, if anybody does; raises as `open_teleop`."""
    from enpire.environment import Stations

    if port and not settings.assistance.helper:
        raise UsageError("--port is of the page that --helper serves: give both")
    inner = _inner(stations)
    if not settings.assistance.helper or not isinstance(inner, Stations):
        yield None
        return
    asked = settings.assistance
    wanted = DeviceRequest(asked.helper, asked.helper_settings, files, port, leaves=True)
    with open_teleop(wanted, inner, say) as found:
        yield found


def _inner(stations: StationBackend) -> StationBackend:
    """The stations that have the twins, of stations under conditions."""
    from enpire.rollout.fleet.conditions import ConditionedStations

    return stations.stations if isinstance(stations, ConditionedStations) else stations


@contextmanager
def _device(request: DeviceRequest, stations: Stations) -> Iterator[Device]:
    from enpire.drivers.lerobot.leader import Deltas, make_device
    from enpire.environment.kinematics import Forward
    from enpire.packs import find, load_robot
    from enpire.people import Leading, TwistDevice

    scene = stations.twin.scene
    pack = request.settings.get(LEADER)
    robot = load_robot(find("robots", pack)) if pack else scene.robot
    read = make_device(robot, time.monotonic_ns, _settings(request, robot, bool(pack)))
    read.connect()
    try:
        if isinstance(read, Deltas):
            yield TwistDevice(read)
        else:
            yield Leading(read, robot, Forward(scene.world, robot))
    finally:
        read.disconnect()


def _settings(request: DeviceRequest, robot: Robot, other: bool) -> Table:
    """A teleoperator's, and the axes of its motors: what is wanted over what the files say.

    robot: that it is built as. other: that is not the arm's, which is all that a station's file
    tells of.
    """
    from enpire.drivers import settings
    from enpire.packs.toml import Table

    own = None
    if request.files and not other:
        said = Table.read(request.files[0])
        own = said.table(LEROBOT) if said.has(LEROBOT) else None
    found = settings(LEROBOT, robot, own)
    kind = request.whose.partition(":")[2]
    given: dict[str, Any] = {
        "config": {key: value for key, value in request.settings.items() if key != LEADER}
    }
    if kind:
        given["type"] = kind
        if found.has("teleoperator") and found.table("teleoperator").raw("type") != kind:
            found = found.without("teleoperator")
    elif not found.has("teleoperator"):
        raise UsageError(f"{found.where} names no teleoperator: lerobot:TYPE says which")
    return Table({"teleoperator": given}, request.whose).over(found)
