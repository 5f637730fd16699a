"""A GPU that is not there: tensors of the processor that say they are on one, and must not mix.

What is asked of PyTorch within `elsewhere` is computed as ever, and each tensor is remembered to be
here or there: by whether it was sent there, made there, or made of what is there. An operation on
both raises, as on a GPU. So a training that comes to its end has crossed at the borders, and what
it came to must be what it comes to without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter, tree_map_only

from enpire.improvement import behaviour_cloning, sac, value

HERE, THERE = torch.device("cpu"), torch.device("cuda", 0)
TAG = "_there"
MOVES = {Tensor.to, Tensor.cpu}
COPIES = {  # where both may meet, and the result is where the first was
    Tensor.copy_,
    Tensor.__deepcopy__,
    Tensor.__getitem__,
    Tensor.data.__set__,  # type: ignore[attr-defined]
    torch._has_compatible_shallow_copy_type,
}


def there(tensor: Tensor) -> bool:
    """Whether it was remembered to be on the GPU."""
    return TAG in tensor.__dict__


def _put(tensor: Tensor, on: bool) -> Tensor:
    if on:
        tensor.__dict__[TAG] = True
    else:
        tensor.__dict__.pop(TAG, None)
    return tensor


class _Mode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = [each for each in tree_iter((args, kwargs)) if isinstance(each, Tensor)]
        if func == Tensor.device.__get__:  # type: ignore[attr-defined]
            return THERE if there(given[0]) else HERE
        if func in MOVES:
            return _sent(func, args, kwargs)
        made_there = kwargs.get("device") is not None and torch.device(kwargs["device"]) == THERE
        if made_there:
            kwargs["device"] = HERE
        whole = [each for each in given if each.dim()]
        if func not in COPIES and len({there(each) for each in whole}) > 1:
            raise RuntimeError(f"{func} of tensors on two devices")
        result = func(*args, **kwargs)
        if func == Tensor.data.__set__:  # type: ignore[attr-defined]
            _put(args[0], there(args[1]))
        on = made_there or (there(given[0]) if func in COPIES else any(map(there, given)))
        if func is Tensor.tolist or not on:
            return result
        return tree_map_only(Tensor, lambda each: _put(each, True), result)


def _sent(func: Any, args: Any, kwargs: Any) -> Tensor:
    """`tensor.to(device or another tensor, ...)`, and `tensor.cpu()`, without leaving."""
    tensor, *rest = args
    on, dtype = there(tensor), kwargs.get("dtype")
    if func is Tensor.cpu:
        on = False
    for each in rest:
        if isinstance(each, Tensor):
            on, dtype = there(each), each.dtype
        elif isinstance(each, torch.dtype):
            dtype = each
        elif isinstance(each, torch.device | str):
            on = torch.device(each).type == "cuda"
    same = {k: v for k, v in kwargs.items() if k in ("copy", "memory_format")}
    moved: Tensor = Tensor.to(tensor, dtype or tensor.dtype, **same)
    if moved is tensor and on != there(tensor):
        moved = tensor.view_as(tensor)
    return _put(moved, on)


def _deepcopied(values: nn.Parameter, memo: dict[int, Any]) -> nn.Parameter:
    copied = nn.Parameter(values.data.clone(), values.requires_grad)
    memo[id(values)] = _put(copied, there(values))
    return copied


@contextmanager
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Networks learn on a GPU that is not there, in single precision."""
    for module in (sac, behaviour_cloning, value):
        monkeypatch.setattr(module, "device", lambda: THERE)
    monkeypatch.setattr(
        behaviour_cloning, "mixed", lambda where: torch.autocast("cpu", enabled=False)
    )
    monkeypatch.setattr(nn.Parameter, "__deepcopy__", _deepcopied)
    with monkeypatch.context(), _Mode():
        yield
