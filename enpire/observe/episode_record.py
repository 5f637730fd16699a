"""Everything that a run knows of one episode, as tracks over time: for viewers of other people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.environment.core.policy_cameras import SIZES, policy_cameras_of
from enpire.errors import PackError, StoreError, UsageError
from enpire.observe.critic_values import ENTRIES, critic_values
from enpire.observe.filming import EpisodeReplay, TwinCamera
from enpire.observe.picture import Viewpoint
from enpire.store import Run
from enpire.twin.scene import Scene
from enpire.types import Episode, FloatArray, Image, Purpose

EVERY = 5  # control periods from one picture of the scene to the next


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Numbers over time."""

    name: str  # what they are, such as `action`
    stamps: FloatArray  # shape (T,), since the execution began [s]
    values: FloatArray  # shape (T, n)
    entries: tuple[str, ...]  # a name for each of the n


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPicture:
    """One picture, (height, width, 3), red green blue, by a camera at a time [s]."""

    camera: str
    stamp: float
    image: Image


@dataclass(frozen=True, slots=True, eq=False)
class ActionChunk:
    """Actions of one chunk of a policy that were carried out, (n, act), from a time on [s]."""

    stamp: float
    actions: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeRecord:
    """One episode."""

    episode: Episode  # as it is stored
    # Actions, observations, joints, setpoints, rewards, interventions, values of critics; without
    # what was not recorded.
    tracks: tuple[Track, ...]
    # Of a policy's actions; none where nobody says how many are carried out at a time.
    chunks: tuple[ActionChunk, ...]
    # What policies saw, and the scene where the episode could be carried out again.
    pictures: tuple[RecordedPicture, ...]
    evidence: Mapping[str, bytes]  # PNG files of what the verifier's cameras saw, by name
    # Who acted: name, recipe, parent, round, sha256, whose critics say what they think of it, as
    # far as the run says.
    policy: Mapping[str, str]
    end: float  # when the verdict was there, since the execution began [s]
    without: str = ""  # why there is no scene; empty where there is one


@dataclass(slots=True)
class _Repeated:
    """What carrying an episode out again shows beyond what is stored."""

    names: tuple[str, ...] = ()
    cameras: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    scene: list[RecordedPicture] = field(default_factory=list)
    without: str = ""


def read_record(run: Run, episode: Episode, view: Viewpoint) -> EpisodeRecord:
    """Return all that is known of an episode.

    A twin carries it out again, for pictures of the scene. Where that cannot be done the record
    says why, and has the rest.

    Args:
        run: that holds it.
        episode: with its arrays.
        view: of the scene.
    """
    again = _repeat(run, episode, view)
    stamps = np.asarray(episode.stamps, np.float64)
    period = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    tracks = [
        _track("action", stamps, episode.actions),
        _track("observation", stamps, episode.observations, again.names),
        _track("joints", stamps, episode.joints, again.axes),
        _track("setpoints", stamps, episode.setpoints, again.axes),
        _track("reward", stamps, episode.rewards[:, None], ("reward",)),
        _track("intervened", stamps, episode.intervened[:, None], ("intervened",)),
    ]
    policy, critics = _policy(run, episode), critic_values(run, episode)
    if critics is not None:
        at = stamps[critics.periods.astype(np.int64)]
        tracks.append(_track("critics", at, critics.values, ENTRIES))
        policy["critics"] = critics.policy
    last = float(stamps[-1]) if len(stamps) else 0.0
    evidence = {path.stem.split("-", 2)[-1]: path.read_bytes() for path in run.evidence(episode.id)}
    return EpisodeRecord(
        episode,
        tuple(track for track in tracks if track.values.shape[1]),
        _chunks(run, episode, stamps),
        (*_recorded_pictures(episode, stamps, again.cameras), *again.scene),
        evidence,
        policy,
        last + period + episode.times.verify,
        again.without,
    )


