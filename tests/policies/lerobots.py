"""Small policies of LeRobot's with random weights, saved as LeRobot saves them. No hub is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enpire.policies.lerobot.model import quiet

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
    "smolvla": {
        "chunk_size": 6,
        "n_action_steps": 4,
        "max_state_dim": 16,
        "max_action_dim": 8,
        "num_steps": 2,
        "empty_cameras": 1,
        "resize_imgs_with_padding": (32, 32),
        "load_vlm_weights": False,
        "num_vlm_layers": 2,
        "num_expert_layers": 2,
        "expert_width_multiplier": 1.0,
        "train_expert_only": True,
        "tokenizer_max_length": 12,
    },
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
    **config: Any,
) -> Path:
    """A folder of a policy of this `kind`: config, weights and processors.

    cameras: that it sees by, in pictures of `size`; the state is not an environment's then.
    """
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import (
        get_policy_class,
        make_policy_config,
        make_pre_post_processors,
    )

    wanted: dict[str, Any] = {**SMALL[kind], "device": "cpu", "push_to_hub": False, **config}
    if kind == "smolvla":
        wanted["vlm_model_name"] = str(backbone(path.parent / "vlm"))
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
            FeatureType.ENV, (observation,)
        )
    wanted["output_features"] = {"action": PolicyFeature(FeatureType.ACTION, (action,))}
    torch.manual_seed(0)
    with quiet():
        made = make_policy_config(kind, **wanted)
        policy = get_policy_class(kind)(made)
        before, after = make_pre_post_processors(
            made, dataset_stats=statistics(observation, action, cameras)
        )
        for each in (policy, before, after):
            each.save_pretrained(path)
    return path


def statistics(
    observation: int, action: int, cameras: tuple[str, ...] = ()
) -> dict[str, dict[str, torch.Tensor]]:
    """Of a data set that never was."""
    rng = np.random.default_rng(0)
    sizes = {
        "observation.state": observation,
        "observation.environment_state": observation,
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


def backbone(path: Path) -> Path:
    """A vision-language model of two layers that SmolVLA takes its shape and tokenizer from."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        Idefics3ImageProcessor,
        PreTrainedTokenizerFast,
        SmolVLMConfig,
        SmolVLMProcessor,
        SmolVLMVideoProcessor,
    )

    words = ["<pad>", "<unk>", "pick", "up", "the", "cube", "\n"]
    special = {
        "fake_image_token": "<fake_token_around_image>",
        "image_token": "<image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }
    vocabulary = {word: i for i, word in enumerate([*words, *special.values()])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens=special,
    )
    text = {
        "model_type": "llama",
        "hidden_size": 32,
        "intermediate_size": 64,
        "head_dim": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": len(vocabulary),
        "pad_token_id": 0,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    config = SmolVLMConfig(
        text_config=text, vision_config=vision, scale_factor=2, pad_token_id=0, image_token_id=8
    )
    path.mkdir(parents=True, exist_ok=True)
    with quiet():
        config.save_pretrained(path)
        SmolVLMProcessor(
            Idefics3ImageProcessor(), tokenizer, SmolVLMVideoProcessor(), image_seq_len=4
        ).save_pretrained(path)
    return path


def changed(path: Path, **values: Any) -> Path:
    """The folder at `path`, with these values in its config."""
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | values))
    return path
