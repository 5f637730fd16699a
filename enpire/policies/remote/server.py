"""Serves a policy by openpi's protocol: metadata first, then a chunk for each observation."""

from __future__ import annotations

import http
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from enpire.environment import Sight, Workcells
from enpire.errors import PolicyError
from enpire.policies.driver import Driven, PolicyController
from enpire.policies.policy import Policy
from enpire.policies.remote.policy import PICTURE, SAYS
from enpire.policies.remote.wire import LONGEST, pack, unpack
from enpire.policies.seeing import SeeingController
from enpire.types import Image

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import Server, ServerConnection

LOG = logging.getLogger(__name__)
VERSION = 1
STATES = ("observation/state", "state", "observation.state")
SAID = ("task", "observation", "action", "history", "stride", "chunk", "execute")
INTERNAL = 1011  # websocket's code for a fault of the server's


class Served:
    """Answers requests for chunks; it keeps nothing from one to the next."""

    def __init__(self, policy: Policy, stations: Workcells, sha256: str) -> None:
        """stations: of the task it is for. Raises PolicyError for a policy without chunks."""
        controller = policy.controller(stations)
        if not isinstance(controller, PolicyController):
            raise PolicyError(f"a policy of kind {policy.kind!r} has no chunks to answer with")
        self._controller, self._lock = controller, threading.Lock()
        self.spec, self._width = controller.spec, controller.spec.observation
        self._sight: Sight | None = None
        if isinstance(controller, SeeingController) and controller.looks:
            self._sight, self._looks = stations.sight, controller.looks
            self._places = controller.seen.cameras
        self.metadata: dict[str, Any] = {
            SAYS: VERSION,
            "kind": policy.kind,
            "policy": sha256,
            **{name: getattr(self.spec, name) for name in SAID},
            "spread": controller.spread.tolist(),
        }
        if self._sight is not None:
            self._width = len(self._sight.felt)
            self.metadata |= {
                "observation": self._width,
                "cameras": [self._sight.cameras[place] for place in self._places],
                "size": self._sight.size,
                "looks": self._looks,
            }

    def infer(self, request: dict[str, Any]) -> dict[str, Any]:
        """A chunk, (chunk, act), for a history (history, obs) or a single observation (obs,).

        Of a policy that sees they are what an arm feels, and beside them there are pictures, uint8:
        of each camera (size, size, 3), or (looks, size, size, 3), oldest first. A request may hold
        a `seed`, from which whatever the policy draws comes. Raises PolicyError.
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
        rng = np.random.default_rng(seed if isinstance(seed, int) and seed >= 0 else None)
        driven, began = Driven(rng), time.monotonic()
        if self._sight is not None:
            whole = np.zeros((self.spec.history, self.spec.observation), np.float32)
            whole[:, list(self._sight.felt)] = history
            history, driven.pictures = whole, self._pictures(request, self._sight)
        with self._lock:
            chunk = self._controller.chunks(history[None], [driven])[0]
        taken = time.monotonic() - began
        return {"actions": chunk, "server_timing": {"infer_ms": 1e3 * taken}}

    def _pictures(self, request: dict[str, Any], sight: Sight) -> deque[Image]:
        """Those of a request, oldest first, as stations show them: cameras not asked for black."""
        shape = len(sight.cameras), sight.size, sight.size, 3
        shown = np.zeros((self._looks, *shape), np.uint8)
        for place in self._places:
            name = PICTURE + sight.cameras[place]
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


def serving(served: Served, host: str, port: int) -> Server:
    """A server that listens; its `serve_forever` answers, `shutdown` ends it. Port 0: any."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.server import serve

    def answer(connection: ServerConnection) -> None:
        try:
            connection.send(pack(served.metadata))
            for data in connection:
                if isinstance(data, str):
                    raise PolicyError("requests are msgpack, not text")
                connection.send(pack(served.infer(unpack(data))))
        except ConnectionClosed:
            return
        except Exception as error:  # the client is told, and the others go on
            LOG.warning("a request could not be answered: %s", error)
            connection.send(f"{type(error).__name__}: {error}")
            connection.close(INTERNAL, "see the message before")

    def well(connection: ServerConnection, request: Request) -> Response | None:
        return (
            connection.respond(http.HTTPStatus.OK, "OK\n") if request.path == "/healthz" else None
        )

    return serve(answer, host, port, compression=None, max_size=LONGEST, process_request=well)
