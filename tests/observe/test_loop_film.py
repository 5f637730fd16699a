"""A loop as a moving picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from enpire.errors import StoreError
from enpire.observe.loop_film import HEAD, TILE, TILES, film_loop, loop_acts, write_webp
from enpire.store import RoundRow, Run
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

SETTINGS = {"task": "reach", "target": 0.9}


def _episodes(policy: str, number: int, seeds: range, good: int) -> list[Episode]:
    verdicts = [Verdict(Outcome.SUCCESS if i < good else Outcome.FAILURE) for i in seeds]
    about: dict[str, Any] = {"purpose": Purpose.EVALUATION, "policy": policy, "round": number}
    return [
        episode(f"{policy}-{number}-{seed}", 12, seed=seed, verdict=verdict, **about)
        for seed, verdict in zip(seeds, verdicts, strict=True)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with two policies that met on common seeds."""
    with Run.create(tmp_path / "run", {"loop": SETTINGS}) as run:
        for name, number in (("policy-0", 0), ("policy-1", 1)):
            run.save_policy(name, {"w": np.zeros(1)}, {"kind": "chunk"}, round=number)
        run.add_episodes(_episodes("policy-0", 0, range(100, 105), 102))
        run.add_episodes(_episodes("policy-0", 1, range(6), 2))
        run.add_episodes(_episodes("policy-1", 1, range(6), 6))
        run.ledger.put_round(RoundRow(1, "policy-1", 6, 6, 0.5, 1.0, 70.0, 9.0))
    return tmp_path / "run"


def test_the_same_scenes_are_shown_whatever_came_of_them(folder: Path) -> None:
    with Run.open(folder) as run:
        first, last = loop_acts(run)
    assert [e.seed for e in first.episodes] == [e.seed for e in last.episodes] == list(range(TILES))
    assert [e.success for e in first.episodes] == [True, True, False, False]
    assert first.point.success.trials == 5
    assert (last.point.policy, last.point.success.rate) == ("policy-1", 1.0)
    assert len(last.points) > len(first.points)


def test_a_run_without_a_better_policy_has_nothing_to_show(tmp_path: Path) -> None:
    with (
        Run.create(tmp_path / "run", {"loop": SETTINGS}) as run,
        pytest.raises(StoreError, match="no better policy"),
    ):
        loop_acts(run)


def test_a_moving_picture_plays_and_ends_with_verdicts(folder: Path, tmp_path: Path) -> None:
    shots: list[int] = []

    def replay(episode: Episode, shoot: Any) -> None:
        for at in range(len(episode)):
            shoot(at)

    def picture() -> Any:
        shots.append(len(shots))
        return np.full((TILE[1], TILE[0], 3), 3 * len(shots) % 200, np.uint8)

    again: Any = SimpleNamespace(stations=SimpleNamespace(period=0.1))
    camera: Any = SimpleNamespace(aim=lambda: None, picture=picture)
    with Run.open(folder) as run:
        acts = loop_acts(run)

    class Replay:
        stations = again.stations
        __call__ = staticmethod(replay)

    stands_in: Any = Replay()
    frames = list(film_loop(acts, stands_in, camera, "reach", 0.9, every=3))
    assert len(shots) == 2 * TILES * 4, "every third of 12 periods"
    path = tmp_path / "deep" / "loop.webp"
    write_webp(frames, path, 0.1)
    with Pillow.open(path) as film:
        assert film.format == "WEBP"
        assert film.n_frames > 4
        film.seek(film.n_frames - 1)
        last = np.asarray(film.convert("RGB"), int)
    assert last.shape == frames[0].shape
    edge = last[HEAD + 1, TILE[0] // 2]
    assert edge[1] > edge[0] + 40, "a green border about a success"
