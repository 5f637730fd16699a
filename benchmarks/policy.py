"""How quickly a policy of LeRobot's answers and learns: through ours, beside LeRobot's own way.

The same network, or two of the same files, on the same device in the same precision. *Answering*:
from what stations show, as NumPy arrays, to actions: as stations ask, and by `select_action` as
`lerobot-eval` does. *Learning*: gradient steps of `finetune`, and of `lerobot-train`'s
`update_policy` with its own data loader, on the same episodes; both have all weights learn that the
policy's config lets, or the same adapters. Sides take turns. Episodes are made up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.data import held
from benchmarks.turns import TurnRatio
from enpire.datasets.exporting import BACKEND, export
from enpire.datasets.synthetic import shapes, smooth_pictures, synthetic_episodes
from enpire.improvement.recipes.finetune import FineTuner, FineTuning, Windows, adapted
from enpire.observe.gpu import GpuMonitor
from enpire.policies import ChunkSpec, LeRobotPolicy, ObservationMask
from enpire.policies.device import halves
from enpire.policies.lerobot.blank import TOLD
from enpire.policies.lerobot.controller import ChunkedModel
from enpire.policies.lerobot.model import LeRobotModel, quiet
from enpire.policies.vision import NOTHING
from enpire.types import Episode

BLOCKS = 3  # turns of each side
BATCHES = 1, 8  # of stations that ask at one time
RANK = 16  # of adapters, which is LeRobot's own
WARM = 2  # steps, or answers, that are not counted
LOOK_S = 0.5  # between looks at how busy a GPU is


@dataclass(frozen=True, slots=True)
class Compared:
    """Ours beside LeRobot's. ratio: how many times as quick ours is."""

    ratio: TurnRatio


@dataclass(frozen=True, slots=True)
class Answering(Compared):
    """batch: observations at a time. ours, together, lerobot: median and 99th percentile [s].

    ours: as stations ask, on a processor row by row; together: as a training asks, all at once.
    """

    batch: int
    ours: tuple[float, float]
    together: tuple[float, float]
    lerobot: tuple[float, float]


