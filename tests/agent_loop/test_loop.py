"""The loop, with a model that answers from a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enpire.agent_loop.conversation import (
    ModelError,
    Said,
    StopReason,
    Told,
    Tool,
    ToolCall,
    TooLong,
)
from enpire.agent_loop.loop import CUT_OFF, DECLINED, NUDGE, REFUSALS, UNDONE, Bounds, run

from .few import STATUS, Few, Listed, box, calling

TRAIN = Said("", (calling("train", why="less is enough"),))
END = Said("That was it.")
REFUSED = Said("", stop=StopReason.REFUSED)


def ran(model: Listed, root: Path, few: Few | None = None, bounds: Bounds | None = None) -> str:
    return run(model, box(few or Few(), root), "go", bounds or Bounds())


def told(model: Listed) -> Told:
    """The last that a model was told."""
    last = model.asked[-1][-1]
    assert isinstance(last, Told)
    return last


def test_calls_are_carried_out_until_the_model_ends(tmp_path: Path) -> None:
    few, model = Few(), Listed(TRAIN, END)
    assert ran(model, tmp_path, few) == "the model has ended"
    assert few.called == [("train", {"why": "less is enough"})]
    assert told(model).results[0].text == "it began"


def test_who_ends_without_an_experiment_is_asked_for_one_once(tmp_path: Path) -> None:
    model = Listed(Said("", (calling("status"),)), END, END)
    assert ran(model, tmp_path) == "the model has ended"
    assert told(model) == Told(NUDGE)


def test_an_experiment_that_was_no_call_does_not_count(tmp_path: Path) -> None:
    few, model = Few(), Listed(Said("", (ToolCall("c", "train", '{"why": '),)), END, TRAIN, END)
    assert ran(model, tmp_path, few) == "the model has ended"
    assert len(few.called) == 1
    assert "is no JSON object" in model.asked[1][-1].results[0].text  # type: ignore[union-attr]


def test_who_drafts_is_asked_to_go_on_until_it_is_done(tmp_path: Path) -> None:
    few = Few()
    few.tools = (STATUS, Tool("done", "It is finished.", {"properties": {}}))
    model = Listed(Said("all right"), Said("", (calling("done"),)), Said("that was it"))
    assert run(model, box(few, tmp_path), "go", Bounds()) == "the model has ended"
    assert model.asked[1][-1] == Told(UNDONE)
    assert len(model.asked) == 3


def test_a_refusal_is_left_out_and_the_model_told(tmp_path: Path) -> None:
    model = Listed(REFUSED, TRAIN, END)
    assert ran(model, tmp_path) == "the model has ended"
    assert model.asked[1] == [Told(f"go\n\n{DECLINED}")]


def test_who_refuses_and_refuses_is_asked_no_more(tmp_path: Path) -> None:
    model = Listed(*[REFUSED] * (REFUSALS + 1))
    with pytest.raises(ModelError, match="refused"):
        ran(model, tmp_path)
    assert len(model.asked) == REFUSALS


def test_an_answer_that_was_cut_off_is_told_so(tmp_path: Path) -> None:
    half = Said("", (ToolCall("c", "write_file", '{"path": "a", "te'),), StopReason.LENGTH)
    model = Listed(half, TRAIN, END)
    ran(model, tmp_path)
    (turn,) = [turn for turn in model.asked[1][-1:] if isinstance(turn, Told)]
    assert turn.text == CUT_OFF
    assert "write less at once" in turn.results[0].text
    assert not (tmp_path / "a").exists()


def test_an_answer_without_anything_is_no_turn(tmp_path: Path) -> None:
    model = Listed(Said("", stop=StopReason.LENGTH), TRAIN, END)
    ran(model, tmp_path)
    assert model.asked[1] == [Told(f"go\n\n{CUT_OFF}")]


def test_it_ends_after_its_turns(tmp_path: Path) -> None:
    assert "2 turns" in ran(Listed(TRAIN, TRAIN, TRAIN), tmp_path, bounds=Bounds(turns=2))


@pytest.mark.parametrize("counted", [True, False], ids=["by its own count", "by the API's word"])
def test_a_long_conversation_is_shortened(tmp_path: Path, counted: bool) -> None:
    few = Few("x" * 9000)
    look = Said("", (calling("status"),), tokens=40)
    last = replace(look, tokens=60) if counted else TooLong("too long")
    model = Listed(*[look] * 12, last, TRAIN, END)
    ran(model, tmp_path, few, Bounds(context=50))
    first = model.asked[-1][2]
    assert isinstance(first, Told)
    assert "left out: 9000" in first.results[0].text


def test_what_never_fits_ends(tmp_path: Path) -> None:
    with pytest.raises(TooLong):
        ran(Listed(*[TooLong("too long")] * 9), tmp_path)
