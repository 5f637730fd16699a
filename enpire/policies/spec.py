"""The shape of a policy that maps a short history of observations to a chunk of actions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

from enpire.environment import Heading, RelativeTarget, StationBackend, Tasked
from enpire.errors import UsageError
from enpire.policies.description import JsonSpec, described
from enpire.policies.heading import read_heading
from enpire.policies.levels import Levels, require_levels
from enpire.policies.relative import read_relative


@dataclass(frozen=True, slots=True)
class ChunkSpec(JsonSpec):
    """The shape of a policy.

    history: how many observations it sees, `stride` control periods apart; chunk: how many actions
    it predicts; execute: how many of them are carried out; hidden: width of each hidden layer.
    levels: of grippers that were only shown a few values, which they are.
    """

    task: str
    observation: int
    action: int
    history: int = 3
    stride: int = 2
    chunk: int = 8
    execute: int = 8
    hidden: tuple[int, ...] = (256, 256, 256)
    levels: Levels = ()

    @classmethod
    def of(cls, spec: ChunkSpec) -> Self:
        """Make one with what each shape has; what is a kind's own is as usual."""
        return cls(**{each.name: getattr(spec, each.name) for each in fields(ChunkSpec)})

    @property
    def reach(self) -> int:
        """Periods from the oldest observation it sees to the newest."""
        return (self.history - 1) * self.stride

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        spec = described(cls, text, "a policy", needs=("hidden",))
        require_levels(spec.levels, spec.action)
        return spec


@dataclass(frozen=True, slots=True)
class FlowSpec(ChunkSpec):
    """The shape of a policy whose chunks flow from noise."""

    steps: int = 5  # from noise to actions
    # Width of each hidden layer of the network that chooses the noise; without one it is drawn.
    steering: tuple[int, ...] = ()
    # The most actions, still to be carried out when a chunk is asked for, that it has learned to go
    # on from.
    pending: int = 0
    deviation: float = 1.0  # of the noise that is drawn when it acts; it was taught with one
    heading: Heading | None = None  # of the object that it sees and acts along
    # Entries of actions that are learned as ways from where what they move is seen.
    relative: tuple[RelativeTarget, ...] = ()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """See `ChunkSpec.from_json`."""
        spec = super(FlowSpec, cls).from_json(text)
        sizes = spec.observation, spec.action
        return replace(
            spec,
            heading=read_heading(spec.heading, *sizes),
            relative=read_relative(spec.relative, *sizes),
        )


@dataclass(frozen=True, slots=True)
class PictureSpec(ChunkSpec):
    """The shape of a policy that sees by cameras."""

    cameras: tuple[str, ...] = ()  # by name
    size: int = 64  # width and height of each picture [px]
    felt: tuple[int, ...] = ()  # entries of the observation that it may see beside them
    channels: tuple[int, ...] = (16, 32)  # of each layer of an encoder
    steps: int = 5  # of the flow

    @property
    def features(self) -> int:
        """Numbers that encoders say of the pictures: two of each feature, of each camera."""
        return 2 * self.channels[-1] * len(self.cameras)

    @property
    def flow(self) -> FlowSpec:
        """The shape of the flow, which sees what encoders say and what is felt as one."""
        seen = self.history * len(self.felt) + self.features
        return FlowSpec(
            task=self.task,
            observation=seen,
            action=self.action,
            history=1,
            chunk=self.chunk,
            execute=self.execute,
            hidden=self.hidden,
            levels=self.levels,
            steps=self.steps,
        )


def shape_for(task: str, stations: StationBackend, execute: int, history: int) -> ChunkSpec:
    """The shape of a network for these stations: one that sees by cameras where policies do.

    execute: how many actions of a chunk are carried out before it is asked again. history: how many
    observations it sees.

    Raises:
        UsageError: It is to see more observations than an episode has.
    """
    if isinstance(stations, Tasked) and history > stations.execute_periods:
        raise UsageError(
            f"--history {history} is more than an episode of {task} has: "
            f"{stations.execute_periods} observations at most"
        )
    policy_cameras = stations.policy_cameras
    sizes = stations.observation_size, stations.action_size
    if policy_cameras is None:
        return ChunkSpec(task, *sizes, history, execute=execute)
    return PictureSpec(
        task,
        *sizes,
        history,
        execute=execute,
        cameras=policy_cameras.cameras,
        size=policy_cameras.size,
        felt=policy_cameras.felt,
    )


def shape_of(text: str) -> ChunkSpec:
    """The shape that a `to_json` tells of, of whichever kind; raises PolicyError for no such."""
    for kind in (PictureSpec, FlowSpec):
        own = {each.name for each in fields(kind)} - {each.name for each in fields(ChunkSpec)}
        if all(f'"{name}"' in text for name in own):
            return kind.from_json(text)
    return ChunkSpec.from_json(text)
