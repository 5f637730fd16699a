"""A policy behind `ws://HOST:PORT`, by openpi's protocol: `--policy ws://gpu:8000?execute=10`.

A request holds the observation, the task in words and, for servers of ours, a seed; the answer a
chunk, `actions` (k, act). After the `?`:

execute    how many actions of a chunk are carried out; by default what the server says, or all
timeout    for an answer [s], 10
patience   for a server to be there when an episode begins [s], 30
state      what the observation is called: by default `observation/state`
prompt     what the task in words is called: by default `prompt`
images     width and height of pictures [px], for a server of somebody else's that wants them
cameras    which, and what each is called: `front:observation/image,side:observation/wrist_image`;
           by default all, as `observation/NAME`

Beside pictures the observation is what an arm feels of itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import Workcells, instruction
from enpire.errors import PolicyError, PolicyFault, UsageError
from enpire.policies.driver import Driven
from enpire.policies.remote.client import Client
from enpire.policies.seeing import SeeingController, Seen, seen_there
from enpire.policies.spec import ChunkSpec
from enpire.types import Float32Array

SCHEMES = ("ws", "wss")
SAYS = "enpire"  # in the metadata of our servers: the version of what else they say
SEVERAL = ("spread", "cameras", "called")  # what of a spec there may be any number of
PICTURE = "observation/"  # begins what a camera's picture is called
WHOLE = 10**6  # actions to carry out: the whole chunk, however long


def is_address(reference: str) -> bool:
    """Whether a policy is named by where its server is."""
    return reference.split("://", 1)[0] in SCHEMES and "://" in reference


@dataclass(frozen=True, slots=True)
class RemoteSpec:
    """Where a policy is, and what its server said of it.

    observation, action, chunk: 0 where it did not say. seeded: it draws from a seed that it is
    given. spread: the unit of exploration, (act,); without one there is none. policy: the hash of
    what is served, or of what the server said. size: of the pictures that it sees [px], 0 for none;
    looks: of how many successive periods; cameras: which, all if it does not say; called: what
    each of these is called, if not `observation/NAME`.
    """

    address: str
    task: str = ""
    observation: int = 0
    action: int = 0
    history: int = 1
    stride: int = 1
    chunk: int = 0
    execute: int = 0
    seeded: bool = False
    spread: tuple[float, ...] = ()
    policy: str = ""
    timeout: float = 10.0
    patience: float = 30.0
    state: str = "observation/state"
    prompt: str = "prompt"
    size: int = 0
    looks: int = 1
    cameras: tuple[str, ...] = ()
    called: tuple[str, ...] = ()

    def to_json(self) -> str:
        """For a safetensors file's metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        try:
            values = json.loads(text)
            several = {name: tuple(values.get(name, ())) for name in SEVERAL}
            return cls(**{**values, **several})
        except (ValueError, TypeError, AttributeError) as error:
            raise PolicyError(f"not a remote policy's description: {error}") from error

    def chunked(self, observation: int, action: int) -> ChunkSpec:
        """As what drives chunks takes it, on stations of these sizes."""
        chunk = self.chunk or 1
        return ChunkSpec(
            self.task,
            observation,
            action,
            self.history,
            self.stride,
            chunk,
            self.execute or self.chunk or WHOLE,
        )


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """See the module. What is kept of it in a run is where it was, and what it said of itself."""

    kind: ClassVar[str] = "remote"
    spec: RemoteSpec

    @classmethod
    def find(cls, reference: str) -> Self:
        """The policy at an address. Raises UsageError for its form, PolicyError if it is not."""
        asked = _asked(reference)
        client = Client(asked.address, asked.timeout, asked.patience)
        try:
            return cls(_told(asked, client.open(), reference))
        finally:
            client.close()

    @property
    def name(self) -> str:
        """By where it is."""
        return urlsplit(self.spec.address).netloc

    def tensors(self) -> dict[str, NDArray[Any]]:
        """None: they are elsewhere."""
        return {}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return cls(RemoteSpec.from_json(spec))

    def controller(self, stations: Workcells) -> RemoteController:
        """See `Policy.controller`; connects when the first episode begins."""
        spec, sizes = self.spec, (stations.observation_size, stations.action_size)
        seen = seen_there(stations, spec.cameras, spec.size)
        if stations.sight is not None:
            spec = replace(spec, cameras=spec.cameras or stations.sight.cameras)
        return RemoteController(spec, spec.chunked(*sizes), instruction(stations), seen)


@dataclass(frozen=True, slots=True)
class _Asking:
    """As a `Chunked` policy; the controller does the asking."""

    spec: ChunkSpec
    spread: Tensor

    def inference(self) -> Callable[..., Float32Array]:
        """None of its own."""
        return np.asarray


