"""Serves a policy by openpi's protocol: metadata first, then a chunk for each observation."""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from enpire.environment import PolicyCameras, StationBackend, instruction
from enpire.errors import PolicyError, UsageError
from enpire.policies.asynchronous import inferring
from enpire.policies.chunk_sampler import Answers
from enpire.policies.composed import BASES
from enpire.policies.kinds import eyes
from enpire.policies.policy import Policy
from enpire.policies.policy_runner import ChunkRequest, PolicyController
from enpire.policies.remote.client import TOKEN, token_said
from enpire.policies.remote.policy import PICTURE, SAYS, VERSION
from enpire.policies.remote.waiting import Waiting
from enpire.policies.remote.wire import pack, unpack
from enpire.policies.specialist import SpecialistPolicy
from enpire.policies.vision import SeeingController, seen_there
from enpire.types import Float32Array, Image
from enpire.web.access import Access, Gate, loopback
from enpire.web.serving import PageServer
from enpire.web.websocket import LimitedWebSocket

LOG = logging.getLogger(__name__)
STATES = ("observation/state", "state", "observation.state")
SAID = ("task", "observation", "action", "history", "stride", "chunk", "execute")
MOST = 16  # requests that are answered in one go
WORDS = 2**16  # bytes of a request beside its arrays: names, the task in words
TOKEN_LENGTH = 16  # letters, at least
NUMBER = 8  # bytes of the longest number of an array
INTERNAL = 1011  # websocket's code for a fault of the server's


@dataclass(frozen=True, slots=True)
class _ChunkQuery:
    """What was asked, and is good. left: of the last chunk, (n, act), and the delay."""

    seen: Float32Array
    seed: int | None
    pictures: deque[Image]
    left: tuple[Float32Array, int] | None

    def chunk_request(self, controller: PolicyController) -> ChunkRequest:
        """As of an episode that begins here: the same whenever it is asked."""
        state = controller.new_episode(np.random.default_rng(self.seed))
        state.pictures = self.pictures
        stride = controller.spec.stride
        for row in np.repeat(self.seen, stride, axis=0)[stride - 1 :]:
            state.see(row)
        return ChunkRequest(state, self.seen, *(self.left or (self.seen[:0], 0)))


class ChunkServer:
    """Answers requests for chunks; it keeps nothing from one to the next.

    What several clients ask while an answer is worked out is answered in one go after it.
    """

    def __init__(
        self, policy: Policy, stations: StationBackend, sha256: str, together: bool = False
    ) -> None:
        """stations: of the task it is for.

        together: what is asked at one time is one batch of the network's. That is quicker on a
        processor, and how it rounds then depends on who else asks.

        Raises:
            PolicyError: a policy without chunks, or one that does not work them out together.
        """
        controller = policy.controller(stations)
        if not isinstance(controller, PolicyController) or isinstance(policy, SpecialistPolicy):
            raise PolicyError(
                f"a policy of kind {policy.kind!r} has no chunks to answer single requests with"
            )
        self._controller, self._waiting = controller, Waiting(self._worked_out, MOST)
        self._joined = inferring(policy, controller)
        self._many = _many(policy, stations) if together else None
        self.spec = replace(controller.spec, chunk=controller.answered)
        self._width = self.spec.observation
        self._policy_cameras: PolicyCameras | None = None
        if isinstance(controller, SeeingController) and controller.looks:
            self._policy_cameras, self._looks = stations.policy_cameras, controller.looks
            self._places = controller.seen.cameras
        self.metadata: dict[str, Any] = {
            SAYS: VERSION,
            "joins": True,
            "kind": policy.kind,
            "policy": sha256,
            **{name: getattr(self.spec, name) for name in SAID},
            "spread": controller.spread.tolist(),
        }
        if self._policy_cameras is not None:
            self._width = len(self._policy_cameras.felt)
            self.metadata |= {
                "observation": self._width,
                "cameras": [self._policy_cameras.cameras[place] for place in self._places],
                "size": self._policy_cameras.size,
                "looks": self._looks,
            }

    @property
    def longest(self) -> int:
        """Bytes of the longest request that can be answered."""
        numbers = self.spec.history * self._width + self.spec.chunk * self.spec.action
        pictures = 0
        if self._policy_cameras is not None:
            pictures = len(self._places) * self._looks * self._policy_cameras.size**2 * 3
        return WORDS + NUMBER * numbers + pictures

    def infer(self, request: dict[str, Any]) -> dict[str, Any]:
        """A chunk, (chunk, act), for a history (history, obs) or a single observation (obs,).

        Of a policy that sees they are what an arm feels, and beside them there are pictures, uint8:
        of each camera (size, size, 3), or (looks, size, size, 3), oldest first. A request may hold
        a `seed`, from which whatever the policy draws comes, and what is `left` of the last chunk,
        (n, act), of which `delay` actions will have been carried out when the new one, which goes
        on from there, is used. Raises PolicyError.
        """
        seen = next((request[name] for name in STATES if name in request), None)
        if not isinstance(seen, np.ndarray):
            raise PolicyError(f"a request holds an array {STATES[0]!r}")
        history = np.atleast_2d(np.asarray(seen, np.float32))
        if history.shape[0] == 1:  # the only one stands for those before it
            history = np.repeat(history, self.spec.history, axis=0)
        needed = (self.spec.history, self._width)
        if history.shape != needed or not np.isfinite(history).all():
            raise PolicyError(
                f"observations of shape {seen.shape}: {needed}, and finite, are taken"
            )
        seed = request.get("seed")
        seed = seed if isinstance(seed, int) and seed >= 0 else None
        left, pictures = self._rest_of_chunk(request), deque[Image]()
        began = time.monotonic()
        if self._policy_cameras is not None:
            whole = np.zeros((self.spec.history, self.spec.observation), np.float32)
            whole[:, list(self._policy_cameras.felt)] = history
            history, pictures = whole, self._pictures(request, self._policy_cameras)
        chunk = self._waiting.answer(_ChunkQuery(history, seed, pictures, left))
        taken = time.monotonic() - began
        return {"actions": chunk, "server_timing": {"infer_ms": 1e3 * taken}}

    def _worked_out(self, requests: Sequence[_ChunkQuery]) -> list[Float32Array]:
        """Their chunks, of which some go on from what is left of the last one."""
        plain, joins = ([r for r in requests if (r.left is None) is kind] for kind in (True, False))
        chunks, joined = (
            iter(answer([one.chunk_request(self._controller) for one in some]) if some else ())
            for answer, some in ((self._chunks, plain), (self._joined, joins))
        )
        return [next(chunks if one.left is None else joined) for one in requests]

    def _chunks(self, requests: Sequence[ChunkRequest]) -> Float32Array:
        history, state = np.array([one.seen for one in requests]), [one.state for one in requests]
        if self._many is None:
            return self._controller.chunks(history, state)
        seeds = [int(one.rng.integers(2**63)) for one in state]
        controller = self._controller
        pictures = controller.shown(state) if isinstance(controller, SeeingController) else None
        return self._many(history, seeds, pictures=pictures)

    def _pictures(self, request: dict[str, Any], policy_cameras: PolicyCameras) -> deque[Image]:
        """The pictures of a request, oldest first, as stations show them; black if not asked."""
        shape = len(policy_cameras.cameras), policy_cameras.size, policy_cameras.size, 3
        shown = np.zeros((self._looks, *shape), np.uint8)
        for place in self._places:
            name = PICTURE + policy_cameras.cameras[place]
            given = request.get(name)
            shapes = shape[1:], (self._looks, *shape[1:])
            if (
                not isinstance(given, np.ndarray)
                or given.dtype != np.uint8
                or given.shape not in shapes
            ):
                raise PolicyError(
                    f"a request holds pictures {name!r} of uint8, {shape[1:]}, or {self._looks} "
                    "of them"
                )
            shown[:, place] = given
        return deque(shown)

    def _rest_of_chunk(self, request: dict[str, Any]) -> tuple[Float32Array, int] | None:
        if "left" not in request:
            return None
        left, delay = request["left"], request.get("delay", 0)
        array = isinstance(left, np.ndarray) and left.ndim == 2
        if not array or left.shape[1] != self.spec.action or len(left) > self.spec.chunk:
            raise PolicyError(
                f"what is left of a chunk is an array, (at most {self.spec.chunk}, "
                f"{self.spec.action})"
            )
        if not isinstance(delay, int) or not 0 <= delay <= len(left):
            raise PolicyError(f"a delay of {delay!r}, with {len(left)} actions left")
        if not np.isfinite(left).all():
            raise PolicyError("what is left of a chunk are finite numbers")
        return np.asarray(left, np.float32), delay


