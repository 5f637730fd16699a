"""A policy of LeRobot's as one of ours: the files of its folder, kept as bytes.

What comes in is what goes out, to the last bit; `model.py` has it act and learn.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from enpire.environment import DeclaredSpaces, StationBackend, Tasked, instruction
from enpire.environment.core.motors import Motors
from enpire.errors import PolicyError
from enpire.packs.finder import AT_JOINTS
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.lerobot import folder
from enpire.policies.lerobot.own_units import OwnUnits
from enpire.policies.lerobot.spec import LeRobotSpec
from enpire.policies.vision import NOTHING, ObservationMask, seen_there

if TYPE_CHECKING:
    from enpire.policies.lerobot.controller import LeRobotController
    from enpire.policies.lerobot.model import LeRobotModel


LOG = logging.getLogger(__name__)
PARTS = ("agent_pos", "environment_state")  # of an observation, by which LeRobot splits it


@dataclass(frozen=True, slots=True)
class LeRobotPolicy:
    """files: by name, `config.json` among them, as `folder.read` gives them."""

    kind: ClassVar[str] = "lerobot"
    spec: LeRobotSpec
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, files: Mapping[str, bytes], task: str = "") -> Self:
        """Read the files of a folder; raises PolicyError as `folder.shapes`."""
        said = folder.shapes(files)
        shown = said.cameras, said.size
        return cls(LeRobotSpec(task, said.observation, said.action, said.type, *shown), dict(files))

    @classmethod
    def read(cls, path: Path, task: str = "") -> Self:
        """The policy in a folder that LeRobot wrote; raises PolicyError when there is none."""
        found = folder.find_folder(path)
        if found is None:
            raise PolicyError(
                f"{path} holds no policy of LeRobot's ({folder.CONFIG} and {folder.WEIGHTS})"
            )
        try:
            return cls.of(folder.read(found), task)
        except PolicyError as error:
            raise PolicyError(f"{found}: {error}") from error

    def save(self, path: Path) -> None:
        """Write a folder that `from_pretrained` takes; raises PolicyError if it is not empty."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise PolicyError(f"{path} is not empty: choose a new folder")
            folder.write(self.files, path)
        except OSError as error:
            raise PolicyError(f"{path} cannot be written: {error.strerror}") from error

    @property
    def name(self) -> str:
        """The policy's name, by what it is and a hash of its files, `act-1a2b3c4d`."""
        return f"{self.spec.type}-{self.sha256[:8]}"

    @property
    def sha256(self) -> str:
        """Over the files, in the order of their names, each after its own."""
        hashed = hashlib.sha256()
        for name in sorted(self.files):
            for part in (name.encode(), self.files[name]):
                hashed.update(len(part).to_bytes(8, "little") + part)
        return hashed.hexdigest()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Each file, uint8."""
        return {name: np.frombuffer(data, np.uint8) for name, data in self.files.items()}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        files = {name: np.asarray(tensor, np.uint8).tobytes() for name, tensor in tensors.items()}
        said = LeRobotSpec.from_json(spec)
        policy = cls.of(files, said.task)
        return replace(policy, spec=replace(policy.spec, low=said.low, high=said.high))

    def fitted(self, stations: StationBackend) -> Self:
        """The policy as it acts at these stations: in an environment's own units, if its are."""
        if not isinstance(stations, DeclaredSpaces):
            return self
        own = OwnUnits(stations.action_low, stations.action_high)
        if (self.spec.low, self.spec.high) == (own.low, own.high):
            return self
        known = folder.action_extent(self.files)
        if known is None or (set(own.low), set(own.high)) == ({-1.0}, {1.0}):
            return self
        in_own = own.has(*known)
        LOG.warning(
            "%s was trained on actions from %.4g to %.4g, so they are taken %s",
            *(self.name, known[0].min(), known[1].max()),
            "in the environment's own units"
            if in_own
            else "for shares of the environment's bounds, from -1 to 1",
        )
        low, high = (own.low, own.high) if in_own else ((), ())
        return replace(self, spec=replace(self.spec, low=low, high=high))

    def model(self) -> LeRobotModel:
        """What acts and learns; imports LeRobot. Raises PolicyError as `LeRobotModel.load`."""
        from enpire.policies.lerobot.model import LeRobotModel

        model = LeRobotModel.load(self.files)
        if self.spec.low:
            model.units = OwnUnits(self.spec.low, self.spec.high)
        return model

    def controller(self, stations: StationBackend) -> LeRobotController:
        """See `Policy.controller`; imports LeRobot."""
        from enpire.policies.lerobot.controller import LeRobotController

        shown = seen_there(stations, self.spec.cameras, self.spec.size)
        model = self.fitted(stations).model()
        if isinstance(stations, Tasked):
            model.units = Motors.of(stations.task)
        _require_parts(model, stations)
        dataset = folder.trained_on(self.files)
        if dataset and stations.name.removesuffix(AT_JOINTS) not in dataset:
            LOG.warning(
                "%s was trained on %.200s (its %s), and acts in %s: is it for that task?",
                *(self.name, dataset, folder.TRAINED, stations.name),
            )
        return LeRobotController(model, self.spec, instruction(stations), shown)

    def sampler(self, instruction: str, mask: ObservationMask = NOTHING) -> ChunkSampler:
        """See `Base`; imports LeRobot. Raises PolicyError where chunks are not all it acts by."""
        from enpire.policies.lerobot.controller import ChunkedModel

        model = self.model()
        if getattr(model.config, "temporal_ensemble_coeff", None) is not None:
            raise PolicyError(
                "the policy acts by a temporal ensemble of its chunks; who stands on it takes them "
                "one by one: set temporal_ensemble_coeff to null in its config.json"
            )
        observation = mask.observation or self.spec.observation
        return ChunkedModel(model, self.spec, instruction, observation).sampler(mask)


def _require_parts(model: LeRobotModel, stations: StationBackend) -> None:
    """Raise PolicyError for a state beside an environment's that stations do not show so."""
    state = model.parts.get(folder.STATE, slice(None)).stop
    if state is None:  # each is all of an observation
        return
    takes = f"it takes {state} entries as {folder.STATE} and others as {folder.ENVIRONMENT}"
    if isinstance(stations, DeclaredSpaces) and stations.observation_keys != PARTS:
        raise PolicyError(
            f"{takes}, which LeRobot makes of {' and '.join(PARTS)}; the environment's observation "
            f"has {', '.join(stations.observation_keys) or 'no keys'}: ask it for others, as with "
            "?obs_type=environment_state_agent_pos"
        )
    joints = len(model.units.keys) if isinstance(model.units, Motors) else 0
    if isinstance(stations, Tasked) and state != joints:
        shows = f"{joints} joints first" if joints else "all it shows as either"
        raise PolicyError(f"{takes}; {stations.name} shows {shows}: choose a policy made for it")
