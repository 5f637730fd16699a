"""What the library's verbs may be asked for, beside the keywords that their signatures name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from enpire.session.recorded_run import RecordedRun

type StrPath = str | os.PathLike[str]
type Seconds = float | str  # a number [s], or 90s, 30m, 10h


class PlaceOptions(TypedDict, total=False):
    """The place where episodes are run, and who helps there; by default twins on this machine.

    Attributes:
        begin: Where a task begins that has two starts (`--begin` on the command line).
        cluster: Address of a Ray cluster: `auto`, `HOST:PORT` or `ray://HOST:PORT`.
        station: Station files of the arms to run on.
        confirm_motion: The arms may move.
        dry_run: Twins take the arms' part; what arms would be sent is written to a file.
        recover: Shell command that sets up a station again that was set aside.
        recover_limit: How long that may take.
        trust: Run code that a run names by a path, though it was made elsewhere.
        python: Of a `gym:` task: the interpreter that runs it.
        success: Of a `gym:` task: what makes an episode a success.
        reset: How scenes are put back.
        world: A world pack in place of the task's.
        verify: What verdicts are come by with.
        vary_looks: Light, colours and cameras are each episode's own in what policies see.
    """

    begin: Literal["start", "phase"]
    cluster: str
    station: Sequence[StrPath]
    confirm_motion: bool
    dry_run: bool
    recover: str
    recover_limit: Seconds
    trust: bool
    python: StrPath
    success: str
    reset: Literal["fast", "physical"]
    world: StrPath
    verify: Literal["sensors", "cameras"]
    vary_looks: bool


class EvaluateOptions(PlaceOptions, total=False):
    """What else an evaluation may be asked for.

    Attributes:
        inference_time: How long a chunk of actions takes on twins; the last one goes on meanwhile.
    """

    inference_time: Seconds


class ImproveOptions(PlaceOptions, total=False):
    """What else a loop may be asked for; `enpire loop --help-all` says what each one is."""

    demonstrator: StrPath
    policy: StrPath | RecordedRun
    demonstrations_of: StrPath | RecordedRun
    demonstrations: int
    demonstration_starts: Literal["spread", "drawn"]
    demonstrator_pushes: float
    start_episodes: int
    collect: int
    exploration: float
    execute: int
    history: int
    max_pairs: int | Literal["auto"]
    sealed_episodes: int
    target_bound: Literal["point", "lower"]
    alpha: float
    first_recipe: StrPath
    first_recipe_settings: Mapping[str, Any]
    images: int
    staleness: int
    collect_share: float
    pace: Literal["free", "real"]
    reset_time: Seconds
    latency: Seconds
    fault_every: Seconds
    repair_time: Seconds
    abort: bool
    helper: str
    helper_settings: Mapping[str, Any]
    port: int
    track: Literal["wandb", "mlflow", "trackio"]
