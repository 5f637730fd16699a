"""Answers what `enpire` asks of an environment, until it asks no more."""

from __future__ import annotations

import os
import traceback
from typing import Any, BinaryIO

from .making import make
from .messages import receive, send
from .words import Misfit, Unsuitable, printable

CALLS = 3  # of a traceback, the last


def serve(
    asked: BinaryIO, answers: BinaryIO, task: str, stations: int, key: str, script: str = ""
) -> None:
    """Answer until the other side closes.

    Asked are `seeds`, a list of [station, seed], `rows`, the stations that step the rows of the
    array, and which of them are `scripted`. Answered are `told`, a list of what came of
    each, in that order, for the scripted with what the script would do next, and what they see.
    """
    mine = os.getpid()

    def answer(told: dict[str, Any], array: Any = ()) -> None:
        if os.getpid() != mine:  # a fork that its environment left behind: one has to answer
            os._exit(0)
        send(answers, told, array)

    try:
        environment = make(task, stations, key, script)
        answer(environment.about)
        while (message := receive(asked)) is not None:
            ask, array = message
            seeds, rows = dict(ask["seeds"]), ask["rows"]
            chosen = array.reshape(len(rows), environment.about["action"])
            came = environment.tick(seeds, {row: chosen[i] for i, row in enumerate(rows)})
            for row in ask["scripted"]:
                told = came[row][0]
                if not any(told.get(end) for end in ("wrong", "terminated", "truncated")):
                    told["suggested"] = environment.suggest(row).tolist()
                    told["script"] = environment.script.found
            each = [came[row] for row in (*seeds, *rows)]
            answer({"told": [what for what, _ in each]}, [seen for _, seen in each])
        environment.close()
    except Exception as error:
        answer(failed(error))


def failed(error: Exception) -> dict[str, Any]:
    """The message that says an environment raised."""
    if isinstance(error, Unsuitable):
        return {"unsuitable": str(error)}
    if isinstance(error, Misfit):
        return {"raised": str(error)}
    frames = traceback.extract_tb(error.__traceback__)
    try:
        why = str(error)
    except Exception:
        why = "an error that does not say what it is"
    place = f"({frames[-1].filename}:{frames[-1].lineno})"
    text = f"{type(error).__name__}: {printable(why)} {place}"
    if not why:  # an assertion says where it was, and no more
        calls = [f"{frame.filename}:{frame.lineno} {frame.line}" for frame in frames[-CALLS:]]
        text = f"{type(error).__name__} at {', from '.join(reversed(calls))}"
    return {"raised": f"raised {printable(text)}"}
