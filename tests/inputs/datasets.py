"""LeRobot datasets that are slightly wrong: the kinds of `tests/datasets/wrong.py`, and more."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from enpire.datasets import Allowed, TaskInterface, demonstrations
from tests.datasets import wrong
from tests.datasets.wrong import DATA, KINDS, META, STATE, Made, column, info, names, put, times
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input, changed

EXCHANGED = "first: 3. in which hand_x and hand_y are as each other else: columns exchanged"
PAID = np.tile(np.r_[np.zeros(9), 1.0], 4)
EARNED = PAID * np.repeat([1, 1, 0, 1], 10)
PLAIN = ("by next.success",)
MUCH = [0.9] * 3
TASKS = "meta/tasks.parquet"
Spoil = Callable[[Made], object]


def given(
    spoil: Spoil,
    folder: Path,
    after: Callable[[Path], object] = lambda _: None,
    wanted: TaskInterface = wrong.WANTED,
    **allowed: Any,
) -> tuple[str, str]:
    """A good dataset that was spoiled, before and after it was written."""
    made = wrong.good()
    spoil(made)
    after(made.write(folder))
    found = demonstrations(folder, wanted, Allowed(**allowed))
    for episode in found.episodes:
        assert np.isfinite(episode.observations).all()
        assert np.isfinite(episode.actions).all()
    return (TAKEN if found.said == PLAIN else TOLD), "; ".join(found.said)


def one(name: str, spoil: Spoil, words: str, ends: str = REFUSED, **more: Any) -> Input:
    """An entry."""
    return Input(name, lambda folder: given(spoil, folder, **more), words, ends)


def nothing(_: Made) -> None:
    """As it was."""


def file(path: str, content: bytes) -> Callable[[Path], object]:
    """A file that has something else in it."""
    return lambda folder: (folder / path).write_bytes(content)


def parquet(**columns: Any) -> bytes:
    """A table as a file has it."""
    made = io.BytesIO()
    pq.write_table(pa.table(columns), made)
    return made.getvalue()


def in_text(path: str, old: str, new: str) -> Callable[[Path], object]:
    """A file with another text in one place."""

    def put_there(folder: Path) -> None:
        text = (folder / path).read_text("utf-8")
        (folder / path).write_text(changed(text, old, new), "utf-8")

    return put_there


def pipe(path: str) -> Callable[[Path], object]:
    """A pipe in place of a file: who reads it waits for ever."""

    def put_there(folder: Path) -> None:
        (folder / path).unlink()
        os.mkfifo(folder / path)

    return put_there


def column_twice(path: str, name: str) -> Callable[[Path], object]:
    """A file with two columns of one name."""

    def spoil(folder: Path) -> None:
        table = pq.read_table(folder / path)
        pq.write_table(table.append_column(name, table[name]), folder / path)

    return spoil


def listed(values: Any, of: pa.DataType) -> pa.Array:
    """Rows of lists."""
    return pa.array(values, pa.list_(of))


def normed(values: np.ndarray) -> np.ndarray:
    """What a normaliser makes of numbers, (n, entries)."""
    return ((values - values.mean(axis=0)) / values.std(axis=0)).astype(np.float32)


def spanned(values: np.ndarray) -> np.ndarray:
    """What one by their lowest and highest makes of them."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (2 * (values - low) / (high - low) - 1).astype(np.float32)


def in_other_columns(*order: int) -> Spoil:
    """Entries each in a range of its own, and the last episode's in another order."""

    def spoil(made: Made) -> None:
        made.columns[STATE] += np.array([0.0, 0.8, -0.9, 0.0], np.float32)
        made.columns[STATE][30:] = made.columns[STATE][30:][:, list(order)]

    return spoil


def more_column(name: str, values: Any) -> Spoil:
    """A column that the description has, too."""

    def spoil(made: Made) -> None:
        made.columns[name] = values
        made.info["features"][name] = {"shape": [1], "names": None}

    return spoil


def also_seen(offset: float, name: str = "hand_x") -> Spoil:
    """An environment's state that has an entry of the observation, by its name."""

    def spoil(made: Made) -> None:
        made.columns["observation.environment_state"] = made.columns[STATE][:, :1] + offset
        made.info["features"]["observation.environment_state"] = {"shape": [1], "names": [name]}

    return spoil


