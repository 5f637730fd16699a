"""Policies to measure: of runs, over or still running, or of a folder that LeRobot wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from enpire import policies
from enpire.environment import StationBackend
from enpire.errors import PolicyError, StoreError, UsageError
from enpire.observe import account
from enpire.observe.trust import distrusted
from enpire.packs.finder import sets_joints
from enpire.policies import LeRobotPolicy, PicturePolicy, Policy, base_of, eyes
from enpire.policies.lerobot import find_folder
from enpire.policies.lerobot.folder import why_none
from enpire.policies.remote import RemotePolicy, is_address
from enpire.policies.vision import seen_there
from enpire.store import Run
from enpire.store.origin import is_path

SEEING = PicturePolicy | LeRobotPolicy | RemotePolicy  # kinds that may see by cameras
PORT = re.compile(r"\d+(?=[/?]|$)")  # of a server, where no policy's name begins so


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy of a run, with the hash of its file, or one of LeRobot's, with that of its files."""

    run: Path  # its folder
    name: str
    # task, python, success: as the run has them, and `open_stations` takes them; empty where a
    # folder of LeRobot's does not say
    task: str
    python: str
    success: str
    sha256: str
    policy: Policy
    distrusted: str = ""  # why code at these is not to be run

    def require_trusted(self, task: str, trust: bool) -> None:
        """Refuse to run the code that the run names by a path, unless `task` is another's.

        Raises:
            StoreError: it is not to be trusted, see `trust.distrusted`.
        """
        if task == self.task and self.distrusted and not trust:
            raise StoreError(self.distrusted)


def load(reference: str) -> LoadedPolicy:
    """The policy called `RUN` (its incumbent) or `RUN:NAME`, in a folder of LeRobot's, or remote.

    The last is `ws://HOST:PORT`.

    Raises:
        StoreError: there is no such run, or it has no such policy.
        PolicyError: it cannot be read, or no server is there.
        UsageError: an address has another form.
    """
    if is_address(reference):
        there = RemotePolicy.find(reference)
        spec = there.spec
        reason = ""
        if is_path(spec.task, "task"):
            reason = (
                f"the server at {reference} names its task by a path, {spec.task!r}: give --task, "
                "or look at the code there and give --trust to run it"
            )
        return LoadedPolicy(
            Path(there.name), "remote", spec.task, "", "", spec.policy, there, reason
        )
    folder, name = Path(reference), ""
    if find_folder(folder) is not None:
        given = LeRobotPolicy.read(folder)
        return LoadedPolicy(folder, given.name, "", "", "", given.sha256, given)
    if why := why_none(folder):
        raise PolicyError(why)
    if not folder.is_dir() and ":" in reference:
        before, _, name = reference.rpartition(":")
        folder = Path(before)
        if PORT.match(name) and len(folder.parts) == 1 and not folder.is_dir():
            raise UsageError(f"there is no run at {before}; a policy's server is ws://{reference}")
    with Run.open(folder) as run:
        name = name or account.incumbent(run.ledger)
        if not name:
            raise StoreError(f"{folder} has no policy yet: let the run go on until it has one")
        tensors, metadata = run.load_policy(name)
        row = run.ledger.policy(name)
        loop = run.config.get("loop", {})
        task, python, success = (loop.get(key, "") for key in ("task", "python", "success"))
        reason = distrusted(run)
    if row is None:
        raise StoreError(f"{folder} has lost the row of its policy {name!r}")
    try:
        policy = policies.load(metadata, tensors)
    except PolicyError as error:
        raise PolicyError(f"policy {name!r} of {folder}: {error}") from error
    return LoadedPolicy(folder, name, task, python, success, row.sha256, policy, reason)


def require_fit(policy: Policy, stations: StationBackend, name: str) -> None:
    """Raise PolicyError unless `policy` maps what `stations` show to what they can do."""
    policy = base_of(policy)
    spec = policy.spec
    if spec.task and sets_joints(spec.task) != sets_joints(stations.name):
        what = {True: "says where joints are to be", False: "moves hands"}
        other, here = (what[sets_joints(task)] for task in (spec.task, stations.name))
        raise PolicyError(
            f"policy {name!r}, made for {spec.task}, {other}, and a policy of {stations.name} "
            f"{here}: give --task {spec.task}, or choose another policy"
        )
    has = (spec.observation, spec.action)
    needs = (stations.observation_size, stations.action_size)
    if isinstance(policy, SEEING) and policy.spec.size:
        seen = seen_there(stations, policy.spec.cameras, policy.spec.size)
        if not isinstance(policy, PicturePolicy):  # others are told what is felt alone
            needs = (len(seen.felt), stations.action_size)
    # 0: a server that does not say, whose first answer will, or a policy that takes no state.
    if any(size not in (0, needed) for size, needed in zip(has, needs, strict=True)):
        made = f", made for {spec.task}" if spec.task else ""
        raise PolicyError(
            f"policy {name!r}{made}, maps {has[0]} observations to {has[1]} "
            f"actions; the task {stations.name} has {needs[0]} and {needs[1]}: choose a policy "
            "made for it"
        )


def images(policy: Policy) -> int:
    """Size of the pictures that it sees [px]; 0 for one that sees none."""
    base = base_of(policy)
    return base.spec.size if isinstance(base, RemotePolicy) else eyes(policy)[1]