@dataclass(frozen=True, slots=True)
class LearningSpeed(Compared):
    """rank: of adapters, or 0; learned: numbers that learn. ours, lerobot: samples a second.

    first_s: until the first step was done, with what is compiled then. share: of the time in which
    the machine's GPU ran anything; None without one.
    """

    rank: int
    learned: int
    ours: float
    lerobot: float
    first_s: tuple[float, float]
    share: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class PolicyBench:
    """What was measured, of which policy, on what."""

    policy: str
    parameters: int
    pictures: tuple[int, int]
    device: str
    precision: str
    batch: int
    workers: int
    calls: int
    steps: int
    answering: tuple[Answering, ...]
    learning: tuple[LearningSpeed, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure. batch: samples a step; workers: processes of LeRobot's loader.

    calls, steps: of each side in each block.
    """

    batch: int
    steps: int
    calls: int
    workers: int
    seed: int


def bench_policy(policy: LeRobotPolicy, folder: Path, effort: Effort) -> PolicyBench:
    """Measure; folder: an empty one, for LeRobot's dataset.

    Raises:
        PolicyError: LeRobot cannot load it, or it acts by more than chunks.
    """
    torch.backends.cuda.matmul.allow_tf32 = True  # as `lerobot-train` has it, for both
    episodes = synthetic_episodes(policy, effort.seed)
    spec, layout = shapes(policy)
    export(episodes, layout, folder / "set", held if layout.policy_cameras else None)
    model = LeRobotModel.load(policy.files)
    answering = tuple(_answering(policy, model, batch, effort) for batch in BATCHES)
    learning = tuple(_learning(policy, episodes, spec, folder, r, effort) for r in (0, RANK))
    where = model.where
    return PolicyBench(
        policy=policy.spec.type,
        parameters=sum(values.numel() for values in model.network.parameters()),
        pictures=(len(policy.spec.cameras), policy.spec.size),
        device=called(where),
        precision="bfloat16" if halves(where) else "float32",
        batch=effort.batch,
        workers=effort.workers,
        calls=effort.calls,
        steps=effort.steps,
        answering=answering,
        learning=learning,
    )


def called(where: torch.device) -> str:
    """A device in words."""
    if where.type == "cuda":
        return torch.cuda.get_device_name(where)
    return f"processor, {torch.get_num_threads()} threads"


def _answering(policy: LeRobotPolicy, model: LeRobotModel, batch: int, effort: Effort) -> Answering:
    """From arrays to arrays by each way, in turns."""
    from lerobot.envs.utils import preprocess_observation

    said, rng = policy.spec, np.random.default_rng(effort.seed)
    width, cameras = max(said.observation, 1), said.cameras
    seen = (
        ObservationMask(tuple(range(len(cameras))), tuple(range(width)), width)
        if cameras
        else NOTHING
    )
    asked = ChunkedModel(model, said, TOLD, width).sampler(seen)
    history = rng.standard_normal((batch, asked.spec.history, width), np.float32)
    now, seeds, pictures = history[:, -1], list(range(batch)), None
    shown: dict[str, Any] = {"agent_pos": now}
    if cameras:
        drawn = smooth_pictures(rng, (batch, len(cameras)), said.size)
        pictures = np.repeat(drawn[:, None], asked.looks, axis=1)
        shown["pixels"] = {camera: drawn[:, i] for i, camera in enumerate(cameras)}
    else:
        shown["environment_state"] = now

    def ours() -> None:
        asked.chunks(history, seeds, pictures=pictures)

    def together() -> None:
        asked.many(history, seeds, pictures=pictures)

    @torch.inference_mode()
    def theirs() -> None:
        model.network.reset()  # else it answers from the chunk that it has
        given = preprocess_observation(shown) | {"task": [TOLD] * batch}
        model.after(model.network.select_action(model.before(given))).cpu().numpy()

    ways = ours, together, theirs
    taken: list[list[list[float]]] = [[] for _ in ways]
    for way in ways:
        for _ in range(WARM):
            way()
    for _ in range(BLOCKS):
        for way, blocks in zip(ways, taken, strict=True):
            blocks.append([_seconds(way) for _ in range(effort.calls)])
    medians = [[statistics.median(block) for block in blocks] for blocks in taken]
    return Answering(
        ratio=TurnRatio.of(medians[2], medians[0]),
        batch=batch,
        ours=_told(taken[0]),
        together=_told(taken[1]),
        lerobot=_told(taken[2]),
    )


def _told(blocks: Sequence[Sequence[float]]) -> tuple[float, float]:
    every = np.concatenate([np.asarray(block) for block in blocks])
    return float(np.median(every)), float(np.quantile(every, 0.99))


def _seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _learning(
    policy: LeRobotPolicy,
    episodes: Sequence[Episode],
    spec: ChunkSpec,
    folder: Path,
    rank: int,
    effort: Effort,
) -> LearningSpeed:
    model = LeRobotModel.load(policy.files)
    windows = Windows.of(episodes, model, TOLD, spec)
    tuning = FineTuning(batch=effort.batch, rank=rank)
    tuner = FineTuner(tuning, model, windows, torch.ones(len(windows)), effort.seed)
    steps = _lerobot_steps(LeRobotModel.load(policy.files), folder / "set", rank, tuning, effort)

    def ours() -> None:
        tuner.step(0)

    def theirs() -> None:
        next(steps)

    where, sides = model.where, (ours, theirs)
    first = _steps_s(ours, 1, where), _steps_s(theirs, 1, where)
    for side in sides:
        _steps_s(side, WARM, where)
    rates: tuple[list[float], list[float]] = ([], [])
    shares: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        for side, rate, used in zip(sides, rates, shares, strict=True):
            with GpuMonitor({}, LOOK_S) as watch:
                seconds = _steps_s(side, effort.steps, where)
            rate.append(effort.batch * effort.steps / seconds)
            if where.type == "cuda" and watch.busy is not None:
                used.append(watch.busy)
    mine, others = (statistics.median(rate) for rate in rates)
    share_ours, share_theirs = (statistics.fmean(used) if used else None for used in shares)
    return LearningSpeed(
        ratio=TurnRatio.of(*rates),
        rank=rank,
        learned=sum(values.numel() for values in tuner.learned),
        ours=mine,
        lerobot=others,
        first_s=first,
        share=(share_ours, share_theirs),
    )


def _steps_s(step: Callable[[], None], times: int, where: torch.device) -> float:
    """Seconds of so many steps, to their end: a GPU is told of them and goes on by itself."""
    began = time.perf_counter()
    for _ in range(times):
        step()
    if where.type == "cuda":
        torch.cuda.synchronize(where)
    return time.perf_counter() - began


def _lerobot_steps(
    model: LeRobotModel, folder: Path, rank: int, tuning: FineTuning, effort: Effort
) -> Iterator[None]:
    """`lerobot-train`'s own steps: its dataset, sampler, loader, accelerator and update."""
    from accelerate import Accelerator
    from lerobot.datasets import EpisodeAwareSampler
    from lerobot.datasets.factory import resolve_delta_timestamps
    from lerobot.datasets.lerobot_dataset import LeRobotDataset, LeRobotDatasetMetadata
    from lerobot.scripts.lerobot_train import update_policy
    from lerobot.utils.logging_utils import AverageMeter, MetricsTracker
    from lerobot.utils.utils import cycle

    config, where = model.config, model.where
    network: Any = adapted(model, rank, "") if rank else model.network
    optimiser = config.get_optimizer_preset().build(network.get_optim_params())
    preset = config.get_scheduler_preset()
    schedule = None if preset is None else preset.build(optimiser, tuning.steps)
    moments = resolve_delta_timestamps(config, LeRobotDatasetMetadata(folder.name, root=folder))
    dataset = LeRobotDataset(
        folder.name, root=folder, delta_timestamps=moments, video_backend=BACKEND
    )
    sampler = EpisodeAwareSampler(
        dataset.meta.episodes["dataset_from_index"],
        dataset.meta.episodes["dataset_to_index"],
        drop_n_last_frames=getattr(config, "drop_n_last_frames", 0),
        shuffle=True,
        seed=effort.seed,
    )
    loader = torch.utils.data.DataLoader(
        dataset,
        num_workers=effort.workers,
        batch_size=effort.batch,
        sampler=sampler,
        pin_memory=where.type == "cuda",
        prefetch_factor=4 if effort.workers else None,
        persistent_workers=effort.workers > 0,
    )
    with quiet():
        accelerator = Accelerator(
            step_scheduler_with_optimizer=False,
            mixed_precision="bf16" if halves(where) else "no",
            cpu=where.type == "cpu",
        )
        network, optimiser, loader, schedule = accelerator.prepare(
            network, optimiser, loader, schedule
        )
    meters = {
        name: AverageMeter(name) for name in ("loss", "grad_norm", "lr", "update_s", "gpu_mem_gb")
    }
    tracker = MetricsTracker(
        effort.batch,
        dataset.num_frames,
        dataset.num_episodes,
        meters,
        accelerator=accelerator,
    )
    for batch in cycle(loader):
        for key in dataset.meta.camera_keys:
            if batch[key].dtype == torch.uint8:
                batch[key] = batch[key].to(torch.float32) / 255.0
        tracker, _ = update_policy(
            tracker,
            network,
            model.before(batch),
            optimiser,
            tuning.most_loss,
            accelerator=accelerator,
            lr_scheduler=schedule,
        )
        tracker.step()
        yield
