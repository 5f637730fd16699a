"""A GL that draws nothing, and one that ends the process, are told."""

from __future__ import annotations

import pytest

from enpire.observe.machine import CheckState, children, graphics
from enpire.observe.machine.children import run_apart


def test_a_child_says_how_it_ended() -> None:
    assert run_apart("print('a'); print('b')") == (True, "b")
    assert run_apart("raise SystemExit('draws nothing')") == (False, "draws nothing")
    assert run_apart("import os; os.abort()") == (False, "exit code -6")


def test_a_child_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "PATIENCE_S", 0.1)
    assert run_apart("import time; time.sleep(60)") == (False, "no answer within 0.1 s")


def test_a_gl_that_does_not_draw_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphics, "DRAW", "import os; os.abort()")
    check = graphics.opengl()
    assert check.state is CheckState.BAD
    assert "libegl1" in check.remedy


def test_a_gpu_that_torch_cannot_use_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert graphics.gpu().state is CheckState.NOTE
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/nvidia-smi")
    assert graphics.gpu().state is CheckState.BAD
