"""The run folder: what goes in comes out, and every way it can be wrong has its message."""

from __future__ import annotations

import copy
import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from enpire.errors import StoreError
from enpire.store import Interval, Phase, Run
from enpire.store.episodes import read_batch
from enpire.store.stored_episode import BatchReader
from enpire.types import Episode, Frame, Outcome, Purpose, Verdict

from .samples import alter, episode, same

CONFIG = {"task": "zip_tie", "robots": 4, "train": {"steps": 100, "rate": 1e-4}}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", CONFIG) as opened:
        yield opened


def _reopen(run: Run) -> Run:
    run.close()
    return Run.open(run.folder, writable=True)


def _reopened(run: Run) -> list[str]:
    """What opening it again finds and does."""
    with _reopen(run) as again:
        return again.notes


def test_episodes_survive_reopening(run: Run) -> None:
    episodes = [episode(str(i), length=i) for i in range(5)]
    run.add_episodes(episodes[:2], [Interval(0, Phase.EXECUTE, 0.0, 1.0, "0")])
    run.add_episodes(episodes[2:3])
    with _reopen(run) as again:
        again.add_episodes(episodes[3:])
        assert again.config == CONFIG
        assert same(again.episodes(), episodes)
        assert len(again.ledger.intervals()) == 1
        assert again.ledger.batches() == {f"episodes/0000000{i}.zip" for i in (1, 2, 3)}


def test_each_batch_is_read_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.add_episodes([episode("a"), episode("b", policy="p1")])
    with _reopen(run) as again:
        reads: list[Path] = []

        def counted(folder: Path, sha256: str) -> list[Episode]:
            reads.append(folder)
            return read_batch(folder, sha256)

        monkeypatch.setattr("enpire.store.stored_episode.read_batch", counted)
        assert [e.id for e in again.episodes(policies=["p1"])] == ["b"]
        assert [e.success for e in again.episodes()] == [True, True]
        assert reads == [], "the ledger knows as much"
        assert [len(e) for e in again.episodes()] == [5, 5]
        again.add_episodes([episode("c")])
        assert [len(e) for e in again.episodes(rounds=[1])] == [5, 5, 5]
        assert [path.name for path in reads] == ["00000001.zip", "00000002.zip"]


def test_arrays_beyond_what_fits_are_read_again(run: Run) -> None:
    made = [episode(str(number)) for number in range(4)]
    for one in made:
        run.add_episodes([one])
    reader = run._batches = BatchReader(run.folder, most_bytes=1)
    assert same(run.episodes(), made)
    assert len(reader._kept) == 1, "the others were let go"
    run.let_go()
    assert not reader._kept
    assert same(run.episodes(), made)


def test_a_stored_episode_is_one_as_any_other(run: Run) -> None:
    one = episode("a")
    run.add_episodes([one])
    (stored,) = run.episodes()
    assert stored.verdict == one.verdict
    assert one.verdict == stored.verdict
    assert hash(stored.verdict) == hash(one.verdict)
    assert same(replace(stored, round=3), replace(one, round=3))
    assert same(copy.deepcopy(stored), one), "as it is sent to another process"
    with pytest.raises(AttributeError, match="nothing"):
        _ = stored.nothing  # type: ignore[attr-defined]
    assert list(run.episodes_of(["a", "b"])) == ["a"]


def test_sealed_episodes_are_left_out_unless_asked_for(run: Run) -> None:
    run.add_episodes([episode("a"), episode("s", purpose=Purpose.SEALED)])
    assert [e.id for e in run.episodes()] == ["a"]
    assert [e.id for e in run.episodes(without=None)] == ["a", "s"]
    assert [e.id for e in run.episodes(Purpose.SEALED, without=None)] == ["s"]
    assert [e.id for e in run.episodes([Purpose.COLLECTION])] == ["a"]
    with pytest.raises(StoreError, match="without=None"):
        run.episodes(Purpose.SEALED)


