"""A connection to a policy's server: asks, waits no longer than it should, connects again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from enpire.errors import PolicyError, ServerFault, UsageError, printable
from enpire.policies.remote.wire import LONGEST, pack, unpack

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

AGAIN_S = 0.2  # between tries to connect
OPEN_S = 10.0  # for one try
CLOSE_S = 0.1  # who stalls is not waited for
HANG_UPS = 3  # connections that may be lost under one question
TOKEN = "ENPIRE_POLICY_TOKEN"  # the variable that holds what a server asks for
QUIET = logging.getLogger(f"{__name__}.websockets")  # what goes wrong is told by us
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
REFUSED = range(400, 500)  # answers that do not change by asking again


def token_said() -> str | None:
    """Return the token that the environment has; raises UsageError for one that no header takes."""
    token = os.environ.get(TOKEN)
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(
            f"the variable {TOKEN} has a space, the end of a line or another letter that no "
            "token has: set it without"
        )
    return token


class PolicyClient:
    """One connection, opened when it is needed.

    The server keeps nothing between requests, so one that was lost with a connection is asked
    again over the next.
    """

    def __init__(self, address: str, timeout: float, patience: float) -> None:
        """address: `ws://HOST:PORT`. timeout: of an answer; patience: for a server to come [s]."""
        self.address, self._timeout, self._patience = address, timeout, patience
        self._connection: ClientConnection | None = None
        self._opened = ExitStack()
        self.metadata: dict[str, Any] = {}

    def open(self) -> dict[str, Any]:
        """Connect, if it is not, and say what the server said of itself first.

        Raises:
            PolicyError: no policy's server answers there within `patience`.
        """
        end = time.monotonic() + self._patience
        why: Exception | None = None  # the latest answer: it says more than a try that was cut off
        while self._connection is None:
            left = end - time.monotonic()
            try:
                self._connect(max(left, AGAIN_S))
            except (OSError, EOFError) as error:  # websockets' own are neither
                if why is None or not isinstance(error.__cause__, TimeoutError):
                    why = error
                if left <= AGAIN_S:
                    raise PolicyError(
                        f"no policy's server at {self.address} ({why}): is it up? "
                        f"It was waited for {self._patience:g} s"
                    ) from error
                time.sleep(AGAIN_S)
        return self.metadata

    def ask(self, requests: Sequence[dict[str, Any]], timeout: float = 0.0) -> list[dict[str, Any]]:
        """The answers to some requests, in their order.

        A server that hangs up, or starts anew, is connected to again as long as there is time.
        timeout: another than the client's own, 0 for that [s].

        Raises:
            ServerFault: they are not there in time, or are none; the connection is closed then.
        """
        from websockets.exceptions import ConnectionClosed

        timeout = timeout or self._timeout
        end = time.monotonic() + timeout
        hung_up = 0
        while True:
            try:
                return self._exchange(requests, end)
            except TimeoutError:
                self.close()
                raise ServerFault(
                    f"the policy's server at {self.address} stalls: no answer within {timeout:g} s"
                ) from None
            except (OSError, EOFError, ConnectionClosed) as error:
                hung_up += self._connection is not None
                self.close()
                if hung_up >= HANG_UPS or time.monotonic() + AGAIN_S > end:
                    raise ServerFault(
                        f"the policy's server at {self.address} has gone: {error}"
                    ) from error
                time.sleep(AGAIN_S)
            except PolicyError as error:
                self.close()
                raise ServerFault(f"the policy's server at {self.address}: {error}") from error

    def close(self) -> None:
        """Hang up; `open` and `ask` connect again."""
        self._connection = None
        self._opened.close()

    def _exchange(self, requests: Sequence[dict[str, Any]], end: float) -> list[dict[str, Any]]:
        if self._connection is None:
            self._connect(max(end - time.monotonic(), 0.1))
        connection = self._connection
        if connection is None:
            raise RuntimeError("connected, and yet not")
        _require_silence(connection)
        for request in requests:
            connection.send(pack(request))
        return [_answer(connection.recv(max(end - time.monotonic(), 0.0))) for _ in requests]

    def _connect(self, within: float) -> None:
        try:
            from websockets.exceptions import InvalidStatus, InvalidURI, WebSocketException
            from websockets.sync.client import connect
        except ImportError as error:
            raise UsageError(
                "remote policies need websockets: pip install 'enpire[vla]'"
            ) from error
        within, token = min(within, OPEN_S), token_said()
        try:
            opened = connect(
                self.address,
                additional_headers={"Authorization": f"Bearer {token}"} if token else None,
                ping_interval=None,  # each question has its own time
                compression=None,
                logger=QUIET,
                max_size=LONGEST,
                proxy=None,
                open_timeout=within,
                close_timeout=CLOSE_S,
            )
            connection = self._opened.enter_context(opened)
            self.metadata = _answer(connection.recv(within))
        except PolicyError as error:
            self._opened.close()
            raise PolicyError(
                f"the policy's server at {self.address}, at first: {error}"
            ) from error
        except InvalidURI as error:
            raise UsageError(f"{self.address} is no address: ws://HOST:PORT") from error
        except (TimeoutError, WebSocketException, AssertionError) as error:
            self._opened.close()  # an assertion is websockets', of one that speaks no HTTP
            if isinstance(error, InvalidStatus) and error.response.status_code in REFUSED:
                said = printable((error.response.body or b"").decode(errors="replace").strip())
                raise PolicyError(
                    f"the policy's server at {self.address} refuses: {said[:200] or error}; a "
                    f"token is taken from {TOKEN}"
                ) from error
            raise ConnectionError(
                f"it does not say what it is: {str(error) or 'silence'}"
            ) from error
        connection.socket.settimeout(self._timeout)  # of what is sent: who does not read stalls
        self._connection = connection


def _require_silence(connection: ClientConnection) -> None:
    """Raise PolicyError for a message that came unasked: it would pass for the next answer."""
    try:
        connection.recv(0)
    except TimeoutError:
        return
    raise PolicyError("it sent a message that nobody asked for; answers cannot be told apart")


def _answer(data: str | bytes) -> dict[str, Any]:
    if isinstance(data, str):  # openpi's servers say so what went wrong
        lines = data.strip().splitlines() or ["nothing"]
        raise PolicyError(f"it says: {printable(lines[-1])}")
    return unpack(data)