class RemoteController(SeeingController):
    """Asks the server for all stations that need a chunk, and waits for all of them together.

    A server that does not answer in time, or with what are no actions, is a `PolicyFault`: the
    episodes under way are failures. One that is not there when an episode begins ends the run:
    nothing was measured then.
    """

    def __init__(self, spec: RemoteSpec, chunked: ChunkSpec, told: str, seen: Seen) -> None:
        """chunked: as these stations have it; told: the task in words; seen: of what they show."""
        asking = _Asking(chunked, torch.tensor(spec.spread or (0.0,) * chunked.action))
        super().__init__(asking, seen, spec.looks)
        self._called = spec.called or tuple(PICTURE + camera for camera in spec.cameras)
        self._remote, self._actions, self._told = spec, chunked.action, told
        self._client = Client(spec.address, spec.timeout, spec.patience)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`; raises PolicyError if no server is there, or another policy's."""
        said = self._client.open().get("policy", "")
        if self._remote.seeded and said != self._remote.policy:
            raise PolicyError(f"{self._remote.address} serves another policy than it did before")
        super().begin(row, rng, exploration)

    def chunks(self, seen: Float32Array, driven: Sequence[Driven]) -> Float32Array:
        """See `PolicyController`."""
        spec = self._remote
        requests: list[dict[str, Any]] = []
        shown = self.shown(driven)
        for i, (history, one) in enumerate(zip(self.felt(seen), driven, strict=True)):
            request = {spec.state: history if spec.history > 1 else history[-1]}
            request[spec.prompt] = self._told
            if shown is not None:
                pictures = shown[i] if spec.looks > 1 else shown[i, -1]
                by_camera = np.moveaxis(pictures, -4, 0)
                request |= dict(zip(self._called, by_camera, strict=True))
            if spec.seeded:
                request["seed"] = int(one.rng.integers(2**63))
            requests.append(request)
        chunks = [self._actions_of(answer) for answer in self._client.ask(requests)]
        if len({len(chunk) for chunk in chunks}) > 1:
            raise PolicyFault(f"{spec.address} answers with chunks of several lengths")
        return np.array(chunks)

    def _actions_of(self, answer: dict[str, Any]) -> Float32Array:
        found = answer.get("actions")
        actions: NDArray[Any] = found if isinstance(found, np.ndarray) else np.zeros(0)
        good = actions.ndim == 2 and len(actions) and actions.shape[1] == self._actions
        if not good or not np.isfinite(actions).all():
            raise PolicyFault(
                f"{self._remote.address} answers with actions of shape {actions.shape}, or no "
                f"finite numbers; this task takes (any, {self._actions})"
            )
        return np.asarray(actions, np.float32)


def _asked(reference: str) -> RemoteSpec:
    parts = urlsplit(reference)
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = {
        "execute": int,
        "timeout": float,
        "patience": float,
        "state": str,
        "prompt": str,
        "images": int,
        "cameras": str,
    }
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise UsageError(f"{reference} is no address of a policy: ws://HOST:PORT")
    try:
        values: dict[str, Any] = {name: known[name](value) for name, value in said.items()}
    except KeyError as error:
        raise UsageError(
            f"{reference}: {error} is not known; there are {', '.join(known)}"
        ) from None
    except ValueError as error:
        raise UsageError(f"{reference}: {error}") from None
    if any(values.get(name, 1) <= 0 for name in ("execute", "timeout", "patience", "images")):
        raise UsageError(f"{reference}: execute, timeout, patience and images are above 0")
    if "cameras" in values and "images" not in values:
        raise UsageError(f"{reference}: cameras take pictures of a size, images=N")
    named = [each.partition(":") for each in values.pop("cameras", "").split(",") if each]
    values["cameras"] = tuple(camera for camera, _, _ in named)
    values["called"] = tuple(called or PICTURE + camera for camera, _, called in named)
    values["size"] = values.pop("images", 0)
    return RemoteSpec(f"{parts.scheme}://{parts.netloc}{parts.path}", **values)


def _told(asked: RemoteSpec, metadata: dict[str, Any], reference: str) -> RemoteSpec:
    """What was asked for, with what a server of ours said of itself; of others there is a hash."""
    values = asdict(asked)
    if SAYS not in metadata:
        seen = json.dumps(metadata, sort_keys=True, default=repr)
        values["policy"] = hashlib.sha256(seen.encode()).hexdigest()
        return RemoteSpec(**values)
    numbers = ("observation", "action", "history", "stride", "chunk", "execute")
    try:
        values |= {name: int(metadata[name]) for name in numbers}
        values |= {name: str(metadata[name]) for name in ("task", "policy")}
        values["spread"] = tuple(float(value) for value in metadata["spread"])
        values |= {name: int(metadata.get(name, values[name])) for name in ("size", "looks")}
        values["cameras"] = tuple(str(name) for name in metadata.get("cameras", ()))
        values["called"] = ()
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyError(
            f"{reference} does not say what it is; another version? {error}"
        ) from error
    if asked.execute:
        values["execute"] = min(asked.execute, values["chunk"])
    return RemoteSpec(**values | {"seeded": True})
