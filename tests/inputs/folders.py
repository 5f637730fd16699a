"""Folders of LeRobot's policies that are slightly wrong; the good one is an ACT's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from safetensors.torch import load, save

from enpire.environment import Stations
from enpire.policies import LeRobotPolicy
from enpire.policies.lerobot import policy
from enpire.policies.lerobot.folder import CONFIG, PROCESSORS, WEIGHTS
from tests.environment.reach import reach_stations
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input
from tests.policies.lerobots import folder_of

OFTEN = 240  # times that a policy acts, for what is told of many
BEFORE, AFTER = PROCESSORS
BOM = b"\xef\xbb\xbf"
TENTHS = ((10, -0.5), (90, 0.5))  # quantiles, and the share of the most that they are
Files = dict[str, bytes]
Change = Callable[[Files], Files]


@cache
def stations() -> Stations:
    """A task to act on."""
    return reach_stations(1)


@cache
def good() -> Mapping[str, bytes]:
    """A folder's files."""
    with tempfile.TemporaryDirectory() as name:
        sizes = stations().observation_size, stations().action_size
        return dict(LeRobotPolicy.read(folder_of("act", Path(name) / "act", *sizes)).files)


def acted(change: Change, times: int = 3) -> tuple[str, str]:
    """How a policy acts so many times; what is told of its actions."""
    controller = LeRobotPolicy.of(change(dict(good()))).controller(stations())
    controller.begin(0, np.random.default_rng(0), 0.0)
    seen = np.full((1, stations().observation_size), 0.3, np.float32)
    actions = [controller.act(np.array([0]), seen, None) for _ in range(times)]
    assert np.isfinite(actions).all()
    return (TOLD if controller.watch.text else TAKEN), controller.watch.text


def one(name: str, change: Change, words: str, ends: str = REFUSED) -> Input:
    """An entry."""
    return Input(name, lambda _: acted(change), words, ends)


def said(name: str, change: Callable[[Any], Any]) -> Change:
    """Another content of a JSON file."""

    def changed(files: Files) -> Files:
        content = json.loads(files[name])
        change(content)
        return {**files, name: json.dumps(content).encode()}

    return changed


def put(file: str, content: bytes) -> Change:
    """Other bytes in a file."""
    return lambda files: {**files, file: content}


def config(**values: Any) -> Change:
    """Another value in the config."""
    return said(CONFIG, lambda content: content.update(values))


def tensors(part: str, change: Callable[[str, torch.Tensor], torch.Tensor | None]) -> Change:
    """Other tensors in the file whose name has this part; None: left out."""

    def changed(files: Files) -> Files:
        name = next(name for name in files if part in name and name.endswith(".safetensors"))
        made = {key: change(key, value) for key, value in load(files[name]).items()}
        return {**files, name: save({k: v for k, v in made.items() if v is not None})}

    return changed