def _many(policy: Policy, stations: StationBackend) -> Answers:
    """How it works out several chunks together.

    Raises:
        PolicyError: it does not.
    """
    kinds = tuple(BASES.values())
    if not isinstance(policy, kinds):
        raise PolicyError(
            f"a policy of kind {policy.kind!r} answers row by row: leave --together out"
        )
    return policy.sampler(instruction(stations), seen_there(stations, *eyes(policy))).many


def access_to(host: str, locked: bool) -> Access:
    """Return who may ask a policy's server; locked: whoever shows the token alone.

    Raises:
        UsageError: a token is needed, or the one there is can be guessed.
    """
    if not locked and not loopback(host):
        raise UsageError(
            f"--host {host} is reached by other machines: give --token, and to its clients what is "
            f"in {TOKEN}"
        )
    token = token_said() or secrets.token_urlsafe(24)
    if locked and len(token) < TOKEN_LENGTH:
        raise UsageError(f"the token in {TOKEN} is short: {TOKEN_LENGTH} letters at least")
    return Access(host, "default-src 'none'", (), token=token, locked=locked)


def server_of(served: ChunkServer, access: Access) -> PageServer:
    """Return a server of a policy, to be run on a socket that is bound.

    An error is a text, after which it hangs up. access: who may ask.
    """

    def answer_to(data: bytes) -> bytes:
        return pack(served.infer(unpack(data)))

    async def answer(connection: WebSocket) -> None:
        await connection.accept()
        try:
            await connection.send_bytes(pack(served.metadata))
            while True:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    return
                data = message.get("bytes")
                if data is None:
                    raise PolicyError("requests are msgpack, not text")
                await connection.send_bytes(await run_in_threadpool(answer_to, data))
        except (WebSocketDisconnect, TimeoutError):
            return
        except Exception as error:  # the client is told, and the others go on
            LOG.warning("a request could not be answered: %s", error)
            with suppress(WebSocketDisconnect):
                await connection.send_text(f"{type(error).__name__}: {error}")
                await connection.close(INTERNAL, "see the message before")

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("OK\n")

    routes = [Route("/healthz", healthy), WebSocketRoute("/{path:path}", answer)]
    gate = Gate(Starlette(routes=routes), access)
    return PageServer(gate, websocket=LimitedWebSocket, longest=served.longest)