def _repeat(run: Run, episode: Episode, view: Viewpoint) -> _Repeated:
    """Carry an episode out again, as far as that can be done."""
    task = str(run.asked.get("task", ""))
    if not task:
        return _Repeated(without=f"{run.folder} does not say which task it is of")
    again = _Repeated()
    try:
        replay = EpisodeReplay(task, str(run.asked.get("world", "")))
        again.names = tuple(replay.stations.task.observation_names)
        again.axes = _axes(replay.stations.twin.scene)
        if len(episode.pictures):
            policy_cameras = policy_cameras_of(
                replay.stations.task, replay.stations.sensors, SIZES[0]
            )
            again.cameras = policy_cameras.cameras
        _take_pictures(replay, episode, view, again)
    except (PackError, StoreError, UsageError) as error:
        return replace(again, scene=[], without=str(error))
    return again


def _take_pictures(
    replay: EpisodeReplay, episode: Episode, view: Viewpoint, again: _Repeated
) -> None:
    period = replay.stations.period
    with TwinCamera(replay.stations, view) as camera:

        def shoot(at: int) -> None:
            if at < len(episode) and at % EVERY == 0:
                again.scene.append(RecordedPicture("scene", at * period, camera.picture()))

        replay(episode, shoot)


def _axes(scene: Scene) -> tuple[str, ...]:
    """Return the axes of all arms by name: each arm's joints, then its gripper."""
    names: list[str] = []
    for arm in scene.arms:
        names += [scene.model.joint(int(joint)).name for joint in arm.joints]
        names.append(f"{arm.name}_gripper")
    return tuple(names)


def _track(
    name: str, stamps: FloatArray, values: NDArray[Any], entries: Sequence[str] = ()
) -> Track:
    """Return a track; numbers stand in for names that do not fit."""
    fits = len(entries) == values.shape[1]
    named = tuple(entries) if fits else tuple(str(at) for at in range(values.shape[1]))
    return Track(name, stamps, np.asarray(values, np.float64), named)


def _chunks(run: Run, episode: Episode, stamps: FloatArray) -> tuple[ActionChunk, ...]:
    """Return what was carried out of each chunk, if a policy acted alone and in step.

    A policy whose inference is late on purpose begins its chunks elsewhere, which no run records.
    """
    size = int(run.asked.get("execute", 0))
    if not size or episode.purpose is Purpose.DEMONSTRATION or episode.helped:
        return ()
    actions = np.asarray(episode.actions, np.float64)
    begins = range(0, len(episode), size)
    return tuple(ActionChunk(float(stamps[at]), actions[at : at + size]) for at in begins)


def _recorded_pictures(
    episode: Episode, stamps: FloatArray, cameras: tuple[str, ...]
) -> list[RecordedPicture]:
    """Return what policies saw; a row after the last one is where the verification looked."""
    pictures = []
    for images, row in zip(episode.pictures, episode.pictured.tolist(), strict=True):
        stamp = float(stamps[min(row, len(stamps) - 1)])
        for at, image in enumerate(images):
            name = cameras[at] if at < len(cameras) else str(at)
            pictures.append(RecordedPicture(f"policy_camera/{name}", stamp, image))
    return pictures


def _policy(run: Run, episode: Episode) -> dict[str, str]:
    """Return who acted; versions of an online learner have no row of their own."""
    told = {"name": episode.policy, "round": str(episode.round)}
    row = run.ledger.policy(episode.policy)
    if row is not None:
        told |= {"recipe": row.recipe, "parent": row.parent, "sha256": row.sha256}
    return told | {"staleness": str(episode.staleness), "packs": json.dumps(episode.packs)}


def verdict_text(episode: Episode) -> str:
    """Return who acted, how it ended and every predicate with its margin, for a person."""
    verdict = episode.verdict
    lines = [
        f"{episode.id}",
        f"policy {episode.policy}, seed {episode.seed}, station {episode.station}",
        f"{verdict.outcome}: {verdict.reason or verdict.stage}",
        *(
            f"{p.name}: {p.value_text} {p.unit}, threshold {p.threshold:g}, margin {p.margin:.4g}, "
            f"{p.state}"
            for p in verdict.predicates
        ),
    ]
    return "\n".join(lines)
