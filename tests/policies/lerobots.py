"""Small policies of LeRobot's with random weights, saved as LeRobot saves them. No hub is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enpire.policies.lerobot.blank import SIZES, backbone
from enpire.policies.lerobot.model import quiet

TINY = SIZES["tiny"]
SMALL: dict[str, dict[str, Any]] = {
    "act": {
        "dim_model": 32,
        "n_heads": 2,
        "dim_feedforward": 64,
        "n_encoder_layers": 1,
        "chunk_size": 6,
        "n_action_steps": 4,
        "n_vae_encoder_layers": 1,
        "latent_dim": 8,
    },
    "diffusion": {
        "horizon": 8,
        "n_action_steps": 4,
        "n_obs_steps": 2,
        "down_dims": (16, 32),
        "num_train_timesteps": 4,
        "diffusion_step_embed_dim": 16,
        "n_groups": 4,
    },
    "smolvla": {**TINY.policy, "empty_cameras": 1, "load_vlm_weights": False},
}


SEES: dict[str, dict[str, Any]] = {
    "act": {"pretrained_backbone_weights": None},
    "diffusion": {
        "pretrained_backbone_weights": None,
        "use_group_norm": True,
        "spatial_softmax_num_keypoints": 4,
    },
    "smolvla": {},
}


def folder_of(
    kind: str,
    path: Path,
    observation: int,
    action: int,
    cameras: tuple[str, ...] = (),
    size: int = 64,
    environment: int = 0,
    **config: Any,
) -> Path:
    """A folder of a policy of this `kind`: config, weights and processors.

    cameras: that it sees by, in pictures of `size`; the state is not an environment's then.
    environment: entries of an environment's state, where they are not the same `observation`.
    """
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import (
        get_policy_class,
        make_policy_config,
        make_pre_post_processors,
    )

    wanted: dict[str, Any] = {**SMALL[kind], "device": "cpu", "push_to_hub": False, **config}
    if kind == "smolvla":
        wanted["vlm_model_name"] = str(backbone(path.parent / "vlm", TINY))
    wanted["input_features"] = {
        "observation.state": PolicyFeature(FeatureType.STATE, (observation,)),
    }
    if cameras:
        wanted = SEES[kind] | wanted
        wanted["input_features"] |= {
            f"observation.images.{camera}": PolicyFeature(FeatureType.VISUAL, (3, size, size))
            for camera in cameras
        }
    else:
        wanted["input_features"]["observation.environment_state"] = PolicyFeature(
            FeatureType.ENV, (environment or observation,)
        )
    wanted["output_features"] = {"action": PolicyFeature(FeatureType.ACTION, (action,))}
    torch.manual_seed(0)
    with quiet():
        made = make_policy_config(kind, **wanted)
        policy = get_policy_class(kind)(made)
        before, after = make_pre_post_processors(
            made, dataset_stats=statistics(observation, action, cameras, environment)
        )
        for each in (policy, before, after):
            each.save_pretrained(path)
    return path


def statistics(
    observation: int, action: int, cameras: tuple[str, ...] = (), environment: int = 0
) -> dict[str, dict[str, torch.Tensor]]:
    """Of a data set that never was."""
    rng = np.random.default_rng(0)
    sizes = {
        "observation.state": observation,
        "observation.environment_state": environment or observation,
        "action": action,
    }
    pictures = {
        f"observation.images.{camera}": {
            "mean": torch.full((3, 1, 1), 0.4),
            "std": torch.full((3, 1, 1), 0.3),
            "min": torch.zeros(3, 1, 1),
            "max": torch.ones(3, 1, 1),
        }
        for camera in cameras
    }
    return pictures | {
        name: {
            "mean": torch.from_numpy(rng.normal(0, 0.1, n)).float(),
            "std": torch.from_numpy(rng.uniform(0.3, 0.6, n)).float(),
            "min": torch.full((n,), -1.0),
            "max": torch.ones(n),
        }
        for name, n in sizes.items()
    }


def changed(path: Path, **values: Any) -> Path:
    """The folder at `path`, with these values in its config."""
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | values))
    return path
