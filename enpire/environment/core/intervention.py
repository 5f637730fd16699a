"""A policy with somebody beside it who takes over when it is in trouble: recovery and correction.

After RaC (arXiv 2509.07953): whoever takes over first goes back the way that the hands have come,
to where things were well, and then does it right. Which periods were not the policy's is kept. Who
helps sits at an `OperatorQueue`: one for many stations, as in ARMADA (arXiv 2510.02298), or one for
each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np
import scipy  # and its rotations when they are asked for: they take a third of a second

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.control.joint_actions import JointTargets, MovesHands
from enpire.environment.control.sensing import Readings
from enpire.environment.core.controller import (
    Controller,
    PeriodCommand,
    SupervisedController,
    decided,
    needs_pictures,
    show,
)
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Image

GAIN = 0.5  # share of the way to a posture that a hand goes in a control period
NEAR, THERE = 2.0, 0.5  # so many full actions from a posture: on to the one before; arrived
FASTEST = 2  # postures that it goes back over in a control period
SLACK = 10  # control periods that the way back may take longer than the way there


class FailureDetector(Protocol):
    """Says when a policy needs help."""

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """An episode starts on station `row`."""

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        """None while all goes well; else the period, not this one, that is to be gone back to.

        It is asked in every period that is the policy's, once.
        """


class OperatorQueue(Protocol):
    """The queue in which stations ask for help, and are found somebody who helps."""

    @property
    def open(self) -> bool:
        """Whether anybody is there to help; where nobody is, policies act alone."""

    def ask(self, row: int) -> None:
        """Station `row` needs help."""

    def serves(self, row: int) -> bool:
        """Whether it is this station's turn."""

    def takes(self, row: int) -> bool:
        """Whether who helps takes this station over unasked, now; then it is the station's turn."""

    def gives_back(self, row: int) -> bool:
        """Whether who helps gives this station back to its policy, now."""

    def leave(self, row: int) -> None:
        """Station `row` needs no help any more."""


class Everywhere:
    """A helper beside every station, who helps when asked and to the end of the episode."""

    open = True

    def ask(self, row: int) -> None:
        """See `OperatorQueue`."""

    def serves(self, row: int) -> bool:
        """See `OperatorQueue`."""
        return True

    def takes(self, row: int) -> bool:
        """See `OperatorQueue`."""
        return False

    def gives_back(self, row: int) -> bool:
        """See `OperatorQueue`."""
        return False

    def leave(self, row: int) -> None:
        """See `OperatorQueue`."""


@runtime_checkable
class Relieving(Controller, Protocol):
    """A corrector that has to know what the hands were told last: a person at a device."""

    def relieve(self, row: int, action: Float32Array) -> None:
        """It takes over on station `row`, where `action`, (7 arms,), has hands hold still."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Who helps policies: by name, what acts, and the desk where stations ask for it."""

    name: str
    acts: Controller
    desk: OperatorQueue = field(default_factory=Everywhere)


class Turn(Enum):
    """Whose it is."""

    POLICY = "policy"
    BACK = "back"
    WAIT = "wait"
    CORRECT = "correct"


@dataclass(frozen=True, slots=True)
class _Posture:
    """The hands' posture at one period: (arms, 3) m, (arms, 3, 3); grippers' setpoints, (arms,)."""

    position: FloatArray
    rotation: FloatArray
    gripper: Float32Array


@dataclass(slots=True)
class _Episode:
    """One station's: the way that the hands have come, and where on it they go back to."""

    rng: np.random.Generator  # of who corrects, and of who goes on after that
    exploration: float
    grippers: Float32Array  # as they were told last, (arms,)
    turn: Turn = Turn.POLICY
    way: list[_Posture] = field(default_factory=list)
    at: int = 0
    back_to: int = 0
    left: int = 0  # control periods
    turns: list[Turn] = field(default_factory=list)
    pictures: Image | None = None