def test_an_id_is_used_once(run: Run) -> None:
    run.add_episodes([episode("a")])
    for again in ([episode("a")], [episode("b"), episode("b")]):
        with pytest.raises(StoreError, match="recorded already"):
            run.add_episodes(again)
    assert [e.id for e in run.episodes()] == ["a"]
    assert _reopened(run) == []


def test_an_altered_batch_is_not_read(run: Run) -> None:
    run.add_episodes([episode("a")])
    with _reopen(run) as again:
        alter(again.folder / "episodes/00000001.zip", "actions/c.0.0", bytes(60))
        (altered,) = again.episodes()
        for name in ("actions", "packs"):
            with pytest.raises(StoreError, match="sha256 differs"):
                getattr(altered, name)
        with pytest.raises(StoreError, match="sha256 differs"):
            _ = altered.verdict.predicates


_tensors = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name != "__metadata__"),
    st.builds(
        lambda shape, seed: np.random.default_rng(seed).standard_normal(shape, dtype=np.float32),
        st.lists(st.integers(0, 3), max_size=3),
        st.integers(0, 9),
    ),
    max_size=3,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with Run.create(tmp_path_factory.mktemp("shared") / "run", CONFIG) as opened:
        yield opened


@given(tensors=_tensors, metadata=st.dictionaries(st.text(), st.text(), max_size=3))
@settings(max_examples=25)
def test_policy_round_trip(
    shared: Run, tensors: dict[str, NDArray[np.float32]], metadata: dict[str, str]
) -> None:
    name = f"p{len(shared.ledger.policies())}"
    shared.save_policy(name, tensors, metadata)
    loaded, about = shared.load_policy(name)
    assert about == metadata
    assert loaded.keys() == tensors.keys()
    assert all(same(loaded[key], tensors[key]) for key in tensors)


def test_policies_take_torch_and_strided_tensors(run: Run) -> None:
    layer = torch.nn.Linear(3, 2)
    strided = np.arange(12, dtype=np.float32).reshape(3, 4).T
    row = run.save_policy(
        "bc-1", {**layer.state_dict(), "s": strided}, {"recipe": "bc"}, parent="p0", round=2
    )
    assert run.ledger.policy("bc-1") == row
    assert (row.parent, row.round, row.state) == ("p0", 2, "candidate")
    with _reopen(run) as again:
        tensors, metadata = again.load_policy("bc-1")
    assert metadata == {"recipe": "bc"}
    np.testing.assert_array_equal(tensors["weight"], layer.weight.detach().numpy())
    np.testing.assert_array_equal(tensors["s"], strided)


def test_the_same_weights_are_the_same_bytes(run: Run) -> None:
    rng = np.random.default_rng(0)
    tensors = {f"layer.{n}": rng.standard_normal(n + 1) for n in range(9)}
    about = {f"key {n}": str(n) for n in range(9)}
    orders = (slice(None), slice(None, None, -1))
    rows = [
        run.save_policy(
            f"p{n}", dict(list(tensors.items())[order]), dict(list(about.items())[order])
        )
        for n, order in enumerate(orders * 4)
    ]
    assert len({row.sha256 for row in rows}) == 1
    loaded, said = run.load_policy("p0")
    assert said == about
    assert all(same(loaded[name], tensors[name]) for name in tensors)


