"""What any verb is given: numbers below nought, none, endless, too long; nothing at all."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.cli import main
from enpire.cli.options.parser import Parser
from enpire.cli.verbs import VERBS
from enpire.errors import UsageError
from enpire.option_values import LARGEST, MOST

TEXT = ("str", "Path")  # what these read is no number
BELOW = ("-1", "-0.5")
ODD = (*BELOW, "-1h", "nan", "inf", "-inf", "1e999", "9" * 400)
ABSURD = ("9000000000000000000", str(MOST + 1))  # of what is counted
UNCOUNTED = {"seed_number", "tokens"}
SIGNED = {"any_number"}  # an angle, a height, a time before the beginning


def options() -> Iterator[tuple[str, argparse.Action]]:
    """Each option with a reader of its own, and its verb."""
    for verb, (module, _) in VERBS.items():
        parser = Parser(f"enpire {verb}", "")
        importlib.import_module(f"enpire.cli.{module}").add_options(parser)
        for action in parser._actions:
            if action.type is not None and getattr(action.type, "__name__", "") not in TEXT:
                yield verb, action


OPTIONS = [
    pytest.param(action, id=f"{verb} {(action.option_strings or [action.dest])[0]}")
    for verb, action in options()
]


@pytest.mark.parametrize("action", OPTIONS)
def test_what_no_option_takes(action: argparse.Action) -> None:
    read = action.type
    assert callable(read)
    for text in ODD:
        if text in BELOW and read.__name__ in SIGNED:
            assert read(text) < 0
            continue
        with pytest.raises(argparse.ArgumentTypeError) as error:
            read(text)
        assert len(str(error.value)) < 600


@pytest.mark.parametrize("action", OPTIONS)
@pytest.mark.parametrize("text", ABSURD)
def test_no_count_is_absurd(text: str, action: argparse.Action) -> None:
    read = action.type
    assert callable(read)
    value: object = 0.0
    with contextlib.suppress(argparse.ArgumentTypeError):
        value = read(text)
    assert isinstance(value, float) or read.__name__ in UNCOUNTED


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="0123456789.-+einfa_hms \x00٣½", max_size=12))
def test_any_text_is_a_number_in_range_or_a_sentence(text: str) -> None:
    for _, action in options_once():
        assert callable(action.type)
        try:
            value = action.type(text)
        except argparse.ArgumentTypeError:
            continue
        if isinstance(value, int | float):
            assert math.isfinite(value)
            assert abs(value) <= LARGEST or action.type.__name__ in SIGNED | {"more_than_zero"}
            assert value >= 0 or action.type.__name__ in SIGNED


def options_once() -> list[tuple[str, argparse.Action]]:
    """One option of each reader."""
    return list({action.type: (verb, action) for verb, action in FOUND}.values())


FOUND = list(options())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["loop", "--max-time", "0"], "'0' is no duration"),
        (["loop", "--max-time", "-5m"], "--max-time"),
        (["loop", "--max-rounds", "-1"], "-1 is too few"),
        (["loop", "--images", "-64"], "too few"),
        (["loop", "--target", "99"], "99 is no success rate"),
        (["loop", "--robots", "0"], "0 is too few"),
        (["eval", "--policy", "random", "--seed", "-1"], "-1 is too few"),
        (["eval", "--policy", "random", "--episodes", "1.5"], "no whole number"),
        (["dash", "--port", "70000", "x"], "70000 is no port"),
        (["serve", "policy", "x", "--port", "-1"], "too few"),
        (["render", "zip_tie", "x.png", "--azimuth", "nan"], "give a finite number"),
        (["eval", "--policy", "random", "--task", ""], "--task is given nothing"),
        (["campaign", "--agents="], "--agents is given nothing"),
        (["show", " "], "enpire show is given nothing"),
        (["bench", "recipes", "--seeds", "0,-1"], "whole numbers"),
    ],
)
def test_the_command_says_so(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == UsageError.exit_code
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
