"""A SmolVLA that knows nothing: random weights in a network built from numbers, without a hub.

For measuring how quickly one acts and learns, which does not depend on what it knows, and for
tests. Its tokenizer knows a few words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from enpire.policies.lerobot.folder import ACTION, PICTURES, STATE
from enpire.policies.lerobot.model import quiet

TOLD = "pick up the cube"  # what it has words for


@dataclass(frozen=True, slots=True)
class Size:
    """How large a blank backbone is, as transformers' configs call things."""

    text: Mapping[str, int]  # of the backbone's part for text
    vision: Mapping[str, int]  # of its part for pictures
    scale: int  # by how much its pictures' patches are joined, along both sides
    pixels: int  # of each picture it is given
    policy: Mapping[str, Any]  # settings of LeRobot's config that are not its own


SIZES = {
    "tiny": Size(
        text={
            "hidden_size": 32,
            "intermediate_size": 64,
            "head_dim": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
        },
        vision={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
        },
        scale=2,
        pixels=64,
        policy={
            "chunk_size": 6,
            "n_action_steps": 4,
            "max_state_dim": 16,
            "max_action_dim": 8,
            "num_steps": 2,
            "resize_imgs_with_padding": (32, 32),
            "num_vlm_layers": 2,
            "num_expert_layers": 2,
            "expert_width_multiplier": 1.0,
            "tokenizer_max_length": 12,
        },
    ),
    # SmolVLM2-500M-Video-Instruct's widths, of whose layers LeRobot's own settings take 16.
    "full": Size(
        text={
            "hidden_size": 960,
            "intermediate_size": 2560,
            "head_dim": 64,
            "num_hidden_layers": 32,
            "num_attention_heads": 15,
            "num_key_value_heads": 5,
            "max_position_embeddings": 8192,
            "vocab_size": 49280,
        },
        vision={
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "image_size": 512,
            "patch_size": 16,
        },
        scale=4,
        pixels=256,
        policy={},
    ),
}


def smolvla(path: Path, size: Size, observation: int, action: int, cameras: Sequence[str]) -> Path:
    """Write its folder, as LeRobot does; its backbone's config lies beside it and must stay.

    observation, action: entries of its state and of an action, normalised by nothing.
    """
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import (
        get_policy_class,
        make_policy_config,
        make_pre_post_processors,
    )

    side = size.pixels
    seen = {PICTURES + camera: (3, side, side) for camera in cameras}
    plain = {
        name: {"mean": torch.zeros(n), "std": torch.ones(n)}
        for name, n in ((STATE, observation), (ACTION, action))
    }
    torch.manual_seed(0)
    with quiet():
        config = make_policy_config(
            "smolvla",
            **size.policy,
            device="cpu",
            push_to_hub=False,
            load_vlm_weights=False,
            vlm_model_name=str(backbone(path.with_name("vlm"), size)),
            input_features={
                STATE: PolicyFeature(FeatureType.STATE, (observation,)),
                **{name: PolicyFeature(FeatureType.VISUAL, shape) for name, shape in seen.items()},
            },
            output_features={ACTION: PolicyFeature(FeatureType.ACTION, (action,))},
        )
        network = get_policy_class("smolvla")(config)
        for each in (network, *make_pre_post_processors(config, dataset_stats=plain)):
            each.save_pretrained(path)
    return path


def backbone(path: Path, size: Size) -> Path:
    """The vision-language model that a SmolVLA takes its shape and tokenizer from."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        Idefics3ImageProcessor,
        PreTrainedTokenizerFast,
        SmolVLMConfig,
        SmolVLMProcessor,
        SmolVLMVideoProcessor,
    )

    words = ["<pad>", "<unk>", *TOLD.split(), "\n"]
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
    text = {"model_type": "llama", "vocab_size": len(vocabulary), "pad_token_id": 0, **size.text}
    patches = size.vision["image_size"] // size.vision["patch_size"] // size.scale
    config = SmolVLMConfig(
        text_config=text,
        vision_config=dict(size.vision),
        scale_factor=size.scale,
        pad_token_id=0,
        image_token_id=vocabulary["<image>"],
    )
    path.mkdir(parents=True, exist_ok=True)
    with quiet():
        config.save_pretrained(path)
        SmolVLMProcessor(
            Idefics3ImageProcessor(),
            tokenizer,
            SmolVLMVideoProcessor(),
            image_seq_len=patches * patches,
        ).save_pretrained(path)
    return path