def hidden_column(name: str, values: Any) -> Spoil:
    """A column that the description has not."""
    return lambda made: made.columns.update({name: values})


def described(name: str, dtype: str) -> Spoil:
    """A column that the description has, and no file."""
    about = {"dtype": dtype, "shape": [1], "names": None}
    return lambda made: made.info["features"].update({name: about})


def in_one_file(name: str) -> Spoil:
    """A column that is described, and that the second of two data files lacks."""

    def spoil(made: Made) -> None:
        described(name, "float32")(made)
        for episode in made.episodes[2:]:
            episode["data/file_index"] = 1

    return spoil


def split_in_two(name: str) -> Callable[[Path], object]:
    """The second half of the rows in a file of its own; the first has one more column."""

    def spoil(folder: Path) -> None:
        whole = pq.read_table(folder / DATA)
        first = whole.slice(0, 20)
        pq.write_table(first.append_column(name, pa.array([0.0] * 20)), folder / DATA)
        pq.write_table(whole.slice(20), folder / DATA.replace("file-000", "file-001"))

    return spoil


def dtype(name: str, said: str) -> Spoil:
    """Another type of a column in the description."""
    return lambda made: made.info["features"][name].update(dtype=said)


def statistics(**said: Any) -> Callable[[Path], object]:
    """What `meta/stats.json` says."""
    return file("meta/stats.json", json.dumps(said).encode())


def tensors(order: list[int] | None, values: Any) -> pa.Array:
    """Rows of two by two."""
    kind = pa.fixed_shape_tensor(pa.float32(), [2, 2], permutation=order)
    return pa.ExtensionArray.from_storage(kind, pa.array(values.tolist(), kind.storage_type))


def every_episode(name: str, by: int) -> Spoil:
    """Episodes are called otherwise, by their table and by their rows."""

    def spoil(made: Made) -> None:
        for episode in made.episodes:
            episode[name] += by
        made.columns[name] = made.columns[name] + by

    return spoil


def shape(said: Any) -> Spoil:
    """How wide the description says that a state is."""
    return lambda made: made.info["features"][STATE].update(shape=said)


def copied(made: Made) -> None:
    """Episode 1 is episode 0 once more."""
    for name in (STATE, "action"):
        made.columns[name][10:20] = made.columns[name][:10]


def upsampled(made: Made) -> None:
    """Every second frame shows what the one before did."""
    seen = made.columns[STATE]
    seen[1::2] = seen[: len(seen) - 1 : 2]


def still(made: Made) -> None:
    """Nothing moves in episode 1."""
    made.columns[STATE][10:20] = made.columns[STATE][10]


def file_of(key: str, value: Any) -> Spoil:
    """Where episodes are said to be."""
    return lambda made: [episode.update({key: value}) for episode in made.episodes]


def contrary(made: Made) -> None:
    """Two columns of success, one against the other."""
    more_column("success", np.ones(40, bool))(made)


def twice_named(made: Made) -> None:
    made.info["features"][STATE]["names"] = ["a", "b", "hand_z", "gripper"]


def every_row_later(made: Made) -> None:
    """Counted from 1."""
    made.columns["index"] = made.columns["index"] + 1
    for episode in made.episodes:
        episode["dataset_from_index"] += 1
        episode["dataset_to_index"] += 1


def rows_twice(folder: Path) -> None:
    """Recorded once more into the same file."""
    table = pq.read_table(folder / DATA)
    pq.write_table(pa.concat_tables([table, table]), folder / DATA)


def time_stands(made: Made) -> None:
    made.columns["timestamp"][5] = made.columns["timestamp"][4]


def time_goes_on(made: Made) -> None:
    """From one episode to the next."""
    made.columns["timestamp"] = made.columns["timestamp"] + np.repeat(np.arange(4) * 100.0, 10)


def every_frame(made: Made) -> None:
    made.columns["next.success"] = np.ones(40, bool)


def in_capitals(made: Made) -> None:
    made.info["features"] = {name.upper(): it for name, it in made.info["features"].items()}


def done_at(*frames: int) -> Spoil:
    """Its mark of an episode's end is in these frames of each."""
    return more_column("next.done", np.isin(np.arange(40) % 10, frames))