class InterventionWrapper(MovesHands):
    """A policy, and a corrector: a script, a person at a device, or another policy.

    The corrector is begun where it takes over. It acts until it gives back, to a policy that begins
    anew from there, or to the end of the episode. Until it is there the hands wait, where they have
    gone back to.
    """

    def __init__(
        self,
        policy: Controller,
        corrector: Controller,
        watch: FailureDetector,
        actions: ActionSpec,
        desk: OperatorQueue | None = None,
    ) -> None:
        """Have `corrector` take over from `policy` when `watch` says so; actions: of hands there.

        desk: where it is asked for; by default there is one beside every station.
        """
        self._policy, self._corrector, self._watch = policy, corrector, watch
        self._scale = actions.scale
        self._size, self._grippers = actions.size, list(actions.grippers)
        self._desk: OperatorQueue = desk or Everywhere()
        self._episodes: dict[int, _Episode] = {}

    def connect(self, targets: JointTargets) -> None:
        """See `MovesHands`: the way back is one of hands, and so may be what the others do."""
        super().connect(targets)
        self._size, self._grippers = targets.size, list(targets.grippers)
        for one in (self._policy, self._corrector):
            if isinstance(one, MovesHands):
                one.connect(targets)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The policy begins as it would by itself."""
        correcting, watching = rng.spawn(2)
        told = np.zeros(len(self._scale), np.float32)
        self._episodes[row] = _Episode(correcting, exploration, told)
        self._watch.begin(row, watching)
        self._policy.begin(row, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What whose turn it is does on each station."""
        episodes = [self._episodes[row] for row in rows.tolist()]
        actions = np.empty((len(rows), self._size), np.float32)
        for i, (row, one) in enumerate(zip(rows.tolist(), episodes, strict=True)):
            if one.turn is not Turn.POLICY and self._help_is_over(row, one.turn):
                self._give_back(row, one)
            if one.turn is Turn.POLICY:
                self._look(row, one, self._watch.trouble(row, observations[i]))
            if one.turn is Turn.BACK:
                back = self._back(one, readings.row(i))
                if back is None:
                    one.turn = Turn.WAIT
                else:
                    actions[i] = self.told(rows[i : i + 1], [back], readings.row(i))[0]
            if one.turn is Turn.WAIT:
                if self._desk.serves(row):
                    self._correct(row, one)
                else:
                    still = self._still(one)
                    actions[i] = self.told(rows[i : i + 1], [still], readings.row(i))[0]
            one.turns.append(one.turn)
        for turn, who in ((Turn.POLICY, self._policy), (Turn.CORRECT, self._corrector)):
            mine = [i for i, one in enumerate(episodes) if one.turn is turn]
            if mine:
                actions[mine] = who.act(rows[mine], observations[mine], readings.at(mine))
        for i, one in enumerate(episodes):
            one.grippers = actions[i, self._grippers]
            if one.turn is Turn.POLICY:
                position, rotation = readings.hand_position[i], readings.hand_rotation[i]
                one.way.append(_Posture(position, rotation, one.grippers))
        return actions

    def word(self, row: int) -> PeriodCommand:
        """See `SupervisedController`: who corrects has the word while it acts."""
        one = self._episodes[row]
        if one.turn is Turn.WAIT and self._desk.open and not self._desk.serves(row):
            return PeriodCommand.WAIT
        if one.turn is Turn.CORRECT and isinstance(self._corrector, SupervisedController):
            return self._corrector.word(row)
        return PeriodCommand.GO_ON

    def ended(self, row: int) -> None:
        """See `SupervisedController`."""
        self._desk.leave(row)

    def look(self, row: int, pictures: Image) -> None:
        """See `VisionController`; who corrects is shown the newest at first, and those after it."""
        one = self._episodes[row]
        one.pictures = pictures
        show(self._corrector if one.turn is Turn.CORRECT else self._policy, row, pictures)

    def due(self, row: int) -> bool:
        """See `VisionController`: of whose turn it is; the way back needs none."""
        turn = self._episodes[row].turn
        who = self._corrector if turn is Turn.CORRECT else self._policy
        return turn is not Turn.BACK and needs_pictures(who, row)

    def decided(self, row: int, observation: Float32Array) -> bool:
        """See `AsyncController`: whether the policy has."""
        return decided(self._policy, row, observation)

    def intervened(self, row: int) -> list[bool]:
        """Periods of the station's episode that were not the policy's."""
        return [turn is not Turn.POLICY for turn in self._episodes[row].turns]

    def rewound(self, row: int) -> list[bool]:
        """The periods of them in which hands went back, or waited there."""
        return [turn in (Turn.BACK, Turn.WAIT) for turn in self._episodes[row].turns]

    def _look(self, row: int, one: _Episode, back_to: int | None) -> None:
        """Take over: at once where who helps says so, or go back, if there is anywhere to go to."""
        if self._desk.takes(row):
            self._correct(row, one)
            return
        if back_to is None or not one.way or not self._desk.open:
            return
        self._desk.ask(row)
        one.turn = Turn.BACK
        one.at = len(one.way) - 1
        one.back_to = min(back_to, one.at)
        one.left = one.at - one.back_to + SLACK

    def _help_is_over(self, row: int, turn: Turn) -> bool:
        """Whether who helps gives back, or has left."""
        return not self._desk.open or (turn is Turn.CORRECT and self._desk.gives_back(row))

    def _correct(self, row: int, one: _Episode) -> None:
        one.turn = Turn.CORRECT
        self._corrector.begin(row, one.rng, 0.0)
        if isinstance(self._corrector, Relieving):
            self._corrector.relieve(row, self._still(one))
        if one.pictures is not None:
            show(self._corrector, row, one.pictures)

    def _give_back(self, row: int, one: _Episode) -> None:
        """The policy goes on as at the start of an episode: it has not seen what was done."""
        self._desk.leave(row)
        one.turn, one.way = Turn.POLICY, []
        watching, acting = one.rng.spawn(2)
        self._watch.begin(row, watching)
        self._policy.begin(row, acting, one.exploration)
        if one.pictures is not None:
            show(self._policy, row, one.pictures)

    def _still(self, one: _Episode) -> Float32Array:
        """Hands stand, grippers as they were told."""
        action = np.zeros((len(self._scale), 7), np.float32)
        action[:, 6] = one.grippers
        return action.ravel()

    def _back(self, one: _Episode, readings: Readings) -> Float32Array | None:
        """Towards the posture before, with grippers as they were there; None once it is done."""
        to = one.way[one.at]
        for _ in range(FASTEST):
            if one.at > one.back_to and self._distance(to, readings) < NEAR:
                one.at -= 1
                to = one.way[one.at]
        one.left -= 1
        if one.left < 0 or (one.at == one.back_to and self._distance(to, readings) < THERE):
            return None
        action = np.empty((len(self._scale), 7))
        action[:, :6] = np.clip(GAIN * self._twist(to, readings), -1.0, 1.0)
        action[:, 6] = to.gripper
        return action.ravel().astype(np.float32)

    def _distance(self, to: _Posture, readings: Readings) -> float:
        return float(abs(self._twist(to, readings)).max())

    def _twist(self, to: _Posture, readings: Readings) -> FloatArray:
        """The twist to a posture, in full actions, (arms, 6); nothing along axes that are held."""
        move = to.position - readings.hand_position[0]
        turn = to.rotation @ readings.hand_rotation[0].transpose(0, 2, 1)
        twist = np.concatenate(
            [move, scipy.spatial.transform.Rotation.from_matrix(turn).as_rotvec()], axis=1
        )
        free = self._scale > 0
        return np.where(free, twist / np.where(free, self._scale, 1.0), 0.0)