def test_a_policy_is_never_replaced_and_is_checked(run: Run) -> None:
    run.save_policy("p", {"w": np.zeros(2)}, {})
    with pytest.raises(StoreError, match="exists already"):
        run.save_policy("p", {"w": np.ones(2)}, {})
    with pytest.raises(StoreError, match="not made of letters"):
        run.save_policy("../p", {"w": np.ones(2)}, {})
    with pytest.raises(StoreError, match=r"'h' is torch\.bfloat16"):
        run.save_policy("q", {"h": torch.zeros(2, dtype=torch.bfloat16)}, {})
    with pytest.raises(StoreError, match="no policy 'q'; it has: p"):
        run.load_policy("q")
    (run.folder / "policies" / "p.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(StoreError, match="sha256 differs"):
        run.load_policy("p")


def test_result_is_plain_json(run: Run) -> None:
    run.write_result({"rate": np.float64(0.5), "none": float("nan"), "of": (np.int64(3), True)})
    run.write_result({"rate": np.float32(0.25), "none": float("nan"), "of": (np.int64(3), True)})
    found = json.loads((run.folder / "result.json").read_text())
    assert found == {"rate": 0.25, "none": None, "of": [3, True]}
    with pytest.raises(StoreError, match="a result cannot hold"):
        run.write_result({"x": object()})


@pytest.mark.parametrize("content", [None, b""])
def test_batches_beside_no_ledger_are_seen(run: Run, content: bytes | None) -> None:
    run.add_episodes([episode("a")])
    run.close()
    ledger = run.folder / "ledger.sqlite"
    ledger.unlink()
    if content is not None:
        ledger.write_bytes(content)
    for writable in (True, False):
        with pytest.raises(StoreError, match=r"1 batches of episodes are beside it.*fsck .* --rep"):
            Run.open(run.folder, writable)


def test_frames_are_kept_beside_the_episodes_and_go_with_them(run: Run) -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    image[..., 0] = 200  # red
    seen = Verdict(Outcome.FAILURE, frames=(Frame("front", image), Frame("side", image)))
    run.add_episodes([episode("a"), episode("b", verdict=seen)])
    paths = run.evidence("b")
    assert [path.name for path in paths] == ["00000001-1-front.png", "00000001-1-side.png"]
    np.testing.assert_array_equal(cv2.imread(str(paths[0]))[..., ::-1], image)
    assert run.evidence("a") == []
    assert not run.episodes()[1].verdict.frames, "not held in memory"
    run.close()
    orphan = run.folder / "evidence/00000002-0-front.png"
    shutil.copy(paths[0], orphan)
    Run.open(run.folder, writable=True).close()
    assert not orphan.exists()
    lost = [path for path in (run.folder / "lost").rglob("*") if path.is_file()]
    assert lost == [run.folder / "lost/evidence/00000002-0-front.png"]
    assert paths[0].exists()


@pytest.mark.parametrize("lost", ["episodes/00000001.zip", "policies/p.safetensors"])
def test_a_row_without_its_file_stops_the_run(run: Run, lost: str) -> None:
    run.add_episodes([episode("a")])
    run.save_policy("p", {"w": np.zeros(2)}, {})
    run.close()
    (run.folder / lost).rename(run.folder / "elsewhere")
    with pytest.raises(StoreError, match=f"{lost} is recorded but missing"):
        Run.open(run.folder, writable=True)
    with Run.open(run.folder) as reader:  # what is there can still be read
        assert reader.missing() == [lost]
        if lost.startswith("policies"):
            assert [e.id for e in reader.episodes()] == ["a"]
        else:
            assert reader.load_policy("p")[0].keys() == {"w"}
        with pytest.raises(StoreError, match=r"missing|cannot be read"):
            _ = reader.load_policy("p"), reader.episodes()[0].actions


def test_a_reader_leaves_nothing_behind(run: Run) -> None:
    run.add_episodes([episode("a")])
    run.close()
    before = sorted(run.folder.rglob("*"))
    with Run.open(run.folder) as reader:
        assert len(reader.ledger.episodes()) == 1
        with pytest.raises(StoreError, match="reading only"):
            reader.ledger.set_facts({"a": "b"})
    assert sorted(run.folder.rglob("*")) == before


def test_what_a_killed_writer_left_in_its_log_is_read(run: Run) -> None:
    run.add_episodes([episode("a")])
    copy = run.folder.parent / "copy"
    shutil.copytree(run.folder, copy)
    assert (copy / "ledger.sqlite-wal").stat().st_size
    (copy / "ledger.sqlite-shm").unlink()
    with Run.open(copy) as reader:
        assert [e.id for e in reader.episodes()] == ["a"]
    assert not (copy / "ledger.sqlite-shm").exists()


def test_an_archive_that_takes_no_files_is_read(run: Run, tmp_path: Path) -> None:
    run.add_episodes([episode("a")])
    run.close()
    archive = tmp_path / "archive"
    archive.mkdir()
    bind = ["mount", "--bind", str(run.folder), str(archive)]
    if subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a folder")
    try:
        read_only = ["mount", "-o", "remount,bind,ro", str(archive)]
        subprocess.run(read_only, check=True, capture_output=True)
        with Run.open(archive) as reader:
            assert [e.id for e in reader.episodes()] == ["a"]
        with pytest.raises(StoreError, match="cannot be written"):
            Run.open(archive, writable=True)
    finally:
        subprocess.run(["umount", "-l", str(archive)], check=True)


def test_a_second_writer_is_refused_and_a_reader_is_not(run: Run) -> None:
    run.add_episodes([episode("a")])
    with pytest.raises(StoreError, match=rf"another process \(id {os.getpid()}\).*reading only"):
        Run.open(run.folder, writable=True)
    with Run.open(run.folder) as reader:
        assert len(reader.episodes()) == 1
        with pytest.raises(StoreError, match="reading only"):
            reader.add_episodes([episode("b")])
        with pytest.raises(StoreError, match="reading only"):
            reader.write_result({})
    run.close()
    Run.open(run.folder, writable=True).close()


def test_create_does_not_touch_what_is_there(run: Run, tmp_path: Path) -> None:
    run.close()
    with pytest.raises(StoreError, match="holds a run already"):
        Run.create(run.folder, CONFIG)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(StoreError, match=r"holds thesis\.tex and is no run"):
        Run.create(tmp_path / "mine", CONFIG)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Run.create(tmp_path / "file", CONFIG)
    with pytest.raises(StoreError, match=r"cannot be written as TOML"):
        Run.create(tmp_path / "new", {"limit": None})
    assert not (tmp_path / "new").exists()


def test_creation_that_failed_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="disk is full"):
            Run.create(tmp_path / "run", CONFIG)
    Run.create(tmp_path / "run", CONFIG).close()


