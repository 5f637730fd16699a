"""Where networks learn: what is named, what there is, and what runs in bfloat16 there."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from enpire.errors import UsageError
from enpire.policies import device as module
from enpire.policies.device import VARIABLE, WORTH, compiled, device, mixed

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def machine(monkeypatch: pytest.MonkeyPatch, gpus: int) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)


def test_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 0)
    assert device() == CPU
    machine(monkeypatch, 2)
    assert device() == CUDA


def test_who_names_one_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 2)
    for named in ("cpu", "cuda", "cuda:1"):
        monkeypatch.setenv(VARIABLE, named)
        assert device() == torch.device(named)


@pytest.mark.parametrize("named", ["gpu", "cuda:", "cuda:2", "cuda:-1", "cpu:1", "mps", "cuda:x"])
def test_what_is_not_there_is_refused(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 2)
    monkeypatch.setenv(VARIABLE, named)
    with pytest.raises(UsageError, match=f"{VARIABLE}={named}"):
        device()


def test_a_processor_stays_in_single_precision() -> None:
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)
    with mixed(CPU):
        assert torch.equal(layer(x), layer(x).float())
        assert layer(x).dtype == torch.float32


def test_only_a_gpu_that_computes_in_it_has_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    for able in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: able)  # noqa: B023
        context = mixed(CUDA)
        assert context._enabled is able
        assert context.fast_dtype == torch.bfloat16


def test_compiled_are_long_trainings_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda self: done.append(self))
    monkeypatch.setattr(torch._dynamo.config, "suppress_errors", False)
    network = nn.Linear(1, 1)
    compiled(network, CPU, WORTH)
    compiled(network, CUDA, WORTH - 1)
    assert not done
    compiled(network, CUDA, WORTH)
    assert done == [network]
    assert module.torch._dynamo.config.suppress_errors