def all_weights(change: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """Other weights."""
    return tensors(WEIGHTS, lambda _, value: change(value))


def statistic(part: str, end: str, value: float) -> Change:
    """Another value of a statistic."""
    return tensors(part, lambda key, t: torch.full_like(t, value) if key.endswith(end) else t)


def alone(end: str, value: float) -> Change:
    """Another value of a statistic of what is seen, and no least and most beside it."""

    def change(key: str, old: torch.Tensor) -> torch.Tensor | None:
        if not key.startswith("observation"):
            return old
        if key.endswith(("min", "max")):
            return None
        return torch.full_like(old, value) if key.endswith(end) else old

    return tensors("preprocessor", change)


def spread_out(files: Files) -> Files:
    """Quantiles that lie farther apart than the spread lets them."""
    name = _state(files)
    found = load(files[name])
    wide = {f"observation.state.q{q}": found["observation.state.max"] * s for q, s in TENTHS}
    narrow = {"observation.state.std": found["observation.state.std"] * 0.01}
    return {**files, name: save(found | wide | narrow)}


def steps(name: str, change: Callable[[list[Any]], list[Any]]) -> Change:
    """Other steps of a processor."""
    return said(name, lambda content: content.update(steps=change(content["steps"])))


def normaliser(name: str, **values: Any) -> Change:
    """Another config of the step that normalises."""

    def changed(found: list[Any]) -> list[Any]:
        for step in found:
            if "normalizer" in step.get("registry_name", ""):
                step["config"] |= values
        return found

    return steps(name, changed)


def without_normaliser(found: list[Any]) -> list[Any]:
    return [step for step in found if "normalizer" not in step.get("registry_name", "")]


def action(shape: list[Any]) -> Change:
    """Another shape of an action."""
    return said(CONFIG, lambda content: content["output_features"]["action"].update(shape=shape))


def sight(shape: list[Any]) -> Change:
    """Another shape of what is seen."""
    return said(
        CONFIG,
        lambda content: [each.update(shape=shape) for each in content["input_features"].values()],
    )


def first_left_out() -> Callable[[str, torch.Tensor], torch.Tensor | None]:
    """Leaves one tensor out."""
    left: list[str] = []

    def change(key: str, value: torch.Tensor) -> torch.Tensor | None:
        left.append(key)
        return None if len(left) == 1 else value

    return change


def added(files: Files) -> Files:
    """A weight that no layer has."""
    more = {**load(files[WEIGHTS]), "nobody.weight": torch.zeros(2)}
    return {**files, WEIGHTS: save(more)}


def swapped(files: Files) -> Files:
    """One processor in place of the other."""
    return {**files, BEFORE: files[AFTER], AFTER: files[BEFORE]}


def without(name: str) -> Change:
    """No such file."""
    return lambda files: {key: data for key, data in files.items() if key != name}


def trained(**values: Any) -> Callable[[Path], tuple[str, str]]:
    """Beside a policy lies what its training wrote, with these values."""

    def give(_: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(policy.LOG, "warning", lambda text, *args: told.append(text % args)):
            ends, text = acted(put("train_config.json", json.dumps(values).encode()))
        return (TOLD if told else ends), "; ".join([text, *told])

    return give


def own(key: str) -> Any:
    """What the good folder's config has."""
    return json.loads(good()[CONFIG])[key]


ALL = (
    Input(
        "a training of this task",
        lambda folder: trained(
            policy={"type": "act", "input_features": own("input_features")},
            dataset={"repo_id": "me/reach_40"},
        )(folder),
        "^$",
        TAKEN,
    ),
    Input(
        "a training on another task",
        trained(policy={"type": "act"}, dataset={"repo_id": "lerobot/aloha"}),
        "was trained on lerobot/aloha .*, and acts in reach",
        TOLD,
    ),
    Input("a training of another policy", trained(policy={"type": "diffusion"}), "type is diffus"),
    Input(
        "a training of other features",
        trained(policy={"output_features": {"action": {"type": "ACTION", "shape": [99]}}}),
        "output_features is",
    ),
    Input(
        "a training that normalised otherwise",
        trained(policy={"normalization_mapping": {"STATE": "MIN_MAX"}}),
        "another policy than config.json: normalization_mapping",
        REFUSED,
    ),
    Input("a training that is a list", lambda _: acted(put("train_config.json", b"[]")), "", TAKEN),
    Input("a training cut off", lambda _: acted(put("train_config.json", b"{")), "train_config"),
    one("more actions than a chunk", config(n_action_steps=999), "because of ValueError: .*chunk"),
    one("as it should be", lambda files: files, "^$", TAKEN),
    one("CRLF", lambda files: {**files, CONFIG: files[CONFIG].replace(b"\n", b"\r\n")}, "", TAKEN),
    one("weights of half precision", all_weights(torch.Tensor.half), "^$", TAKEN),
    one("weights of NaN", all_weights(lambda t: t * torch.nan), "no finite numbers"),
    one("weights of 1e30", all_weights(lambda t: torch.full_like(t, 1e30)), "no finite numbers"),
    one("weights in whole numbers", all_weights(torch.Tensor.int), "whole numbers"),
    one(
        "complex weights",
        all_weights(lambda t: t.to(torch.complex64) if t.is_floating_point() else t),
        "has complex numbers for .* fractions are due",
    ),
    one("weights of double precision", all_weights(torch.Tensor.double), "^$", TAKEN),
    one("a processor that is not here", config(device="cuda:7"), "^$", TAKEN),
    one("two looks at a time", config(n_obs_steps=2), "cannot load the policy"),
    one("a kind in capitals", config(type="ACT"), "cannot load the policy"),
    one("a layer missing", lambda f: tensors(WEIGHTS, first_left_out())(f), "Missing key"),
    one("all layers missing", tensors(WEIGHTS, lambda *_: None), "Missing key"),
    one("a layer too many", added, "Unexpected key"),
    one("weights of no bytes", put(WEIGHTS, b""), "cannot load"),
    one("weights cut off", lambda f: {**f, WEIGHTS: f[WEIGHTS][:999]}, "cannot load"),
    one("weights that were not fetched", put(WEIGHTS, b"version https://git"), "cannot load"),
    one("weights that are code", put(WEIGHTS, b"\x80\x04."), "cannot load"),
    one("a header beyond memory", put(WEIGHTS, (2**40).to_bytes(8, "little")), "cannot load"),
    one("a spread of nought", statistic("postprocessor", "std", 0.0), "spread below nought"),
    one("a spread below nought", statistic("postprocessor", "std", -1.0), "spread below nought"),
    one("a spread seen below nought", statistic("preprocessor", "std", -1.0), "spread below"),
    one("a mean of 1e30", statistic("postprocessor", "mean", 1e30), "mean between min and max"),
    one("a mean seen of 500", statistic("preprocessor", "mean", 500.0), "mean between min and max"),
    one("a spread seen of 1e10", statistic("preprocessor", "std", 1e10), "half of the way"),
    one("a mean seen of 500 alone", alone("mean", 500.0), "up to 1.64e.03", TOLD),
    Input(
        "a spread seen of 1e10 alone",
        lambda _: acted(alone("std", 1e10), OFTEN),
        "it sees nothing. Another unit",
        TOLD,
    ),
    one("a variance in place of a spread", spread_out, "from q10 to q90 at least is needed"),
    one("actions of another training", statistic("postprocessor", "mean", 0.5), "have two values"),
    one("no input normalised", normaliser(BEFORE, normalize_observation_keys=[]), "nowhere"),
    one("a mean of NaN", statistic("postprocessor", "mean", np.nan), "no finite number"),
    one("statistics in whole numbers", tensors("postprocessor", lambda _, t: t.int()), "whole num"),
    one("statistics under other keys", tensors("preproc", lambda k, t: None), "no statistics for"),
    one("statistics of no bytes", lambda f: put(_state(f), b"")(f), "cannot be read"),
    one("statistics missing", lambda f: without(_state(f))(f), "is missing"),
    one("no normaliser", steps(BEFORE, without_normaliser), "normalises observation.* nowhere"),
    one("no unnormaliser", steps(AFTER, without_normaliser), "normalises action nowhere"),
    one("no steps after", steps(AFTER, lambda _: []), "normalises action nowhere"),
    one("no steps before", steps(BEFORE, lambda _: []), "nowhere"),
    one("each step twice", steps(AFTER, lambda found: found * 2), "action several times"),
    one("processors swapped", swapped, "nowhere"),
    one("a mode that is none", normaliser(AFTER, norm_map={"ACTION": "ZSCORE"}), "by ZSCORE"),
    one("a mode that passes on", normaliser(AFTER, norm_map={"ACTION": "IDENTITY"}), "by IDENTITY"),
    one("another mode seen", normaliser(BEFORE, norm_map={"STATE": "MIN_MAX"}), "by MIN_MAX"),
    one("a config of another mode", config(normalization_mapping={"ACTION": "MIN_MAX"}), "nothing"),
    one("a spread of rounding", statistic("postprocessor", "std", 1e-12), "none at all"),
    one("an eps of NaN", normaliser(AFTER, eps=float("nan")), "eps = nan"),
    one("an eps below nought", normaliser(BEFORE, eps=-1.0), "eps = -1"),
    one("code of others", steps(BEFORE, lambda s: [*s, {"class": "os.path.join"}]), "code of os"),
    one("a config too deep", put(CONFIG, b"[" * 100_000), "no JSON"),
    one(
        "a config after a byte order mark",
        lambda f: {**f, CONFIG: BOM + f[CONFIG]},
        "BOM",
    ),
    one(
        "weights that Git LFS keeps elsewhere",
        put("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n"),
        "model.safetensors is a pointer of Git LFS, .*git lfs pull",
    ),
    one("a config of no bytes", put(CONFIG, b""), "no JSON"),
    one("a config that is a list", put(CONFIG, b"[]"), "is not that of a policy"),
    one("no config", without(CONFIG), "config.json is missing"),
    one("a setting that there is not", config(nobody=1), "nobody"),
    one("a kind that there is not", config(type="nosuch"), "'nosuch'"),
    one("another kind", config(type="pi0"), "cannot load"),
    one("a kind of 10000 letters", config(type="a" * 10_000), "etc"),
    one("no action of a chunk", config(n_action_steps=0), "n_action_steps: 0"),
    one("a count that is true", config(n_action_steps=True), "n_action_steps: True; 1 to 10000"),
    one("a count in quotes", config(chunk_size="100"), "chunk_size: 100; 1 to 10000"),
    one("a count that is a fraction", config(n_action_steps=1.5), "n_action_steps: 1.5; 1 to"),
    one(
        "a mean of one entry",
        tensors("postprocessor", lambda _, t: t[:1] if t.ndim else t),
        "of 1 entries, and action has 7",
    ),
    one("fewer than none", config(n_action_steps=-1), "n_action_steps: -1"),
    one("more than a chunk has", config(n_action_steps=100), "cannot load"),
    one("a chunk beyond memory", config(chunk_size=10**9), "chunk_size: 1000000000"),
    one("an ensemble of NaN", config(temporal_ensemble_coeff=float("nan")), "ensemble_coeff: nan"),
    one("an ensemble of 1e308", config(temporal_ensemble_coeff=1e308), "ensemble_coeff: 1e"),
    one("an action of NaN entries", action([float("nan")]), "is not that of a policy"),
    one("an action of -3 entries", action([-3]), "action has -3"),
    one("an action of 7.5 entries", action([7.5]), "cannot load"),
    one("an action of 400 digits", action([10**400]), "a number has 401 digits"),
    one("an action of endless entries", action([float("inf")]), "is not that of a policy"),
    one("a sight of endless entries", sight([float("inf")]), "is not that of a policy"),
    one(
        "another output",
        said(CONFIG, lambda c: c["output_features"].update(force={"type": "ACTION", "shape": [1]})),
        "answers with force",
    ),
    one("a file that leads elsewhere", put("../x.json", b"{}"), "leads elsewhere"),
    one("no step of its chunks", config(n_action_steps=0), "n_action_steps: 0; 1 to 10000"),
    one("a million steps", config(n_action_steps=10**6), "n_action_steps: 1000000; 1 to"),
    one("steps in quotes", config(n_action_steps="2"), "n_action_steps: 2; 1 to"),
    one("nothing that it sees", config(input_features={}), "takes nothing; stations show"),
    one("nothing that it does", config(output_features={}), "is not that of a policy of LeR"),
    one("weights of one byte", put("model.safetensors", b"0"), "cannot load the policy: Safet"),
    Input(
        "weights of 0",
        lambda _: acted(all_weights(torch.zeros_like), 60),
        "60 actions are the same",
        TOLD,
    ),
)


def _state(files: Files) -> str:
    return next(name for name in files if name.startswith("policy_preprocessor_step"))
