"""LeRobot's own policy and processors, loaded from a folder's files by `from_pretrained`.

The one place that imports LeRobot to act or to learn.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from enpire.environment.core.motors import Motors
from enpire.errors import PolicyError, error_text
from enpire.json_text import loads
from enpire.policies.device import device, mixed
from enpire.policies.lerobot import folder
from enpire.policies.lerobot.own_units import OwnUnits
from enpire.types import Float32Array, FloatArray, Image

BACKBONE = "pretrained_backbone_weights"  # of a config: what a new network would begin with
CAUSES = 3  # of an error that are told, behind it


@dataclass(slots=True)
class LeRobotModel:
    """A policy that acts and learns."""

    network: Any  # LeRobot's `PreTrainedPolicy`
    config: Any
    before: Any  # its preprocessor, of batches
    after: Any  # its postprocessor, of actions
    cameras: tuple[str, ...] = ()  # that it looks through, as stations call them
    # What its state and its actions are in, where these are other units than ours.
    units: Motors | OwnUnits | None = None

    @classmethod
    def load(cls, files: Mapping[str, bytes]) -> Self:
        """Load a folder's files, on this machine's `device`, whichever one its config names.

        Raises:
            PolicyError: LeRobot is not there, does not know the policy, or cannot load it.
        """
        with tempfile.TemporaryDirectory(prefix="enpire-policy-") as where:
            path = Path(where)
            folder.write(files, path)
            with _blamed("load"), quiet():
                from lerobot.configs.policies import PreTrainedConfig
                from lerobot.policies.factory import get_policy_class, make_pre_post_processors

                _import_plugins(tuple(sys.path))
                config = PreTrainedConfig.from_pretrained(path)
                config.device = str(device())
                with _without_downloads(config):
                    # strict: what the file lacks would be random numbers, without a word
                    network = get_policy_class(config.type).from_pretrained(
                        path, config=config, strict=True
                    )
                there = {"device_processor": {"device": config.device}}
                before, after = make_pre_post_processors(
                    config, str(path), preprocessor_overrides=there
                )
            _require_fractions(network, files[folder.WEIGHTS])
        return cls(network, config, before, after, folder.shapes(files).cameras)

    def save(self) -> dict[str, bytes]:
        """The files of a folder that `from_pretrained` takes."""
        with tempfile.TemporaryDirectory(prefix="enpire-policy-") as where:
            path = Path(where)
            with _blamed("save"), quiet():
                self.network.save_pretrained(path)
                self.before.save_pretrained(path)
                self.after.save_pretrained(path)
            return folder.read(path)

    @property
    def where(self) -> torch.device:
        """The device that it acts and learns on."""
        return torch.device(self.config.device)

    @property
    def history(self) -> int:
        """How many observations it sees, of successive periods."""
        return len(self.config.observation_delta_indices or [0])

    @property
    def execute(self) -> int:
        """How many actions of a chunk are carried out."""
        return int(self.config.n_action_steps)

    def batch(self, history: Tensor, told: str, pictures: Tensor | None = None) -> dict[str, Any]:
        """Observations (b, history, obs) and the instruction, as the preprocessor takes them.

        pictures: (b, history, cameras, size, size, 3) of uint8, by `cameras`; they become what
        LeRobot reads of a dataset, channels first and from 0 to 1.

        Raises:
            PolicyError: it sees, and there are none.
        """
        if self.cameras and pictures is None:
            raise PolicyError("a policy that sees was asked without pictures")
        if self.units is not None:
            history = torch.from_numpy(self.units.theirs(history.numpy()))
        successive = self.config.observation_delta_indices is not None
        batch: dict[str, Any] = {"task": [told] * len(history)}
        for name, entries in self.parts.items():
            seen = history[..., entries]
            batch[name] = seen if successive else seen[:, -1]
        for name, feature in self.config.input_features.items():
            if folder.BLANK in name:  # a camera that is not there: black, masked where it can be
                batch[name] = torch.zeros(len(history), *feature.shape)
                batch[f"{name}_padding_mask"] = torch.zeros(len(history), dtype=torch.bool)
        if pictures is not None:
            shown = pictures.to(self.where).movedim(-1, -3).float() / 255  # bytes cross sooner
            for i, camera in enumerate(self.cameras):
                one = shown[:, :, i]
                batch[folder.PICTURES + camera] = one if successive else one[:, -1]
        return batch

    def chunks(
        self,
        history: Float32Array,
        told: str,
        seeds: Sequence[int],
        noise: Float32Array | None = None,
        *,
        together: bool = False,
        pictures: Image | None = None,
    ) -> Float32Array:
        """Actions (b, n, act), n at least `execute`, for observations (b, history, obs).

        seeds: of what each row draws. noise: that chunks begin from, (b, *noise_shape), if it is
        chosen. pictures: (b, history, cameras, size, size, 3), of a policy that sees.

        On a processor each row is worked out by itself, since what a station does must not depend
        on how many ask at one time; elsewhere, and where it is `together`, all at once.

        Raises:
            PolicyError: LeRobot raised, or what came of it are no actions.
        """
        halved = mixed(self.where) if self.config.use_amp else contextlib.nullcontext()
        with _blamed("act"), torch.inference_mode(), torch.random.fork_rng(), halved:
            shown = None if pictures is None else torch.from_numpy(pictures)
            batch = self.before(self.batch(torch.from_numpy(history), told, shown))
            chosen = None
            if noise is not None:
                chosen = torch.from_numpy(noise).to(self.where)
            if self.where.type == "cpu" and not together:
                rows = [
                    self._predict(
                        _row(batch, i), seed, None if chosen is None else chosen[i : i + 1]
                    )
                    for i, seed in enumerate(seeds)
                ]
                predicted = torch.cat(rows)
            else:
                predicted = self._predict(batch, seeds[0], chosen)
            actions: Float32Array = self.after(predicted).float().cpu().numpy()
        if actions.ndim != 3 or actions.shape[1] < self.execute:
            raise PolicyError(
                f"the {self.config.type} policy predicts actions of shape {actions.shape}, and "
                f"{self.execute} of them are to be carried out"
            )
        if not np.isfinite(actions).all():
            raise PolicyError(
                f"the {self.config.type} policy predicts actions that are no finite numbers: its "
                "weights or its statistics are none, or it was shown what it has never seen"
            )
        return actions if self.units is None else self.units.actions(actions)

    def _predict(self, batch: dict[str, Any], seed: int, noise: Tensor | None) -> Tensor:
        torch.manual_seed(seed)
        self.network.reset()  # it keeps queues of its own, for one environment in step
        chosen = {} if noise is None else {"noise": noise}
        predicted: Tensor = self.network.predict_action_chunk(batch, **chosen)
        return predicted

    @property
    def noise_shape(self) -> tuple[int, int] | None:
        """The shape of the noise that a chunk begins from, steps and numbers; None: of none.

        None also where LeRobot does not let it be given.
        """
        config = self.config
        taken = inspect.signature(self.network.predict_action_chunk).parameters.values()
        if not any(each.name == "noise" or each.kind is each.VAR_KEYWORD for each in taken):
            return None
        if hasattr(config, "horizon"):  # a diffusion
            return config.horizon, config.output_features[folder.ACTION].shape[0]
        if hasattr(config, "max_action_dim"):  # a flow, of actions padded to one width
            return config.chunk_size, config.max_action_dim
        return None

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of each action in what it was trained on, (act,).

        Of a normalisation by range, a quarter of it; where there is none, half of [-1, 1].
        """
        (action,) = self.config.output_features[folder.ACTION].shape
        known = _statistics(self.after.steps, folder.ACTION)
        if known is None:
            return np.full(action, 0.5)
        return known[1] if self.units is None else known[1] * self.units.step

    @property
    def familiar(self) -> tuple[FloatArray, FloatArray] | None:
        """The middle and the spread of what it was shown in training, (obs,) each.

        None if its preprocessor has no statistics of it.
        """
        parts = self.parts
        found = [_statistics(self.before.steps, name) for name in parts]
        if not found or slice(None) in parts.values():
            return next(iter(found), None)
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        middles, spreads = zip(*known, strict=True)
        return np.hstack(middles), np.hstack(spreads)

    @property
    def parts(self) -> dict[str, slice]:
        """See `folder.parts`."""
        features = self.config.input_features
        return folder.parts({name: tuple(each.shape) for name, each in features.items()})


