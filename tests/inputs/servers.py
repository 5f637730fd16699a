"""Policy servers that are slightly wrong, over real sockets, by openpi's protocol."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.environment import Stations
from enpire.errors import ServerFault
from enpire.observe.policy_loading import load, require_fit
from enpire.policies.remote.wire import pack
from tests.environment.reach import reach_stations
from tests.inputs.entry import INVALID, REFUSED, TAKEN, TOLD, Input

msgpack = pytest.importorskip("msgpack")
serve = pytest.importorskip("websockets.sync.server").serve

Answer = Callable[[Any], None]
ASKED, OFTEN = 30, 300  # actions of an episode, and of several
WHOLE = "?timeout=60&patience=60"  # all of each chunk is carried out
LONG = "?timeout=60&patience=60&execute=2"  # more than a busy machine takes
SHORT = "?timeout=2&patience=2&execute=2"  # which is used up
BRIEF = "?timeout=3&patience=3"
NOUGHT = ".*asked about an observation of zeros, and nothing was measured"


@cache
def stations() -> Stations:
    """A task to act on."""
    return reach_stations(1)


def width() -> int:
    """Entries of an action."""
    return stations().action_size


@contextlib.contextmanager
def serving(answer: Answer, said: Any = None) -> Iterator[str]:
    """A server that says `said` first, and then answers each question so."""

    def talk(connection: Any) -> None:
        first = {} if said is None else said
        connection.send(first if isinstance(first, str) else msgpack.packb(first))
        for _ in connection:
            answer(connection)

    server = serve(talk, "127.0.0.1", 0, compression=None)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
    finally:
        server.shutdown()
        thread.join(10)


@contextlib.contextmanager
def listening(talk: Callable[[socket.socket], object]) -> Iterator[str]:
    """What listens there is no server of policies at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = listener.accept()[0]
                    threading.Thread(target=guarded, args=(connection,), daemon=True).start()

        def guarded(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                talk(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"


def acted(address: str, asked: int = ASKED) -> tuple[str, str]:
    """How a policy there acts: what of it is not taken is told, or makes an episode invalid.

    asked: for so many actions.
    """
    policy = load(address).policy
    require_fit(policy, stations(), "remote")
    controller = policy.controller(stations())
    controller.begin(0, np.random.default_rng(0), 0.0)
    seen = np.ones((1, stations().observation_size), np.float32)
    try:
        actions = [controller.act(np.array([0]), seen, None) for _ in range(asked)]
    except ServerFault as fault:
        return INVALID, str(fault)
    assert np.isfinite(actions).all()
    return (TOLD if controller.watch.text else TAKEN), controller.watch.text


def sends(message: Any) -> Answer:
    """Answers with this."""
    return lambda connection: connection.send(message)


def actions(value: Any, kind: Any = np.float32, shape: tuple[int, ...] = ()) -> Answer:
    """Answers with a chunk of one number."""

    def answer(connection: Any) -> None:
        array = np.full(shape or (5, width()), value).astype(kind)
        connection.send(pack({"actions": array}))

    return answer


def array(kind: str, data: bytes, shape: list[Any]) -> Answer:
    """Answers with an array of these parts."""
    parts = {b"__ndarray__": True, b"data": data, b"dtype": kind, b"shape": shape}
    return sends(msgpack.packb({"actions": parts}))


def after(first: int, answer: Answer, good: Answer | None = None) -> Answer:
    """Some good answers, and then others."""
    asked: list[bool] = []

    def turns(connection: Any) -> None:
        asked.append(True)
        (answer if len(asked) > first else good or actions(0.1))(connection)

    return turns


def one(
    name: str, answer: Answer, words: str, ends: str = REFUSED, said: Any = None, ask: str = "2"
) -> Input:
    """An entry: a server that answers so. ask: how many actions of a chunk are carried out."""

    def give(_: Path) -> tuple[str, str]:
        with serving(answer, said) as address:
            return acted(f"{address}?timeout=60&patience=60&execute={ask}")

    return Input(name, give, words, ends)


def often(name: str, answer: Answer, words: str, ends: str, times: str = LONG) -> Input:
    """An entry: a server that is asked for longer."""

    def give(_: Path) -> tuple[str, str]:
        with serving(answer) as address:
            return acted(address + times, OFTEN)

    return Input(name, give, words, ends)


def later(name: str, answer: Callable[[], Answer], words: str, times: str = LONG) -> Input:
    """An entry: a server that answers so in the middle of an episode."""

    def give(_: Path) -> tuple[str, str]:
        with serving(after(3, answer())) as address:
            return acted(address + times)

    return Input(name, give, words, INVALID)


def ours(name: str, words: str, ends: str = REFUSED, **changed: Any) -> Input:
    """An entry: a server of ours that says of itself what is changed here."""

    def give(_: Path) -> tuple[str, str]:
        said = {
            "enpire": 1,
            "observation": stations().observation_size,
            "action": width(),
            "history": 1,
            "stride": 1,
            "chunk": 5,
            "execute": 5,
            "task": "reach",
            "policy": "x",
            "spread": [0.1] * width(),
        }
        with serving(actions(0.1), said | changed) as address:
            return acted(address + LONG)

    return Input(name, give, words, ends)


def no_server(name: str, talk: Callable[[socket.socket], object], words: str) -> Input:
    """An entry: something else that listens there."""

    def give(_: Path) -> tuple[str, str]:
        with listening(talk) as address:
            return acted(address + BRIEF)

    return Input(name, give, words)


def at_first(
    talk: Callable[[socket.socket], object], later: Callable[[socket.socket], object]
) -> Callable[[socket.socket], object]:
    """One talk to who comes first, and another to all who come later."""
    talks = itertools.chain([talk], itertools.repeat(later))
    return lambda connection: next(talks)(connection)


def at(name: str, address: str, words: str) -> Input:
    """An entry: an address."""
    return Input(name, lambda _: acted(address), words)


def http(line: bytes, more: bytes = b"\r\n") -> Callable[[socket.socket], object]:
    """A web server that says this."""
    return lambda connection: (connection.recv(999), connection.sendall(line + b"\r\n" + more))


def drawn(low: float) -> Answer:
    """Other actions each time, from `low` to 1."""
    rng = np.random.default_rng(0)

    def answer(connection: Any) -> None:
        chunk = rng.uniform(low, 1.0, (5, width())).astype(np.float32)
        connection.send(pack({"actions": chunk}))

    return answer


def lagging(times: int) -> Answer:
    """Answers so many times with one chunk, before it works out the next."""
    rng, asked = np.random.default_rng(0), [0, np.zeros((0, 0), np.float32)]

    def answer(connection: Any) -> None:
        if asked[0] % times == 0:
            asked[1] = rng.uniform(-0.9, 0.9, (5, width())).astype(np.float32)
        asked[0] += 1
        connection.send(pack({"actions": asked[1]}))

    return answer


def filled(value: float | None) -> Answer:
    """Answers with two actions, and fills a chunk of five up; None: with the second of them."""
    rng = np.random.default_rng(0)

    def answer(connection: Any) -> None:
        chunk = rng.uniform(-0.9, 0.9, (5, width())).astype(np.float32)
        chunk[2:] = chunk[1] if value is None else value
        connection.send(pack({"actions": chunk}))

    return answer


def twice_named(name: bytes) -> bytes:
    """A map with two chunks of actions, the second under `name` as msgpack has it."""
    chunks = [pack({"actions": np.full((5, width()), value, np.float32)}) for value in (0.1, 0.9)]
    return b"\x82" + chunks[0][1:] + name + chunks[1][len(b"\x81\xa7actions") :]


def twice(connection: Any) -> None:
    """One question, two answers."""
    actions(0.1)(connection)
    actions(0.2)(connection)


def with_error(connection: Any) -> None:
    """Actions, and that they are none."""
    chunk = np.zeros((5, width()), np.float32)
    connection.send(pack({"actions": chunk, "error": "CUDA out of memory"}))


def late(connection: Any) -> None:
    """Slow, and in time."""
    time.sleep(0.1)
    actions(0.1)(connection)


def growing() -> Answer:
    """A longer chunk each time."""
    count: list[int] = []

    def answer(connection: Any) -> None:
        count.append(1)
        actions(0.1, shape=(4 + len(count), width()))(connection)

    return answer


def dripping(connection: socket.socket) -> None:
    """A letter every now and then."""
    for letter in b"HTTP/1.1 101 Switching Protocols\r\n" * 9:
        connection.send(bytes([letter]))
        time.sleep(0.1)


def once(connection: Any) -> None:
    """An answer to a connection."""
    actions(0.1)(connection)
    connection.close()


LINES = np.linspace(-0.9, 0.9, 35, dtype=np.float32).reshape(5, 7)
GOOD = {"actions": LINES}
CLIPPED = "100% of its .* beyond"
ALL = (
    one("NaN", actions(np.nan), "entry 0 of action 0 is nan" + NOUGHT),
    one("infinity", actions(np.inf), "is inf" + NOUGHT),
    one("a list", sends(pack({"actions": [[0.0] * 7] * 5})), "which is a list of 5" + NOUGHT),
    one("flat", actions(0, shape=(7,)), r"shape \(7,\)" + NOUGHT),
    one("too narrow", actions(0, shape=(5, 3)), r"shape \(5, 3\)" + NOUGHT),
    one("too wide", actions(0, shape=(5, 9)), r"shape \(5, 9\)" + NOUGHT),
    one("empty", actions(0, shape=(0, 7)), r"shape \(0, 7\)" + NOUGHT),
    one("batched", actions(0, shape=(1, 5, 7)), r"shape \(1, 5, 7\)" + NOUGHT),
    one("a number", sends(pack({"actions": np.float32(0)})), "which is a float32"),
    one("another name", sends(pack({"action": np.zeros((5, 7))})), "no `actions`, but action"),
    one("nothing", sends(pack({})), "but nothing"),
    one("None", sends(pack({"actions": None})), "which is a NoneType"),
    one("a traceback", sends("Traceback ...\nValueError: no key"), "says: ValueError: no key"),
    one("no message", sends(b"\xc1"), "no msgpack"),
    one("text first", sends(""), "ws://127.*: it says: loading it", said="loading it"),
    one("a list first", sends(""), "ws://127.*: a message that is no map", said=[1]),
    one("hangs up", lambda connection: connection.close(), "gone"),
    later("of another length", lambda: actions(0, shape=(4, width())), r"shape \(4, 7\)"),
    later("NaN later", lambda: actions(np.nan), "is nan"),
    later("an error later", lambda: sends("CUDA out of memory"), "CUDA out of memory"),
    later("hangs up later", lambda: lambda connection: connection.close(), "gone"),
    later("stalls later", lambda: lambda _: None, "stalls: no answer within 2 s", SHORT),
    one("in degrees", actions(57.3), CLIPPED, TOLD),
    one("in degrees, whole", actions(57, np.int16), CLIPPED, TOLD),
    one("1e300", actions(1e300, np.float64), CLIPPED, TOLD),
    one("the least whole number", actions(-(2**63), np.int64), CLIPPED, TOLD),
    often(
        "one chunk for all", sends(pack({"actions": LINES})), "all of its 150 chunks .* same", TOLD
    ),
    often("never below nought", drawn(0.0), "has an entry below 0, .*between 0 and 1", TOLD),
    often("on both sides of nought", drawn(-1.0), "^$", TAKEN),
    one("of half precision", actions(0.5, np.float16), "^$", TAKEN),
    one("truth values", actions(True, bool), "truth values"),
    one("whole numbers", actions(1, np.int64), "with whole numbers .int64.*: rounded", TOLD),
    often("the last chunk again, four times", lagging(5), "chunks are to the bit one that", TOLD),
    often("chunks filled up with noughts", filled(0.0), "half or more repeats", TOLD, WHOLE),
    often("chunks filled up by their last", filled(None), "half or more repeats", TOLD, WHOLE),
    often("chunks of another moment each", lagging(1), "^$", TAKEN),
    one("two answers to one question", twice, "nobody asked for", INVALID),
    one("actions and an error", with_error, "answers with error: 'CUDA"),
    one("longer each time", growing(), "is needed", INVALID),
    one("slow", late, "^$", TAKEN),
    one("complex", array("<c8", bytes(8 * 35), [5, 7]), "an array of type '<c8'"),
    one("dates", array("<M8[s]", bytes(8 * 35), [5, 7]), "an array of type '<M8"),
    one("the other way round", array("<f4", bytes(4 * 35), [7, 5]), r"shape \(7, 5\)"),
    one("a shape of text", array("<f4", bytes(28), ["1", "7"]), "not that of its bytes"),
    one("a shape beyond memory", array("<f4", b"", [10**12, 0]), r"shape \(1000"),
    one("big-endian", array(">f4", bytes(4 * 35), [5, 7]), "^$", TAKEN),
    one("too deep", sends(b"\x91" * 100_000 + b"\xc0"), "no msgpack"),
    one("names too deep", sends(b"\x81\xa1a" * 5000 + b"\xc0"), "no msgpack"),
    one("a type of its own", sends(msgpack.packb(msgpack.ExtType(5, b"x"))), "no map but Ext"),
    one("text in place of bytes", sends('{"actions": [[0]]}'), "it says:"),
    one("text of no letters", sends(""), "it says: nothing"),
    one("text that clears the screen", sends("\x1b[2J" + "x" * 10**5), r"\\x1b\[2Jx+ etc"),
    one("letters of no set", sends(b"\x81\xa7actions\xa2\xff\xfe"), "no msgpack"),
    one("a name twice", sends(twice_named(b"\xa7actions")), "with the name 'actions' twice"),
    one("a name twice, as bytes", sends(twice_named(b"\xc4\x07actions")), "with the name .* twice"),
    one("a name that is a number", sends(msgpack.packb({1: 2})), "no `actions`, but 1"),
    ours("as it should be", "^$", TAKEN),
    ours("another version", "it says 99, and 1 is known", enpire=99),
    ours("a size that is no number", "nan is no whole number", observation=float("nan")),
    ours("a size that is a fraction", "5.7 is no whole number", chunk=5.7),
    ours("a size that is a truth", "True is no whole number", observation=True),
    ours("a size that is text", "'x' is no whole number", observation="x"),
    ours("a size below nought", "observation: -1", observation=-1),
    ours("a size beyond memory", "action: 1000000", action=10**6),
    ours("for something else", "maps 3 observations", observation=3),
    ours("a chunk of another length", r"shape \(5, 7\); .* \(9, 7\) is needed", chunk=9),
    ours("a spread below nought", "7 numbers from 0 to 10: actions", spread=[-0.1] * 7),
    ours("a spread of 1e300", "7 numbers from 0 to 10: actions", spread=[1e300] * 7),
    ours("a spread of truths", "True is no number", spread=[True] * 7),
    ours("a spread in quotes", "'0.1' is no number", spread=["0.1"] * 7),
    ours("of another task", "is served for push_t, and acts in reach", TOLD, task="push_t"),
    ours("a task that clears the screen", "is no name", task="\x1b[2J"),
    ours("cameras that are text", "and no list", cameras="front"),
    no_server("silent", lambda _: time.sleep(3), "no policy's server"),
    no_server("closes at once", lambda _: None, "no policy's server"),
    no_server("a web page", http(b"HTTP/1.1 200 OK"), "HTTP 200|valid HTTP"),
    no_server("overloaded", http(b"HTTP/1.1 503 No", b"Content-Length: 0\r\n\r\n"), "HTTP 503"),
    no_server(
        "overloaded, then silent",
        at_first(http(b"HTTP/1.1 503 No", b"Content-Length: 0\r\n\r\n"), lambda _: time.sleep(4)),
        "HTTP 503",
    ),
    no_server("locked", http(b"HTTP/1.1 401 No", b"Content-Length: 2\r\n\r\nno"), "refuses: no"),
    no_server("leads to itself", http(b"HTTP/1.1 302 F", b"Location: /\r\n\r\n"), "redirects"),
    no_server("another protocol", lambda c: c.sendall(b"SSH-2.0-x\r\n"), "does not say what it is"),
    no_server("drips", dripping, "does not say what it is"),
    at("nobody", f"ws://127.0.0.1:1{BRIEF}", "refused.*waited for 3 s"),
    at("a name too long", f"ws://{'a' * 70}.com{BRIEF}", "no address"),
    at("dots", f"ws://a..b{BRIEF}", "no address"),
    at("a fragment", f"ws://127.0.0.1:1/#x{BRIEF}", "without #"),
    at("2000 letters", f"ws://127.0.0.1:1/{'a' * 5000}{BRIEF}", "letters at most"),
    at("another scheme", "http://127.0.0.1:1", "ws://HOST:PORT"),
    one(
        "actions by part",
        sends(pack({"actions": {"arm": np.zeros((5, 7))}})),
        "which is a dict of 1",
    ),
    one("within a result", sends(pack({"result": {"actions": [0]}})), "no `actions`, but result"),
    one("actions and no success", sends(pack(GOOD | {"success": False})), "with success: False"),
    one("actions and not ok", sends(pack(GOOD | {"ok": False})), "answers with ok: False"),
    one("actions and success", sends(pack(GOOD | {"success": True})), "^$", TAKEN),
    one("actions by columns", sends(pack({"actions": np.asfortranarray(LINES)})), "^$", TAKEN),
    one("hangs up after each answer", once, "^$", TAKEN),
    at("patience in ms", "ws://127.0.0.1:1?patience=30000", "3600 s at most, no ms"),
    at("a time without end", "ws://127.0.0.1:1?timeout=1e9", "3600 s at most, no ms"),
    one("more actions than its chunks have", actions(0.1), "have 5: execute=5 at most", ask="9"),
    at("a file's scheme", "file:///tmp/p", "a folder's name for what is on the disk"),
    at("a hub's scheme", "hf://lerobot/pi0", "is no address of a policy: ws://HOST:PORT"),
    at(
        "a scheme in capitals",
        f"WS://127.0.0.1:1{BRIEF}",
        "no policy's server at ws://127.0.0.1:1 ",
    ),
    at("one slash", "ws:/127.0.0.1:1", "ws://HOST:PORT for a server"),
    at("no slash", "wss:127.0.0.1:1", "ws://HOST:PORT for a server"),
    at("no scheme", "127.0.0.1:8000", "a policy's server is ws://127.0.0.1:8000$"),
    at("a scheme without its colon", "wss//127.0.0.1:1", "there is no run at wss/+127.0.0.1: "),
    at("no scheme, an option", "localhost:8000?execute=2", "is ws://localhost:8000.execute=2$"),
    at("no host", f"ws://:8000{BRIEF}", "is no address: ws://HOST:PORT"),
    at("a space in it", "ws://127.0.0.1 :8000", "has a space in it"),
    at("a space after it", "ws://127.0.0.1:8000 ", "has a space in it"),
    at("the end of a line", "ws://127.0.0.1:8000\n", "has a space in it"),
    at("a password", "ws://me:pw@127.0.0.1:1", "ws://127.0.0.1 is .* from ENPIRE_POLICY_TOKEN"),
    at("a name before it", "ws://me@127.0.0.1:1", "without a name or a password"),
    at("a key as an option", "ws://h:1?api_key=x", "'api_key' is not known"),
    at("an option behind &", "ws://127.0.0.1:1&execute=2", "is no address"),
    at("two addresses", "ws://h:1?execute=2,ws://h:2?execute=2", "twice|whole number"),
    at("a port too large", "ws://h:99999999", "no address"),
    at("a time that is none", "ws://h:1?timeout=nan", "above 0"),
    at("digits of another script", "ws://h:1?execute=\u0662", "a whole number is needed"),
    at("an underscore in a number", "ws://h:1?timeout=1_0", "timeout is '1_0': a number is needed"),
    at("an option that is none", "ws://h:1?exec=2", "is not known"),
    at("pictures beyond memory", "ws://h:1?images=100000", "size: 100000"),
    one("a batch of one", actions(0.1, shape=(1, 5, width())), r"of shape \(1, 5, 7\)"),
    one("nothing at all", sends(b""), "a message that is no msgpack"),
    one(
        "big endian",
        array(">f4", np.full((5, width()), 0.1, ">f4").tobytes(), [5, width()]),
        "^$",
        TAKEN,
    ),
    one("a bit too few bytes", array("<f4", b"0000" * 2, [5, width()]), "shape is not that of its"),
)
