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
import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import StationBackend, instruction
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.errors import PolicyError, ServerFault, UsageError, printable
from enpire.option_values import is_plain
from enpire.policies.description import JsonSpec
from enpire.policies.policy_runner import ChunkRequest, PolicyState
from enpire.policies.remote.client import TOKEN, PolicyClient
from enpire.policies.remote.wire import LONGEST
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import ObservationMask, SeeingController, seen_there
from enpire.types import Float32Array

SCHEMES = ("ws", "wss")
SCHEME = re.compile(r"wss?:|[a-z][a-z0-9+.-]*://", re.IGNORECASE)  # begins an address of any kind
SAYS = "enpire"  # in the metadata of our servers: the version of what else they say
VERSION = 1
FAULTS = (
    "error",
    "exception",
    "traceback",
)  # in an answer: whatever else is in it counts for nought
DENIED = ("success", "ok")  # likewise, where it is False
PICTURE = "observation/"  # begins what a camera's picture is called
LONGEST_ADDRESS = 2000  # letters
LONGEST_S = 3600.0  # that anybody waits for a server
KINDS: dict[type, str] = {int: "whole number", float: "number", str: "text"}
SHOWN = 100  # characters of a value in a message
WIDEST = 10.0  # of an action's spread, which is 1 where actions are all full ones
LARGEST = 1e6  # of an action: what is larger is as far beyond 1
WHOLE = 10**6  # actions to carry out: the whole chunk, however long
MOST = {
    "observation": 10**5,
    "action": 10**4,
    "history": 1000,
    "stride": 1000,
    "chunk": 10**4,
    "execute": WHOLE,
    "size": 4096,
    "looks": 64,
}
"""Of what a server says of itself; what is beyond would only fill the memory."""


def is_address(reference: str) -> bool:
    """Whether a policy is named by where its server is, be it in a form that is taken or not."""
    return SCHEME.match(reference) is not None


@dataclass(frozen=True, slots=True)
class RemoteSpec(JsonSpec):
    """The place of a policy, and what its server said of it."""

    what: ClassVar[str] = "a remote policy"
    address: str
    task: str = ""
    # observation, action, chunk: 0 where it did not say
    observation: int = 0
    action: int = 0
    history: int = 1
    stride: int = 1
    chunk: int = 0
    execute: int = 0
    seeded: bool = False  # it draws from a seed that it is given
    joins: bool = False  # it has a chunk go on from what is left of the last one
    spread: tuple[float, ...] = ()  # the unit of exploration, (act,); without one there is none
    policy: str = ""  # the hash of what is served, or of what the server said
    timeout: float = 10.0
    patience: float = 30.0
    state: str = "observation/state"
    prompt: str = "prompt"
    size: int = 0  # of the pictures that it sees [px], 0 for none
    looks: int = 1  # of how many successive periods
    cameras: tuple[str, ...] = ()  # which, all if it does not say
    called: tuple[str, ...] = ()  # what each of these is called, if not `observation/NAME`

    def __post_init__(self) -> None:
        """Refuse what no policy is like, before memory is set aside for it.

        Raises:
            PolicyError: a number is below 0 or beyond `MOST`, or requests would be too long.
        """
        for name, most in MOST.items():
            value, least = getattr(self, name), int(name in ("history", "stride", "looks"))
            if not least <= value <= most:
                raise PolicyError(
                    f"the policy at {self.address} says {name}: {value}; {least} to {most} is taken"
                )
        numbers = 4 * (self.history * self.observation + 2 * self.chunk * self.action)
        request = numbers + max(1, len(self.cameras)) * self.looks * self.size**2 * 3
        if request > LONGEST:
            raise PolicyError(
                f"the policy at {self.address} would be asked with {request} bytes at a time; "
                f"{LONGEST} is the most"
            )
        spread = np.array(self.spread, np.float64)
        if len(spread) not in (0, self.action) or not ((spread >= 0) & (spread <= WIDEST)).all():
            raise PolicyError(
                f"the policy at {self.address} says a spread that is not {self.action} numbers "
                f"from 0 to {WIDEST:g}: actions are in [-1, 1]"
            )

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
        client = PolicyClient(asked.address, asked.timeout, asked.patience)
        try:
            return cls(_told(asked, client.open(), reference))
        finally:
            client.close()

    @property
    def name(self) -> str:
        """The policy's name, by where it is."""
        return urlsplit(self.spec.address).netloc

    def tensors(self) -> dict[str, NDArray[Any]]:
        """None: they are elsewhere."""
        return {}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return cls(RemoteSpec.from_json(spec))

    def controller(self, stations: StationBackend) -> RemoteController:
        """See `Policy.controller`; connects when the first episode begins."""
        spec, sizes = self.spec, (stations.observation_size, stations.action_size)
        seen = seen_there(stations, spec.cameras, spec.size)
        if stations.policy_cameras is not None:
            spec = replace(spec, cameras=spec.cameras or stations.policy_cameras.cameras)
        shown = len(stations.policy_cameras.cameras) if stations.policy_cameras is not None else 0
        made = RemoteController(spec, spec.chunked(*sizes), instruction(stations), seen, shown)
        if spec.task and Path(spec.task).name != Path(stations.name).name:
            made.watch.tell(f"it is served for {spec.task}, and acts in {stations.name}")
        return made