def _statistics(steps: Sequence[Any], name: str) -> tuple[FloatArray, FloatArray] | None:
    """The middle and the spread of a feature, by a step that normalises it; None if none does."""
    for step in steps:
        stats = (getattr(step, "stats", None) or {}).get(name, {})
        if {"mean", "std"} <= stats.keys():
            return _array(stats["mean"]), _array(stats["std"])
        if {"min", "max"} <= stats.keys():
            low, high = _array(stats["min"]), _array(stats["max"])
            return (low + high) / 2, (high - low) / 4
    return None


def _require_fractions(network: Any, weights: bytes) -> None:
    """Raise PolicyError for whole or complex numbers where the network has fractions."""
    header = loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    whole = {name for name, about in header.items() if str(about.get("dtype", "F"))[0] in "IUBC"}
    wrong = sorted(
        n for n, v in network.state_dict().items() if n in whole and v.is_floating_point()
    )
    wrong = [name for name in wrong if not header[name]["dtype"].startswith("BF")]
    if wrong:
        kind = "complex" if header[wrong[0]]["dtype"].startswith("C") else "whole"
        raise PolicyError(
            f"{folder.WEIGHTS} has {kind} numbers for {wrong[0]}, and fractions are due"
        )


def _array(values: Any) -> FloatArray:
    return np.asarray(torch.as_tensor(values).cpu().numpy(), np.float64)


