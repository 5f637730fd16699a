"""Datasets that are slightly wrong: a good one, and a table of ways in which people's are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from enpire.datasets import TaskInterface

OBSERVATION = ("hand_x", "hand_y", "hand_z", "gripper")
ACTION = ("action_0", "action_1", "action_2")
FPS, EPISODES, LENGTH = 25, 4, 10
DEGREES = 57.29577951308232
STARTS = np.random.default_rng(1).uniform(-0.3, 0.3, (8, len(OBSERVATION))).astype(np.float32)
WANTED = TaskInterface("reach", OBSERVATION, ACTION, float(FPS), STARTS, robot="so101")
DATA, META = "data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet"


@dataclass
class Made:
    """A dataset before it is written: columns of all frames, rows about episodes, a description."""

    columns: dict[str, Any]
    episodes: list[dict[str, Any]]
    info: dict[str, Any]
    lost: list[str] = field(default_factory=list)  # files that are not written
    broken: list[str] = field(default_factory=list)  # files that are cut off in the middle

    def write(self, folder: Path) -> Path:
        """As LeRobot lays it out."""
        columns = {name: _plain(values) for name, values in self.columns.items()}
        for path, table in (
            (DATA, pa.table(columns)),
            (META, pa.Table.from_pylist(self.episodes)),
        ):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, folder / path)
        (folder / "meta" / "info.json").write_text(json.dumps(self.info), "utf-8")
        for path in self.lost:
            (folder / path).unlink()
        for path in self.broken:
            data = (folder / path).read_bytes()
            (folder / path).write_bytes(data[: len(data) // 2])
        return folder


def good() -> Made:
    """Four episodes of ten frames, the third of them a failure."""
    rng, count = np.random.default_rng(0), EPISODES * LENGTH
    episode = np.repeat(np.arange(EPISODES), LENGTH)
    frame = np.tile(np.arange(LENGTH), EPISODES)
    columns = {
        "observation.state": rng.uniform(-0.3, 0.3, (count, len(OBSERVATION))).astype(np.float32),
        "action": rng.uniform(-1, 1, (count, len(ACTION))).astype(np.float32),
        "next.success": (frame == LENGTH - 1) & (episode != 2),
        "timestamp": (frame / FPS).astype(np.float32),
        "frame_index": frame,
        "episode_index": episode,
        "index": np.arange(count),
        "task_index": np.zeros(count, np.int64),
    }
    episodes = [
        {
            "episode_index": i,
            "length": LENGTH,
            "dataset_from_index": i * LENGTH,
            "dataset_to_index": (i + 1) * LENGTH,
            "data/chunk_index": 0,
            "data/file_index": 0,
        }
        for i in range(EPISODES)
    ]
    features = {
        "observation.state": _feature("float32", OBSERVATION),
        "action": _feature("float32", ACTION),
        "next.success": {"dtype": "bool", "shape": [1], "names": None},
    }
    info = {
        "codebase_version": "v3.0",
        "fps": FPS,
        "features": features,
        "total_episodes": EPISODES,
        "total_frames": count,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
    }
    return Made(columns, episodes, info)


@dataclass(frozen=True)
class Kind:
    """A way to be wrong. words: of the message that refuses it."""

    name: str
    spoil: Callable[[Made], None]
    words: str


def put(column: str, row: int, entry: int, value: float) -> Callable[[Made], None]:
    """One value of a column."""

    def spoil(made: Made) -> None:
        made.columns[column][row, entry] = value

    return spoil


def times(column: str, factor: float) -> Callable[[Made], None]:
    """All of a column in another unit."""

    def spoil(made: Made) -> None:
        made.columns[column] = made.columns[column] * factor

    return spoil


def column(name: str, change: Callable[[Any], Any]) -> Callable[[Made], None]:
    """A column as something else."""

    def spoil(made: Made) -> None:
        made.columns[name] = change(made.columns[name])

    return spoil


def episode(at: int, **values: Any) -> Callable[[Made], None]:
    """What is said of an episode; underscores at the start of a name stand for its prefix."""

    def spoil(made: Made) -> None:
        made.episodes[at] |= values

    return spoil


def info(**values: Any) -> Callable[[Made], None]:
    """What the description says."""

    def spoil(made: Made) -> None:
        made.info |= values

    return spoil


def names(column: str, called: Any) -> Callable[[Made], None]:
    """What the entries of a column are called."""

    def spoil(made: Made) -> None:
        made.info["features"][column]["names"] = called

    return spoil


def without(name: str) -> Callable[[Made], None]:
    """No such column."""

    def spoil(made: Made) -> None:
        made.columns.pop(name, None)
        made.info["features"].pop(name, None)

    return spoil


def whole_episode(value: float) -> Callable[[Made], None]:
    """All states of episode 1."""

    def spoil(made: Made) -> None:
        made.columns["observation.state"][LENGTH : 2 * LENGTH] = value

    return spoil


def shuffled(made: Made) -> None:
    """Rows in another order, each with all that it says."""
    order = np.random.default_rng(2).permutation(EPISODES * LENGTH)
    made.columns = {name: values[order] for name, values in made.columns.items()}


def gap(made: Made) -> None:
    """Three seconds are missing in episode 2."""
    made.columns["timestamp"][2 * LENGTH + 4 : 3 * LENGTH] += 3.0


def lost(path: str) -> Callable[[Made], None]:
    """A file is missing."""
    return lambda made: made.lost.append(path)


def broken(path: str) -> Callable[[Made], None]:
    """A file is cut off."""
    return lambda made: made.broken.append(path)


STATE, NAN, INF = "observation.state", float("nan"), float("inf")
KINDS = (
    Kind("NaN in a state", put(STATE, 13, 2, NAN), r"episode 1, frame 3: .*state, hand_z, is nan"),
    Kind("infinity in a state", put(STATE, 0, 0, INF), "episode 0, frame 0: .*hand_x, is inf"),
    Kind("NaN in an action", put("action", 39, 1, NAN), "episode 3, frame 9: .*action_1, is nan"),
    Kind("infinity in an action", put("action", 5, 0, -INF), "frame 5: .*action_0, is -inf"),
    Kind("an episode of NaN", whole_episode(NAN), "episode 1, frame 0: .*is nan"),
    Kind("an action of 1e30", put("action", 7, 0, 1e30), "frame 7: .*action_0, is 1e"),
    Kind("a state of 1e30", put(STATE, 7, 0, 1e30), "frame 7: .*hand_x, is 1e"),
    Kind("a spike in a state", put(STATE, 7, 0, 5e4), "frame 7: .*hand_x, is 50000"),
    Kind("actions in degrees", times("action", DEGREES), "--clip"),
    Kind("a dead sensor", times(STATE, 0.0), "the same in all 40 frames"),
    Kind("an arm that nobody led", times("action", 0.0), "the same in all 40 frames"),
    Kind("states in degrees", times(STATE, DEGREES), "another unit"),
    Kind("states in millimetres", times(STATE, 1000.0), "another unit"),
    Kind("another rate", info(fps=10), "10 frames a second.*--fps 25"),
    Kind("a rate of nothing", info(fps=0), "fps is 0"),
    Kind("a rate below nothing", info(fps=-25), "fps is -25"),
    Kind("a rate that is text", info(fps="25"), "fps is '25'"),
    Kind("a rate that is no number", info(fps=NAN), "fps is nan"),
    Kind("names permuted", names(STATE, OBSERVATION[::-1]), "gripper, and reach has hand_x"),
    Kind(
        "joints' names",
        names("action", ["j1.pos", "j2.pos", "j3.pos"]),
        "actions that are joint positions",
    ),
    Kind("no names", names(STATE, None), "--accept-names"),
    Kind("no name", names(STATE, []), "--accept-names"),
    Kind("names twice", names(STATE, ["hand_x"] * 4), "calls entries"),
    Kind("too few names", names(STATE, ["hand_x"]), "calls entries"),
    Kind("names of another script", names(STATE, ["手x", "手y", "手z", "爪"]), "手x for hand_x"),
    Kind(
        "an episode overlaps",
        episode(2, dataset_from_index=15, length=15),
        "episode 2 has rows 15 to 29, where 20 was due: it overlaps",
    ),
    Kind("a shared index", episode(2, episode_index=1), "two episodes are called 1"),
    Kind("an episode too long", episode(3, dataset_to_index=60, length=30), "end after 40 rows"),
    Kind("a wrong length", episode(1, length=12), "episode 1 has a length of 12"),
    Kind(
        "an episode of no frames",
        episode(3, dataset_to_index=30, length=0),
        "episode 3 has no frames",
    ),
    Kind("an episode backwards", episode(3, dataset_to_index=20), "episode 3 has no frames"),
    Kind("an episode missing", lambda made: made.episodes.pop(1) and None, "leaves some out"),
    Kind("the last missing", lambda made: made.episodes.pop() and None, "belong to no episode"),
    Kind("no episodes", lambda made: made.episodes.__setitem__(slice(1, None), []), "no episode"),
    Kind("a length that is text", episode(1, length=None), "length is None"),
    Kind("rows shuffled", shuffled, "shuffled"),
    Kind("a gap in time", gap, "episode 2, frame 4: its timestamp is 3.16 s where 0.16 s"),
    Kind("time backwards", column("timestamp", lambda t: -t), "frame 1: its timestamp"),
    Kind("time that is NaN", column("timestamp", lambda t: t * NAN), "its timestamp is nan"),
    Kind("data missing", lost(DATA), r"data/chunk-000/file-000\.parquet is missing"),
    Kind("data cut off", broken(DATA), r"data/chunk-000/file-000\.parquet cannot be read"),
    Kind("episodes missing", lost(META), "meta/episodes has no file"),
    Kind("episodes cut off", broken(META), r"meta/episodes/.*parquet cannot be read"),
    Kind("description missing", lost("meta/info.json"), "no LeRobot dataset"),
    Kind("description cut off", broken("meta/info.json"), r"info\.json cannot be read"),
    Kind("an older version", info(codebase_version="v2.1"), "convert_dataset"),
    Kind("no version", info(codebase_version=None), "version None"),
    Kind("features are a list", info(features=[]), "no table `features`"),
    Kind("a path of nothing", info(data_path="data/{x}.parquet"), "data_path"),
    Kind("other counts", info(total_frames=41), "total_frames is 41, and there are 40"),
    Kind("no success", without("next.success"), "--success-column NAME"),
    Kind("success is NaN", column("next.success", lambda v: v * NAN), "next.success is"),
    Kind("success in words", column("next.success", lambda v: v.astype(str)), "'False'"),
    Kind("success is 2", column("next.success", lambda v: v * 2), "next.success is"),
    Kind("no action", without("action"), "action of shape None"),
    Kind("no state", without(STATE), "state of shape None"),
    Kind(
        "a column missing", lambda made: made.columns.pop(STATE) is None and None, "lacks the col"
    ),
    Kind("no index", lambda made: made.columns.pop("index") is None and None, "lacks the column"),
    Kind("states in words", column(STATE, lambda v: v.astype(str)), "numbers are needed"),
    Kind("states narrower", column(STATE, lambda v: v[:, :3]), "3 entries"),
    Kind(
        "states of several widths",
        column(STATE, lambda v: [*v.tolist()[:-1], [1.0]]),
        "episode 3, frame 9: .*has 1 entries, 4 before",
    ),
    Kind("a state left out", column(STATE, lambda v: [*v.tolist()[:-1], None]), "has no value"),
    Kind(
        "an entry left out",
        column(STATE, lambda v: [*v.tolist()[:-1], [0.0, None, 0.0, 0.0]]),
        "entry of no value",
    ),
)


def _feature(kind: str, called: tuple[str, ...]) -> dict[str, Any]:
    return {"dtype": kind, "shape": [len(called)], "names": list(called)}


def _plain(values: Any) -> Any:
    return pa.array(
        values.tolist() if isinstance(values, np.ndarray) and values.ndim > 1 else values
    )
