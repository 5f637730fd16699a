"""`enpire serve policy`: a run's policy for other machines, by openpi's websocket protocol."""

from __future__ import annotations

import os
from argparse import Namespace

from enpire.cli.options.parser import Parser, add_start, add_trust, task_asked
from enpire.errors import UsageError
from enpire.option_values import port
from enpire.session.graphics import choose_graphics
from enpire.session.signals import interrupt_on_signals

DESCRIPTION = """\
Answer with a policy's chunks on a websocket, as servers of openpi's do, until Ctrl-C. Elsewhere:

  enpire eval --policy ws://HOST:8000 --task NAME

Only this machine is answered, unless --host and --token are given. docs/remote-policies.md."""


def add_options(parser: Parser) -> None:
    """The options of `enpire serve policy`."""
    parser.add_argument(
        "policy",
        metavar="RUN[:NAME]",
        help="policy to serve: a run's best, or one by name; a folder of LeRobot's",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen at; any but the default needs --token (default 127.0.0.1)",
    )
    parser.add_argument(
        "--token",
        action="store_true",
        help="answer only clients that show a token: that in ENPIRE_POLICY_TOKEN, or a new "
        "one, which is printed",
    )
    parser.add_argument(
        "--port", type=port, default=8000, metavar="N", help="port to listen at (default 8000)"
    )
    parser.add_argument(
        "--task", metavar="NAME", help="task that the policy is for (default: the run's)"
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="answer requests of one moment as one batch: quicker, not the same to the bit",
    )
    add_start(parser)
    add_trust(parser)


def run(options: Namespace) -> int:
    """Serve until it is interrupted."""
    choose_graphics()
    try:
        import msgpack  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed: pip install 'enpire[vla]'") from error
    from enpire.environment import Order, open_stations
    from enpire.observe import policy_loading
    from enpire.policies.remote.client import TOKEN
    from enpire.policies.remote.server import ChunkServer, access_to, server_of
    from enpire.web.serving import bound

    access = access_to(options.host, options.token)
    chosen = policy_loading.load(options.policy)
    task = task_asked(options, chosen.task)
    if not task:
        raise UsageError(f"{options.policy} does not say what it is for: give --task")
    chosen.require_trusted(task, options.trust)
    images = policy_loading.images(chosen.policy)
    stations = open_stations(Order(task, chosen.python, chosen.success, images=images), 1)
    policy_loading.require_fit(chosen.policy, stations, chosen.name)
    served = ChunkServer(chosen.policy, stations, chosen.sha256, options.together)
    listening = bound(options.host, options.port)
    listening.listen()  # who comes before the server is up waits
    host, port = listening.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    print(f"{options.policy} for {task} at ws://{name}:{port}", flush=True)
    if options.token and TOKEN not in os.environ:
        print(f"{TOKEN}={access.token}", flush=True)
    with interrupt_on_signals():
        server_of(served, access).run(sockets=[listening])
    return 0