def test_a_folder_without_permission_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=r"cannot be written .*choose a folder"):
        Run.create(tmp_path / "run", CONFIG)


def test_what_is_no_run_says_so(run: Run, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no run at"):
        Run.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="is not a run folder"):
        Run.open(tmp_path)
    run.close()
    (run.folder / "config.toml").write_text("task = ")
    with pytest.raises(
        StoreError, match=r"config\.toml does not parse \(Invalid value.*correct it"
    ):
        Run.open(run.folder, writable=True)
    (run.folder / "config.toml").unlink()
    with pytest.raises(StoreError, match=r"lacks config\.toml"):
        Run.open(run.folder)


@pytest.mark.parametrize("content", [None, b""])
def test_a_half_made_run_says_so(run: Run, content: bytes | None) -> None:
    run.close()
    ledger = run.folder / "ledger.sqlite"
    ledger.unlink()
    if content is not None:
        ledger.write_bytes(content)
    with pytest.raises(StoreError, match=r"never fully created.*remove the folder and start again"):
        Run.open(run.folder, writable=True)


def test_a_full_disk_leaves_earlier_episodes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.add_episodes([episode("a")])
    budget = 1000
    write = os.write

    def nearly_full(handle: int, data: memoryview) -> int:
        nonlocal budget
        if budget <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        budget -= (written := write(handle, data[:budget]))
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", nearly_full)
        with pytest.raises(StoreError, match=r"disk is full.*recorded before it is intact"):
            run.add_episodes([episode("b", length=500)])
    assert sorted(os.listdir(run.folder / "episodes")) == ["00000001.zip"]
    run.add_episodes([episode("c")])
    with _reopen(run) as again:
        assert [e.id for e in again.episodes()] == ["a", "c"]


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        run = Run.create(disk / "run", CONFIG)

        def fill() -> None:
            for number in range(10_000):
                run.add_episodes([episode(str(number), length=100)])

        with pytest.raises(StoreError, match=r"disk is full.*free space"):
            fill()
        run.close()
        with Run.open(disk / "run") as again:
            ids = [e.id for e in again.episodes()]
        assert len(ids) > 10
        assert ids == [str(i) for i in range(len(ids))]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