def idle(made: Made) -> None:
    """What was done in episode 1 is missing."""
    made.columns["action"][10:20] = 0


def dropped(made: Made) -> None:
    """Success in the middle of episode 0, and not at its end."""
    made.columns["next.success"][:10] = np.arange(10) == 5


def filled_up(made: Made) -> None:
    """The last three rows of episode 1 are a writer's."""
    made.columns[STATE][17:20] = 0


def one_missing(row: int, entry: int | None = None) -> Callable[[Any], pa.Array]:
    """Lists of numbers, with a row or an entry of none."""

    def change(values: Any) -> pa.Array:
        rows = values.tolist()
        if entry is None:
            rows[row] = None
        else:
            rows[row][entry] = None
        return listed(rows, pa.float32())

    return change


def anew(made: Made) -> None:
    """Counted from where each episode begins."""
    made.columns[STATE][:, 1] -= np.repeat(made.columns[STATE][::10, 1], 10)


def hung(made: Made) -> None:
    """For five frames of episode 2 nothing new is seen."""
    made.columns[STATE][22:27] = made.columns[STATE][22]


def two_tasks(made: Made) -> None:
    more_column("task_index", np.repeat([0, 0, 1, 1], 10))(made)


def table(index: list[Any], of: str = "task") -> Callable[[Path], object]:
    """A table of tasks, or of something else, with these indices."""

    def put_there(folder: Path) -> None:
        rows = pa.table({f"{of}_index": pa.array(index), of: [f"{of} {row}" for row in index]})
        pq.write_table(rows, folder / "meta" / f"{of}s.parquet")

    return put_there


def empty_at_the_end(made: Made) -> None:
    """One episode more, without any row."""
    more = {"episode_index": 4, "length": 0, "dataset_from_index": 40, "dataset_to_index": 40}
    made.episodes.append(made.episodes[-1] | more)