def _row(batch: Mapping[str, Any], i: int) -> dict[str, Any]:
    """One row of a batch: tensors and lists have one for each, whatever else is of all."""
    return {
        name: value[i : i + 1] if isinstance(value, Tensor | list) and len(value) > i else value
        for name, value in batch.items()
        if value is not None
    }


@cache
def _import_plugins(path: tuple[str, ...]) -> None:
    """Import policies of others, `lerobot_policy_*`, of an import path.

    Once: LeRobot reads the metadata of every package that is installed, half a second each time.
    """
    from lerobot.utils.import_utils import register_third_party_plugins

    register_third_party_plugins()


@contextlib.contextmanager
def _without_downloads(config: Any) -> Iterator[None]:
    """ACT and Diffusion would fetch weights for their backbones, which the file has in any case."""
    told = getattr(config, BACKBONE, None)
    if told is not None:
        setattr(config, BACKBONE, None)
    try:
        yield
    finally:
        if told is not None:
            setattr(config, BACKBONE, told)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what LeRobot and those below it print and log at every turn."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _blamed(what: str) -> Iterator[None]:
    """Whatever LeRobot raises is a PolicyError; it does so in every way there is."""
    try:
        yield
    except PolicyError:
        raise
    except ImportError as error:
        raise PolicyError(
            f"LeRobot cannot {what} the policy ({error}): pip install 'enpire[vla]'"
        ) from error
    except Exception as error:
        raise PolicyError(f"LeRobot cannot {what} the policy: {_with_its_cause(error)}") from error


def _with_its_cause(error: BaseException) -> str:
    """What went wrong, and what was behind it: a config that cannot be made says only that."""
    texts = [error_text(error)]
    for _ in range(CAUSES):
        cause = error.__cause__ or error.__context__
        if cause is None:
            break
        error = cause
        if (text := error_text(error)) not in texts:
            texts.append(text)
    return ", because of ".join(texts)
