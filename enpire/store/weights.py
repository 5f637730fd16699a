"""Policies as safetensors files, which hold numbers and text and can run nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from enpire.errors import StoreError
from enpire.json_text import loads

if TYPE_CHECKING:
    import torch

Tensors = dict[str, NDArray[Any]]


def _array(name: str, tensor: NDArray[Any] | torch.Tensor) -> NDArray[Any]:
    if isinstance(tensor, np.ndarray):
        return np.asarray(tensor, order="C")
    try:
        return np.asarray(tensor.detach().cpu().numpy(), order="C")
    except TypeError as error:
        raise StoreError(
            f"tensor {name!r} is {tensor.dtype}, which cannot be saved: convert it to float32"
        ) from error


def to_bytes(
    tensors: Mapping[str, NDArray[Any] | torch.Tensor], metadata: Mapping[str, str]
) -> bytes:
    """A safetensors file. Raises StoreError for a type of number that numpy lacks."""
    arrays = {name: _array(name, tensor) for name, tensor in tensors.items()}
    try:
        # With neither, its writer makes a header that its reader refuses.
        return _canonical(save(arrays, metadata=dict(metadata) or None))
    except (KeyError, TypeError, SafetensorError) as error:
        raise StoreError(f"the policy cannot be saved as safetensors: {error}") from error


def _canonical(data: bytes) -> bytes:
    """The same file with the keys of its header in order: its writer takes them as they come.

    So the same weights and metadata are the same bytes, and have one sha256.
    """
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":"))
    text = header.encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path, sha256: str) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of the file that has this hash; StoreError for any other."""
    try:
        found = sha256_of(path)
        if found != sha256:
            raise StoreError(
                f"policy {path} is not what was recorded (its sha256 differs): "
                "replace that file by the one of a copy of the run"
            )
        with safe_open(path, framework="np") as file:
            metadata = dict(file.metadata() or {})
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise StoreError(f"policy {path} cannot be read ({error})") from error