KNOWN = tuple(Input(kind.name, partial(given, kind.spoil), kind.words) for kind in KINDS)
MORE = (
    one(
        "actions that are said to be pictures",
        dtype("action", "image"),
        "another type .*: action",
        TOLD,
    ),
    one(
        "times below each other", column("timestamp", np.negative), "its timestamp is -0.04 s where"
    ),
    one("an episode of no frames at the end", empty_at_the_end, "episode 4 has no frames: delete"),
    one("frames counted modulo 8", column("frame_index", lambda v: v % 8), "is 0 where 8 was due"),
    one(
        "actions in whole numbers",
        column("action", lambda a: listed((a * 127).astype(np.int8).tolist(), pa.int8())),
        "actions are in .-1, 1., and 100%",
    ),
    one(
        "successes that are bytes",
        column("next.success", lambda s: [bytes([int(each)]) for each in s]),
        "is b'.x00': true or false is needed",
    ),
    one("episodes counted in quotes", info(total_episodes="4"), "total_episodes is '4', and no"),
    one("a rate below nought", info(fps=-25), "fps is -25: a number above 0"),
    one("actions in metres", times("action", 0.008), "no action beyond 0.008, where a full", TOLD),
    one("actions that are slow", times("action", 0.1), "by next.success", TAKEN),
    one("actions from 0 to 1", column("action", lambda a: (a + 1) / 2), "no action below 0", TOLD),
    one(
        "an action of which one entry goes below 0",
        column("action", lambda a: np.abs(a) * np.array([1, 1, -1])),
        "by next.success",
        TAKEN,
    ),
    one(
        "episodes that are set apart for a test",
        info(splits={"train": "0:2", "test": "2:4"}),
        "all 4 of its episodes, whatever its splits say .train 0:2, test 2:4",
        TOLD,
    ),
    one("all episodes for training", info(splits={"train": "0:4"}), "by next.success", TAKEN),
    one("fewer episodes for training", info(splits={"train": "0:3"}), "whatever its splits", TOLD),
    one("splits that are a list", info(splits=["train"]), "by next.success", TAKEN),
    *(
        one(f"a column {name} that is not described", hidden_column(name, values), f"lack {name}, ")
        for name, values in (
            ("success", np.ones(40, bool)),
            ("next.done", np.zeros(40, bool)),
            ("intervention", np.ones(40, bool)),
            ("seed", np.arange(40)),
            ("verdict", ["failure"] * 40),
            ("privileged", np.ones((40, 4), np.float32)),
        )
    ),
    *(
        one(
            f"a column {name} that nothing describes",
            hidden_column(name, np.ones(40)),
            f"info.json does not describe, and nothing reads: {name[:80]}",
            TOLD,
        )
        for name in ("Success", "tactile", "x" * 500, "naïve", "\u0430ction")
    ),
    one(
        "what is described, and in no file",
        described("next.reward", "float32"),
        "no column for what meta/info.json describes: next.reward",
        TOLD,
    ),
    one("a video, which is no column", described("observation.film", "video"), "by", TAKEN),
    one(
        "a column that some files lack",
        in_one_file("next.reward"),
        "no column for what .*: next.reward",
        TOLD,
        after=split_in_two("next.reward"),
    ),
    one("an action of nothing", column("action", one_missing(7)), "frame 7: action has no value"),
    one(
        "an entry of nothing",
        column(STATE, one_missing(7, 1)),
        "episode 0, frame 7: observation.state has an entry of no value",
    ),
    one(
        "a path of Windows", info(data_path="data\\\\{file_index}.parquet"), "0.parquet is missing"
    ),
    one("a path of version 2", info(data_path="{episode_chunk}.parquet"), "names no file"),
    one(
        "success in the first frame alone",
        column("next.success", lambda s: np.arange(len(s)) % 10 == 0),
        "false at the end of 4 of 4 successes",
        TOLD,
    ),
    one("a rate with a rest", info(fps=24.999), "by next.success", TAKEN),
    one(
        "actions in quotes",
        column("action", lambda a: listed(a.astype(str).tolist(), pa.string())),
        "type string: numbers",
    ),
    one(
        "a description that is packed",
        lambda made: None,
        "info.json cannot be read",
        after=file("meta/info.json", gzip.compress(b"{}")),
    ),
    one(
        "a rate beyond any",
        nothing,
        "info.json cannot be read: the number 1e999 is beyond",
        after=in_text("meta/info.json", '"fps": 25', '"fps": 1e999'),
    ),
    one(
        "a rate of a column's own",
        lambda made: made.info["features"][STATE].update(fps=30),
        "fps 30 of observation.state, and 25 of the dataset",
        TOLD,
    ),
    one(
        "a rate of a video's own",
        lambda made: made.info["features"].update(
            {"observation.images.top": {"dtype": "video", "info": {"video.fps": 10}}}
        ),
        "fps 10 of observation.images.top, and 25 of the dataset",
        TOLD,
    ),
    one("a rate of 400 digits", info(fps=10**400), "a number has 401 digits"),
    one("a rate of 1e308", info(fps=1e308), "fps is 1e"),
    one("a path with an attribute", info(data_path="{chunk_index.x}"), "names no file"),
    one("a path with an index", info(data_path="{chunk_index[0]}"), "names no file"),
    one("a path a gigabyte wide", info(data_path="{chunk_index:0999999999d}"), "names no file"),
    one("a path of 5000 letters", info(data_path="d" * 5000), "names no file"),
    one("a path with NUL", info(data_path="a\0b"), "names no file"),
    one("a path that is a list", info(data_path=["x"]), "names no file"),
    one("a path that leads to a folder", info(data_path="data"), "data is missing"),
    one("a file of nobody's", info(data_path="/etc/passwd"), "passwd': it leads out"),
    one(
        "a description too deep",
        nothing,
        "cannot be read: it is nested too deep",
        after=file("meta/info.json", b"[" * 100_000),
    ),
    one(
        "a description in UTF-16",
        nothing,
        "info.json cannot be read",
        after=file("meta/info.json", json.dumps(wrong.good().info).encode("utf-16")),
    ),
    one(
        "a description after a byte order mark",
        nothing,
        "by next.success",
        TAKEN,
        after=file("meta/info.json", b"\xef\xbb\xbf" + json.dumps(wrong.good().info).encode()),
    ),
    one(
        "a number of 6000 digits",
        nothing,
        "cannot be read: a number has 6000 digits",
        after=file("meta/info.json", b'{"fps":' + b"9" * 6000 + b"}"),
    ),
    one("a description that is a pipe", nothing, "it is no file", after=pipe("meta/info.json")),
    one("data that are a pipe", nothing, "is missing", after=pipe(DATA)),
    one("data that were not fetched", nothing, "cannot be read", after=file(DATA, b"version htt")),
    one("data of no bytes", nothing, "cannot be read", after=file(DATA, b"")),
    one("two columns of one name", nothing, "two of the", after=column_twice(DATA, "action")),
    one("two lengths", nothing, "two of the", after=column_twice(META, "length")),
    one("a count that is a fraction", info(total_frames=40.0), "no count"),
    one("a state wider than it says", column(STATE, lambda v: np.hstack([v, v])), "8 entries"),
    one("an action wider than it says", column("action", lambda v: np.hstack([v, v])), "6 entries"),
    one("states of no entry", column(STATE, lambda v: listed([[]] * 40, pa.float32())), "has 0"),
    one(
        "states as structures", column(STATE, lambda v: pa.array([{"x": 1.0}] * 40)), "type struct"
    ),
    one("states within lists", column(STATE, lambda v: pa.array([[[1.0]]] * 40)), "numbers are"),
    one("states that are truths", column(STATE, lambda v: pa.array((v > 0).tolist())), "type bool"),
    one("states of nothing", column(STATE, lambda v: pa.nulls(40)), "has no value"),
    one(
        "states of half precision",
        column(STATE, lambda v: listed(v.astype(np.float16).tolist(), pa.float16())),
        "by next.success",
        TAKEN,
    ),
    one(
        "states of a fixed width",
        column(STATE, lambda v: pa.array(v.tolist(), pa.list_(pa.float32(), 4))),
        "by next.success",
        TAKEN,
    ),
    one("states too small to be kept", column(STATE, lambda v: v * 1e-300), "the same in all 40"),
    one("an arm that stands still for an episode", still, "episode 1: .*delete it"),
    one("an episode that is there twice", copied, "1 of 4 episodes is a copy", TOLD),
    one(
        "success as pairs",
        column("next.success", lambda v: pa.array([[bool(x), True] for x in v])),
        "one in each row",
    ),
    one("success by the state", nothing, "one in each row", success=STATE),
    one("success by no column", nothing, "no column timestamp", success="timestamp"),
    one("success of nothing", column("next.success", lambda v: pa.nulls(40)), "has no value"),
    one(
        "success as bytes",
        column("next.success", lambda v: pa.array([b"1" if x else b"0" for x in v])),
        "b'0'",
    ),
    one("two columns of success that differ", contrary, "episode 2: .*--success-column"),
    one(
        "two columns of success, one named",
        contrary,
        "by success",
        TOLD,
        success="success",
    ),
    one("time in milliseconds", column("timestamp", lambda t: t * 1000), "is 40 s where"),
    one("time that stands", column("timestamp", lambda t: t * 0), "is 0 s where"),
    one(
        "time since 1970, too coarse",
        column("timestamp", lambda t: (t + np.float32(1.7e9)).astype(np.float32)),
        "a gap, or another rate",
    ),
    one(
        "time since 1970",
        column("timestamp", lambda t: t.astype(float) + 1.7e9),
        "by next.success",
        TAKEN,
    ),
    one(
        "time as pairs",
        column("timestamp", lambda t: listed([[float(x), 0] for x in t], pa.float32())),
        "one is due",
    ),
    one(
        "time of no entry",
        column("timestamp", lambda t: listed([[]] * 40, pa.float32())),
        "one is due",
    ),
    one(
        "time as dates",
        column("timestamp", lambda t: pa.array((t * 1e6).astype("M8[us]"))),
        "numbers are needed",
    ),
    one("names all in one place", names(STATE, dict.fromkeys(wrong.OBSERVATION, 0)), "not name"),
    one("names in places that are truths", names(STATE, {"hand_x": True, "a": False}), "not name"),
    one("names in lists of lists", names(STATE, [list(wrong.OBSERVATION)]), "otherwise than"),
    one("names that are numbers", names(STATE, [0, 1, 2, 3]), "otherwise than"),
    one("names in capitals", names(STATE, [n.upper() for n in wrong.OBSERVATION]), "HAND_X for"),
    one("names with a space", names(STATE, [f"{n} " for n in wrong.OBSERVATION]), "--rename"),
    one("two renamed to one", twice_named, "twice", rename={"a": "hand_x", "b": "hand_x"}),
    one("a name renamed that there is not", nothing, "calls nothing zz", rename={"zz": "hand_x"}),
    one("an arm that hardly moves", times("action", 1e-9), "the same in all 40"),
    one("a state in bytes", column(STATE, lambda v: v.astype(np.int8)), "the same in all 40"),
    one("rows from 1", every_row_later, "rows 1 to 10, where 0 was due"),
    one("all rows twice", nothing, "belong to no episode", after=rows_twice),
    one("time that stands once", time_stands, "frame 5: its timestamp"),
    one("time that goes on", time_goes_on, "by next.success", TAKEN),
    one("episodes in another order", lambda m: m.episodes.reverse(), "by next.success", TAKEN),
    one(
        "an entry of two values",
        also_seen(0.3),
        "episode 0, frame 0: hand_x is .* in observation.state and .* in observation.environment_s",
    ),
    one("an entry in two columns", also_seen(0.0), "by next.success", TAKEN),
    one("success in every frame", every_frame, "by next.success", TAKEN),
    one("a version of nobody", info(codebase_version="v30.0"), "version 'v30.0'"),
    one("a version cut off", info(codebase_version="v3"), "version 'v3'"),
    one("a rate that is true", info(fps=True), "fps is True"),
    one("columns in capitals", in_capitals, "of shape None"),
    one("a shape that is text", shape("4"), "and no list"),
    one("a shape of text", shape(["4"]), "fits a task"),
    one("a shape below nought", shape([-4]), "fits a task"),
    one("a shape beyond memory", shape([10**18]), "fits a task"),
    one("a seed too large", more_column("seed", np.full(40, 2**63, np.uint64)), "its seed"),
    one("a seed that is a truth", more_column("seed", np.ones(40, bool)), "its seed is True"),
    one("a seed that changes", more_column("seed", np.arange(40)), "changes within"),
    one("a policy that is a number", more_column("policy", np.arange(40)), "a name is needed"),
    one("a policy of 100000 letters", more_column("policy", ["x" * 10**5] * 40), "a name is"),
    one("a policy that clears the screen", more_column("policy", ["\x1b[2J"] * 40), "a name is"),
    one("help that is 2", more_column("intervention", np.full(40, 2)), "intervention is"),
    one("episodes from -1", every_episode("episode_index", -1), "count from 0"),
    one("episodes from 1", every_episode("episode_index", 1), "by next.success", TAKEN),
    one("a file that is a truth", file_of("data/file_index", True), "no whole number"),
    one("a file below nought", file_of("data/file_index", -1), "is missing"),
    one("a state of 1e38", put(STATE, 3, 1, 1e38), "nothing is larger"),
    one("states in micrometres", times(STATE, 1e6), "another unit"),
    one("done in the middle", done_at(4, 9), "episode 0, frame 4: next.done is true"),
    one("done at the end", done_at(9), "by next.success", TAKEN),
    one("done from a frame on", done_at(8, 9), "by next.success", TAKEN),
    one("never done", done_at(), "by next.success", TAKEN),
    one("done as text", more_column("next.done", ["x"] * 40), "next.done is"),
    one("episodes of two tasks", two_tasks, "of 2 tasks by task_index", TOLD),
    one("a path that leads out", info(data_path="../d.parquet"), "leads out of the dataset"),
    one(
        "a key twice",
        nothing,
        "info.json cannot be read: the key 'fps' is there twice",
        after=file("meta/info.json", b'{"fps": 30, "fps": 25}'),
    ),
    one(
        "hidden files of a Mac",
        nothing,
        "by next.success",
        TAKEN,
        after=file("meta/episodes/chunk-000/._file-000.parquet", b"\0\5\26\7"),
    ),
    one(
        "a data file of no episode",
        nothing,
        "without data/chunk-000/file-001.parquet, which no episode is in",
        TOLD,
        after=file("data/chunk-000/file-001.parquet", b""),
    ),
    one(
        "a data file that Git LFS keeps elsewhere",
        nothing,
        "file-000.parquet is a pointer of Git LFS, .*git lfs pull",
        after=file(DATA, b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n"),
    ),
    one(
        "rows of zeros at an end",
        filled_up,
        "the first: 1. with nothing but 0",
        TOLD,
    ),
    one("every other frame twice", upsampled, "4 of 4 .* recorded more slowly", TOLD),
    one("a sensor that hung", hung, "first: 2. in which nothing that is seen changes for 5", TOLD),
    one("tasks by their table", two_tasks, "of 2 tasks by task_index", TOLD, after=table([1, 0])),
    one("a task by its table", nothing, "by next.success", TAKEN, after=table([0, 1])),
    one(
        "a task that its table lacks",
        two_tasks,
        "episode 2, frame 0: its task_index is 1, and .*meta/tasks.parquet has 0: corr",
        after=table([0]),
    ),
    one("a task of an empty table", nothing, "task_index is 0, .*has none", after=table([])),
    one("a task from 1", more_column("task_index", np.ones(40, int)), "is 1", after=table([0])),
    one("a task below nought", more_column("task_index", -np.ones(40)), "is -1", after=table([0])),
    one(
        "a task that is a half",
        more_column("task_index", np.full(40, 0.5)),
        "is 0.5",
        after=table([0]),
    ),
    one(
        "a task that is NaN",
        more_column("task_index", np.full(40, np.nan)),
        "is nan",
        after=table([0]),
    ),
    one("a task without a number", more_column("task_index", pa.nulls(40)), "has no value"),
    one("two tasks of one number", nothing, "two rows have task_index 0", after=table([0, 0])),
    one("tasks numbered in words", nothing, "not a whole number", after=table(["0"])),
    one("a task numbered by nothing", nothing, "not a whole number", after=table([0, None])),
    one(
        "a table without numbers",
        nothing,
        "lacks the column",
        after=lambda folder: file(TASKS, parquet(task=["reach"]))(folder),
    ),
    one("a table of tasks cut off", nothing, "tasks.parquet cannot be", after=file(TASKS, b"PAR1")),
    one(
        "a subtask that its table lacks",
        more_column("subtask_index", np.arange(40) % 3),
        "episode 0, frame 2: its subtask_index is 2, .*subtasks.parquet has 0, 1: corr",
        after=table([0, 1], "subtask"),
    ),
    one(
        "a column that points nowhere",
        more_column("camera_index", np.arange(40)),
        "columns that nothing reads: camera_index",
        TOLD,
    ),
    one(
        "a column that is called nearly as another",
        more_column("\u0430ction", np.ones(40)),
        "columns that nothing reads: \u0430ction",
        TOLD,
    ),
    one("fractions that are called whole", dtype("action", "int64"), "type .* says: action", TOLD),
    one("numbers that are called text", dtype(STATE, "string"), "type .* says: obs", TOLD),
    one("numbers of no known type", dtype(STATE, "float33"), "says: obs", TOLD),
    one(
        "statistics of a dataset in degrees",
        nothing,
        "a min of -100 for entry 0 of action, and the frames one of -0.9.*another dataset",
        TOLD,
        after=statistics(action={"min": [-100.0] * 3, "max": [100.0] * 3}),
    ),
    one(
        "statistics of more frames",
        nothing,
        "stats.json counts 99 frames of action, and there are 40",
        TOLD,
        after=statistics(action={"count": [99]}),
    ),
    one("of another mean", nothing, "a mean of 0.9", TOLD, after=statistics(action={"mean": MUCH})),
    one(
        "of no spread", nothing, "a std of 0 for", TOLD, after=statistics(action={"std": [0.0] * 3})
    ),
    one("of as many", nothing, "by", TAKEN, after=statistics(action={"count": [40]})),
    one(
        "statistics of a wider arm",
        nothing,
        "stats.json has 9 entries of observation.state, and frames have 4",
        TOLD,
        after=statistics(**{STATE: {"min": [-1.0] * 9}}),
    ),
    one(
        "statistics of NaN",
        nothing,
        "a max of nan for entry 0 of action",
        TOLD,
        after=statistics(action={"max": [float("nan")] * 3}),
    ),
    one(
        "statistics of words",
        nothing,
        "0 entries of action",
        TOLD,
        after=statistics(action={"max": ["much"]}),
    ),
    one(
        "statistics cut off",
        nothing,
        "without meta/stats.json, which cannot be read",
        TOLD,
        after=file("meta/stats.json", b"{"),
    ),
    one(
        "statistics in a list",
        nothing,
        "holds no table",
        TOLD,
        after=file("meta/stats.json", b"[]"),
    ),
    one(
        "a statistic beyond any",
        nothing,
        "^by next.success; without meta/stats.json, which cannot be read: the number 1e999 [^;]*$",
        TOLD,
        after=file("meta/stats.json", b'{"action": {"max": [1e999, 1, 1]}}'),
    ),
    one("statistics of nothing else", nothing, "by", TAKEN, after=statistics(other={"min": [0]})),
    one(
        "times that jitter",
        column("timestamp", lambda t: t + 0.4 / wrong.FPS * (np.arange(len(t)) % 2)),
        "frame 1: its timestamp is 0.056 s where 0.04 s was due .*: frames are taken as evenly",
        TOLD,
    ),
    one("times that are rounded", column("timestamp", lambda t: t.round(2)), "by", TAKEN),
    one("tasks that are true", info(total_tasks=True), "total_tasks is True, and no count"),
    one(
        "states as tensors in another order",
        column(STATE, partial(tensors, [1, 0])),
        r"tensors of shape \[2, 2\], stored in the order \[1, 0\]",
    ),
    one("states as tensors", column(STATE, partial(tensors, None)), "by", TAKEN),
    one(
        "a task in other words in the episodes' table",
        lambda made: [each.update(tasks=["Fold it."]) for each in made.episodes],
        "its instruction is 'Fold it.', and reach's is 'Reach for the ball.'",
        TOLD,
        wanted=replace(wrong.WANTED, instruction="Reach for the ball."),
    ),
    one(
        "more tasks than are said",
        lambda made: (two_tasks(made), info(total_tasks=1)(made)),
        "episode 2, frame 0: its task_index is 1, and .*total_tasks 1. has 0",
    ),
    one("tasks said in words", info(total_tasks="1"), "total_tasks is '1'"),
    one("an episode without its actions", idle, "1 of 4 episodes with all actions 0", TOLD),
    one("success that is lost again", dropped, "false at the end of 1 of 3 successes", TOLD),
    one("another origin", column(STATE, lambda v: v + 1.5), "another origin", TOLD),
    one("a sensor that each episode begins anew", anew, "hand_y begins at 0 in all episodes", TOLD),
    one("states that were standardised", column(STATE, normed), "mean of 0 and a spread", TOLD),
    one("states from -1 to 1", column(STATE, spanned), "a range from -1 to 1: written", TOLD),
    one("rewards of failures", more_column("next.reward", PAID), "2, a failure with a r", TOLD),
    one("rewards of successes", more_column("next.reward", EARNED), "by next.success", TAKEN),
    one("rewards at each step", more_column("next.reward", -np.ones(40)), "by next.suc", TAKEN),
    one(
        "episodes on sealed seeds",
        more_column("purpose", ["evaluation"] * 30 + ["sealed"] * 10),
        "1 of 4 episodes .the first: 3. on sealed seeds: what learns from them",
        TOLD,
    ),
    one("purposes of an export", more_column("purpose", ["collection"] * 40), "by next", TAKEN),
    one("a purpose that is a number", more_column("purpose", [7] * 40), "by next", TAKEN),
    one("rewards in words", more_column("next.reward", ["1"] * 40), "by next.success", TAKEN),
    one("no reward", more_column("next.reward", np.zeros(40)), "by next.success", TAKEN),
    one("an episode with two columns exchanged", in_other_columns(1, 0, 2, 3), EXCHANGED, TOLD),
    one("an episode in another order", in_other_columns(1, 2, 0, 3), "hand_x and hand_y and", TOLD),
    one("an episode in the same columns", in_other_columns(0, 1, 2, 3), "^((?!exch).)*$", TOLD),
    one("success by the end of an episode", nothing, "says no success", success="next.done"),
    one("another arm", info(robot_type="yam"), "recorded with yam, and reach is for so101", TOLD),
    one("the arm by a longer name", info(robot_type="so101_follower"), "next.success", TAKEN),
    one("an arm that is a number", info(robot_type=7), "next.success", TAKEN),
)
ALL = (*KNOWN, *MORE)