@dataclass(frozen=True, slots=True)
class _Asking:
    """A `Chunked` policy whose controller does the asking."""

    spec: ChunkSpec
    spread: Tensor

    def inference(self) -> Callable[..., Float32Array]:
        """None of its own."""
        return np.asarray


class RemoteController(SeeingController):
    """Asks the server for all stations that need a chunk, and waits for all of them together.

    Before its first episode it asks once, of an observation of zeros: what is no action then ends
    the run with a sentence, as a server does that is not there. Later a server that does not answer
    in time, or with what are no actions, is a `ServerFault`: the episodes under way are invalid,
    and the next one begins by asking so again.
    """

    def __init__(
        self,
        spec: RemoteSpec,
        chunked: ChunkSpec,
        instruction: str,
        mask: ObservationMask,
        shown: int = 0,
    ) -> None:
        """chunked: as these stations have it; instruction: the task in words; mask: of what they
        show.

        shown: cameras that they have.
        """
        asking = _Asking(chunked, torch.tensor(spec.spread or (0.0,) * chunked.action))
        super().__init__(asking, mask, spec.looks)
        self._observation, self._shown = chunked.observation, shown
        self._called = spec.called or tuple(PICTURE + camera for camera in spec.cameras)
        self._remote, self._actions, self._told = spec, chunked.action, instruction
        self.joins = spec.joins  # whether the server can be asked for chunks that are `joined`
        self._client = PolicyClient(spec.address, spec.timeout, spec.patience)
        self._tried = False  # since the last fault
        self._length = spec.chunk  # of its chunks; 0: it does not say, and none has come
        self.watch = PolicyWatch(f"the policy at {spec.address}")

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`.

        Raises:
            PolicyError: no server is there, another policy's, or one whose answers are no actions.
        """
        said = self._client.open().get("policy", "")
        if self._remote.seeded and said != self._remote.policy:
            raise PolicyError(f"{self._remote.address} serves another policy than it did before")
        if not self._tried:
            self._try()
        super().begin(row, rng, exploration)

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        return self._asked([self._request(*each) for each in zip(seen, states, strict=True)])

    def joined(self, requests: Sequence[ChunkRequest]) -> Float32Array:
        """Chunks (m, chunk, act), each of which goes on from what is left of the last one."""
        return self._asked(
            [self._request(a.seen, a.state) | {"left": a.left, "delay": a.delay} for a in requests]
        )

    def _request(self, history: Float32Array, state: PolicyState) -> dict[str, Any]:
        spec = self._remote
        (felt,), shown = self.felt(history[None]), self.shown([state])
        request: dict[str, Any] = {spec.state: felt if spec.history > 1 else felt[-1]}
        request[spec.prompt] = self._told
        if shown is not None:
            pictures = shown[0] if spec.looks > 1 else shown[0, -1]
            by_camera = np.moveaxis(pictures, -4, 0)
            request |= dict(zip(self._called, by_camera, strict=True))
        if spec.seeded:
            request["seed"] = int(state.rng.integers(2**63))
        return request

    def _try(self) -> None:
        """Ask about nothing, for as long as a server may take to come: its first answer is slow."""
        spec, state = self._remote, PolicyState.of(self.spec, np.random.default_rng(0))
        state.see(np.zeros(self._observation, np.float32))
        state.pictures = deque(maxlen=self.looks)
        if self.looks:
            state.look(np.zeros((self._shown, spec.size, spec.size, 3), np.uint8))
        request = self._request(state.history(self.spec), state)
        try:
            self._asked([request], max(spec.timeout, spec.patience))
        except ServerFault as fault:
            raise PolicyError(
                f"{fault}. It was asked about an observation of zeros, and nothing was measured"
            ) from fault
        _require_as_many(spec, self._length)
        self._tried = True

    def _asked(self, requests: Sequence[dict[str, Any]], timeout: float = 0.0) -> Float32Array:
        """The chunks that it answers with, (m, chunk, act); timeout: see `PolicyClient.ask`."""
        try:
            answers = self._client.ask(requests, timeout)
            if self._remote.seeded and self._client.metadata.get("policy") != self._remote.policy:
                raise ServerFault(
                    f"{self._remote.address} serves another policy than it did before"
                )
            chunks = np.array([self._actions_of(answer) for answer in answers])
        except ServerFault:
            self._tried = False
            raise
        if self._tried:
            self.watch.count(chunks[:, : self.spec.execute])
        return chunks

    def _actions_of(self, answer: dict[str, Any]) -> Float32Array:
        """The chunk of one answer, (chunk, act); raises ServerFault for what is none."""
        actions: Any = answer.get("actions")
        for name in FAULTS:
            if answer.get(name):
                said = printable(repr(answer[name]), SHOWN)
                raise ServerFault(f"{self._remote.address} answers with {name}: {said}")
        for name in DENIED:
            if answer.get(name) is False:
                raise ServerFault(f"{self._remote.address} answers with {name}: False")
        needed = f"an array of shape ({self._length or 'k'}, {self._actions}) is needed"
        if not isinstance(actions, np.ndarray):
            there = "actions" in answer
            what = (
                f"`actions`, {_kind(actions)}" if there else f"no `actions`, but {_listed(answer)}"
            )
            raise ServerFault(f"{self._remote.address} answers with {what}; {needed}")
        fits = actions.ndim == 2 and len(actions) and actions.shape[1] == self._actions
        if not fits or len(actions) != (self._length or len(actions)):
            raise ServerFault(
                f"{self._remote.address} answers with `actions` of shape {actions.shape}; {needed}"
            )
        if actions.dtype.kind == "b":
            raise ServerFault(f"{self._remote.address} answers with truth values; {needed}")
        bad = np.argwhere(~np.isfinite(actions))
        if len(bad):
            row, entry = bad[0]
            raise ServerFault(
                f"{self._remote.address} answers with `actions` of shape {actions.shape} that are "
                f"no finite numbers: entry {entry} of action {row} is {actions[row, entry]}"
            )
        if actions.dtype.kind in "iu":
            self.watch.tell(
                f"it answers with whole numbers ({actions.dtype}), and 1 is a full action: rounded?"
            )
        self._length = len(actions)
        return actions.astype(np.float64).clip(-LARGEST, LARGEST).astype(np.float32)


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, list | dict | str) else ""
    return f"which is a {type(value).__name__}{size}"


def _listed(answer: dict[str, Any]) -> str:
    return ", ".join(sorted(map(str, answer))[:5]) or "nothing"


def _asked(reference: str) -> RemoteSpec:
    if re.search(r"\s", reference):
        raise UsageError(f"{reference!r} is no address of a policy: it has a space in it")
    try:
        parts = urlsplit(reference)
        _ = parts.port  # looked at when it is asked for
        (parts.hostname or "").encode("idna")
    except ValueError as error:  # a host that has no such name, too
        raise UsageError(f"{reference} is no address of a policy: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"ws://{(parts.hostname or '')} is to be asked without a name or a password in the "
            f"address, which runs record: what it asks for is taken from {TOKEN}"
        )
    if parts.fragment or len(reference) > LONGEST_ADDRESS:
        raise UsageError(
            f"{reference:.80} is no address of a policy: without #, and {LONGEST_ADDRESS} letters "
            "at most"
        )
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    said = dict(pairs)
    if len(said) != len(pairs):
        raise UsageError(f"{reference} has an option twice")
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
        raise UsageError(
            f"{reference} is no address of a policy: ws://HOST:PORT for a server, and a folder's "
            "name for what is on the disk"
        )
    values: dict[str, Any] = {}
    for name, value in said.items():
        if name not in known:
            raise UsageError(f"{reference}: {name!r} is not known; there are {', '.join(known)}")
        try:
            if known[name] is not str and not is_plain(value):
                raise ValueError(value)
            values[name] = known[name](value)
        except ValueError:
            raise UsageError(
                f"{reference}: {name} is {value!r}: a {KINDS[known[name]]} is needed"
            ) from None
        if known[name] is str and not value and name != "prompt":
            raise UsageError(f"{reference}: {name} is empty: give it a name, or leave it out")
    counted = (values.get(name, 1) for name in ("execute", "timeout", "patience", "images"))
    if not all(0 < value < math.inf for value in counted):
        raise UsageError(f"{reference}: execute, timeout, patience and images are above 0")
    if max(values.get("timeout", 0), values.get("patience", 0)) > LONGEST_S:
        raise UsageError(f"{reference}: timeout and patience are {LONGEST_S:g} s at most, no ms")
    if "cameras" in values and "images" not in values:
        raise UsageError(f"{reference}: cameras take pictures of a size, images=N")
    named = [each.partition(":") for each in values.pop("cameras", "").split(",") if each]
    values["cameras"] = tuple(camera for camera, _, _ in named)
    values["called"] = tuple(called or PICTURE + camera for camera, _, called in named)
    values["size"] = values.pop("images", 0)
    return RemoteSpec(f"{parts.scheme}://{parts.netloc}{parts.path}", **values)


def _require_as_many(asked: RemoteSpec, chunk: int) -> None:
    if asked.execute > chunk:
        raise UsageError(
            f"{asked.address} carries out {asked.execute} actions of a chunk, and its chunks have "
            f"{chunk}: execute={chunk} at most"
        )


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{printable(repr(value), SHOWN)} is no whole number")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError(f"{printable(repr(value), SHOWN)} is no name")
    return value


def _real(value: Any) -> float:
    """Return a number; raises TypeError for text and truth values."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{printable(repr(value), SHOWN)} is no number")
    return float(value)


def _told(asked: RemoteSpec, metadata: dict[str, Any], reference: str) -> RemoteSpec:
    """What was asked for, with what a server of ours said of itself; of others there is a hash."""
    values = asdict(asked)
    if SAYS not in metadata:
        seen = json.dumps(metadata, sort_keys=True, default=repr)
        values["policy"] = hashlib.sha256(seen.encode()).hexdigest()
        return RemoteSpec(**values)
    numbers = ("observation", "action", "history", "stride", "chunk", "execute")
    try:
        if metadata[SAYS] != VERSION:
            raise ValueError(
                f"it says {printable(repr(metadata[SAYS]), SHOWN)}, and {VERSION} is known"
            )
        values |= {name: _count(metadata[name]) for name in numbers}
        values |= {name: _name(metadata[name]) for name in ("task", "policy")}
        values["spread"] = tuple(map(_real, metadata["spread"]))
        values |= {name: _count(metadata.get(name, values[name])) for name in ("size", "looks")}
        cameras = metadata.get("cameras", [])
        if not isinstance(cameras, list):
            raise TypeError(f"cameras are {printable(repr(cameras), SHOWN)}, and no list")
        values["cameras"] = tuple(map(_name, cameras))
        values["called"] = ()
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise PolicyError(
            f"{reference} does not say what it is; another version? {error}"
        ) from error
    _require_as_many(asked, values["chunk"])
    if asked.execute:
        values["execute"] = asked.execute
    joins = bool(metadata.get("joins", False))
    return RemoteSpec(**values | {"seeded": True, "joins": joins})
