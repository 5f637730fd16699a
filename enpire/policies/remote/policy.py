"""A policy behind `ws://HOST:PORT`, by openpi's protocol: `--policy ws://gpu:8000?execute=10`.

A request holds the observation, the task in words and, for servers of ours, a seed; the answer a
chunk, `actions` (k, act). After the `?`:

execute    how many actions of a chunk are carried out; by default what the server says, or all
timeout    for an answer [s], 10
patience   for a server to be there when an episode begins [s], 30
state      what the observation is called: by default `observation/state`
prompt     what the task in words is called: by default `prompt`
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import Workcells, instruction
from enpire.errors import PolicyError, PolicyFault, UsageError
from enpire.policies.driver import Asked, Driven, PolicyController
from enpire.policies.remote.client import Client
from enpire.policies.spec import ChunkSpec
from enpire.types import Float32Array

SCHEMES = ("ws", "wss")
SAYS = "enpire"  # in the metadata of our servers: the version of what else they say
WHOLE = 10**6  # actions to carry out: the whole chunk, however long


def is_address(reference: str) -> bool:
    """Whether a policy is named by where its server is."""
    return reference.split("://", 1)[0] in SCHEMES and "://" in reference


@dataclass(frozen=True, slots=True)
class RemoteSpec:
    """Where a policy is, and what its server said of it.

    observation, action, chunk: 0 where it did not say. seeded: it draws from a seed that it is
    given. joins: it has a chunk go on from what is left of the last one. spread: the unit of
    exploration, (act,); without one there is none. policy: the hash of what is served, or of what
    the server said.
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
    joins: bool = False
    spread: tuple[float, ...] = ()
    policy: str = ""
    timeout: float = 10.0
    patience: float = 30.0
    state: str = "observation/state"
    prompt: str = "prompt"

    def to_json(self) -> str:
        """For a safetensors file's metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        try:
            values = json.loads(text)
            return cls(**{**values, "spread": tuple(values.get("spread", ()))})
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
        sizes = stations.observation_size, stations.action_size
        return RemoteController(self.spec, self.spec.chunked(*sizes), instruction(stations))


@dataclass(frozen=True, slots=True)
class _Asking:
    """As a `Chunked` policy; the controller does the asking."""

    spec: ChunkSpec
    spread: Tensor

    def inference(self) -> Callable[..., Float32Array]:
        """None of its own."""
        return np.asarray


class RemoteController(PolicyController):
    """Asks the server for all stations that need a chunk, and waits for all of them together.

    A server that does not answer in time, or with what are no actions, is a `PolicyFault`: the
    episodes under way are failures. One that is not there when an episode begins ends the run:
    nothing was measured then.
    """

    def __init__(self, spec: RemoteSpec, chunked: ChunkSpec, told: str) -> None:
        """chunked: as these stations have it; told: the task in words."""
        super().__init__(_Asking(chunked, torch.tensor(spec.spread or (0.0,) * chunked.action)))
        self._remote, self._actions, self._told = spec, chunked.action, told
        self._client = Client(spec.address, spec.timeout, spec.patience)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`; raises PolicyError if no server is there, or another policy's."""
        said = self._client.open().get("policy", "")
        if self._remote.seeded and said != self._remote.policy:
            raise PolicyError(f"{self._remote.address} serves another policy than it did before")
        super().begin(row, rng, exploration)

    @property
    def joins(self) -> bool:
        """Whether the server can be asked for chunks that are `joined`."""
        return self._remote.joins

    def chunks(self, seen: Float32Array, driven: Sequence[Driven]) -> Float32Array:
        """See `PolicyController`."""
        return self._asked([self._request(*each) for each in zip(seen, driven, strict=True)])

    def joined(self, asked: Sequence[Asked]) -> Float32Array:
        """Chunks (m, chunk, act), each of which goes on from what is left of the last one."""
        return self._asked(
            [self._request(a.seen, a.driven) | {"left": a.left, "delay": a.delay} for a in asked]
        )

    def _request(self, history: Float32Array, driven: Driven) -> dict[str, Any]:
        spec = self._remote
        request: dict[str, Any] = {spec.state: history if spec.history > 1 else history[-1]}
        request[spec.prompt] = self._told
        if spec.seeded:
            request["seed"] = int(driven.rng.integers(2**63))
        return request

    def _asked(self, requests: Sequence[dict[str, Any]]) -> Float32Array:
        chunks = [self._actions_of(answer) for answer in self._client.ask(requests)]
        if len({len(chunk) for chunk in chunks}) > 1:
            raise PolicyFault(f"{self._remote.address} answers with chunks of several lengths")
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
    known = {"execute": int, "timeout": float, "patience": float, "state": str, "prompt": str}
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
    if any(values.get(name, 1) <= 0 for name in ("execute", "timeout", "patience")):
        raise UsageError(f"{reference}: execute, timeout and patience are above 0")
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
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyError(
            f"{reference} does not say what it is; another version? {error}"
        ) from error
    if asked.execute:
        values["execute"] = min(asked.execute, values["chunk"])
    joins = bool(metadata.get("joins", False))
    return RemoteSpec(**values | {"seeded": True, "joins": joins})
