"""Ways by which bytes of others come in, and a good example or two for each.

A door takes any bytes: it uses them, or refuses them by one of our own errors. Examples are what
inputs of the fuzz are made of, by changes in a few places (`changes.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enpire.datasets import demonstrations
from enpire.errors import EnpireError
from enpire.model_gateway.allow_list import Refused, examined
from enpire.policies import ChunkPolicy, ChunkSpec, load, metadata
from enpire.policies.remote.wire import pack, unpack
from enpire.safety.messages import SetpointRequest
from enpire.safety.station import load_station
from enpire.store import Run, archive
from enpire.store.curves import CurveReader, training_curve
from enpire.store.episodes import read_files, write_batch
from enpire.store.journal import read_whole
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.weights import read, sha256_of, to_bytes
from enpire.web.access import Access
from tests.cli.made_run import made
from tests.datasets import wrong
from tests.store.samples import episode


@dataclass(frozen=True, slots=True)
class Door:
    """One way in.

    Attributes:
        name: for a person.
        inputs: how many the slow lane gives it; slower doors get fewer.
        examples: what is good.
        give: takes bytes.
        refuses: the errors by which it may say no.
    """

    name: str
    inputs: int
    examples: tuple[bytes, ...]
    give: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...] = (EnpireError,)

    def __str__(self) -> str:
        return self.name


def doors(folder: Path) -> list[Door]:
    """All doors; folder: empty, where they may put what they need."""
    for name in ("batch", "dataset", "run"):
        (folder / name).mkdir()
    return [
        _messages(),
        _requests(),
        Door("setpoints", 150_000, (_setpoint(),), SetpointRequest.decoded, ()),
        _addresses(),
        *_of_a_batch(folder / "batch"),
        _weights(folder / "policy.safetensors"),
        _station(folder / "station.toml"),
        _ledger(folder / "run"),
        _curve(folder / "curves"),
        *_of_a_dataset(folder / "dataset"),
    ]


def _messages() -> Door:
    actions = {
        "actions": np.zeros((4, 2), np.float32),
        "n": 3,
        "text": "ok",
        "more": [1, 2.5, None],
    }
    return Door("a policy server's messages", 450_000, (pack(actions), pack({})), unpack)


def _requests() -> Door:
    tool = {"name": "look", "input_schema": {"type": "object"}}
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    examples = (json.dumps(asked | {"tools": [tool]}).encode(), json.dumps(asked).encode())
    return Door("requests to a model", 250_000, examples, examined, (Refused,))


def _setpoint() -> bytes:
    return SetpointRequest(3, 10**9, np.linspace(0.0, 1.0, 6), False).encoded()


def _addresses() -> Door:
    access = Access("127.0.0.1", "default-src 'self'", ("/data",))
    parts = ("/data/x", "a=1&b=2", "127.0.0.1:8000", "http://127.0.0.1:8000", "Bearer t")

    def give(data: bytes) -> None:
        path, query, host, origin, token, *_ = [*data.decode("latin-1").split("\n"), *[""] * 5]
        headers = {"host": host, "origin": origin, "authorization": token}
        access.refusal(path, query.encode("latin-1"), headers)

    return Door("addresses of a page", 100_000, ("\n".join(parts).encode(),), give, ())


def _of_a_batch(folder: Path) -> list[Door]:
    """Its archive, then what a sound one holds: its head, an array's, the bytes of an array."""
    batch = write_batch(folder / "00000001.zip", [episode("a"), episode("b", 3)]).path
    whole, files = batch.read_bytes(), read_files(batch)

    def reading(data: bytes) -> None:
        batch.write_bytes(data)
        try:
            read_whole(batch)
        finally:
            batch.write_bytes(whole)

    def of(name: str) -> Door:
        give = lambda data: reading(archive.pack({**files, name: data}))  # noqa: E731
        return Door(f"a batch's {name}", 20_000, (files[name],), give)

    names = ("zarr.json", "actions/zarr.json", "actions/c.0.0")
    return [Door("a batch", 20_000, (whole,), reading), *map(of, names)]


def _weights(path: Path) -> Door:
    policy = ChunkPolicy(ChunkSpec("toy", 4, 2))

    def give(data: bytes) -> None:
        path.write_bytes(data)
        tensors, said = read(path, sha256_of(path))
        load(said, tensors)

    return Door("a policy's file", 20_000, (to_bytes(policy.tensors(), metadata(policy)),), give)


def _station(path: Path) -> Door:
    text = (
        'driver = "mock"\nrobot = "yam"\nrate = 100.0\ncameras = ["top"]\n'
        "park = [0.0, 1.6, 1.3, -1.2, 0.0, 0.0]\n[limits]\ncartesian_speed = 0.1\n"
        'joint_speed = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]\n[[keep_out]]\nname = "wall"\n'
        "low = [0.6, -1.0, 0.0]\nhigh = [0.7, 1.0, 1.0]\n"
    )

    def give(data: bytes) -> None:
        path.write_bytes(data)
        load_station(path)

    return Door("a station's file", 5000, (text.encode(),), give)


def _ledger(folder: Path) -> Door:
    run = made(folder / "made")
    with Run.open(run, writable=True) as opened:
        opened.ledger.file.copy_to(folder / "ledger.sqlite")

    def give(data: bytes) -> None:
        (folder / "ledger.sqlite").write_bytes(data)
        file = LedgerFile(folder / "ledger.sqlite", writable=False, damaged=True, live=False)
        with Ledger(file) as ledger:
            for table in (
                ledger.facts,
                ledger.episodes,
                ledger.all_predicates,
                ledger.intervals,
                ledger.rounds,
                ledger.policies,
                ledger.decisions,
                ledger.events,
                ledger.sealed,
            ):
                table()

    return Door("a ledger", 3000, ((folder / "ledger.sqlite").read_bytes(),), give)


def _curve(run: Path) -> Door:
    path = training_curve(run, 1)
    path.parent.mkdir(parents=True)
    line = {"stage": "fit", "step": 1, "at": 1.5, "values": {"loss": 0.5}}
    lines = b"".join(json.dumps(line | {"step": step}).encode() + b"\n" for step in range(3))

    def give(data: bytes) -> None:
        path.write_bytes(data)
        CurveReader(run).read()

    return Door("a training's curve", 20_000, (lines,), give, ())


def _of_a_dataset(folder: Path) -> list[Door]:
    good = wrong.good().write(folder / "good")
    names = ["meta/info.json", *_tables(good)]

    def door(name: str) -> Door:
        path = good / name
        whole = path.read_bytes()

        def give(data: bytes) -> None:
            path.write_bytes(data)
            try:
                demonstrations(good, wrong.WANTED)
            finally:
                path.write_bytes(whole)

        return Door(f"a dataset's {name}", 1000, (whole,), give)

    return [door(name) for name in names]


def _tables(folder: Path) -> Sequence[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet"))]
