"""The loop: ask the model, carry out its calls, tell it what came of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from enpire.agent_loop.conversation import (
    LanguageModel,
    ModelError,
    Said,
    StopReason,
    Told,
    TooLong,
    ToolResult,
    Turn,
    added,
    shortened,
)
from enpire.agent_loop.toolbox import Toolbox

REFUSALS = 3  # in a row, then it is over
SHORTENINGS = 4  # of what the model does not take
BEGINS = ("train", "propose_merge")  # an experiment
DONE = ("done",)  # a draft
CUT_OFF = (
    "Your answer was cut off at its greatest length. Say less at once: write long files in parts."
)
DECLINED = (
    "Your answer was stopped as a refusal, and is left out. The task is a policy for a robot, in "
    "simulation or in a workcell. Go on with it another way, or end."
)
NUDGE = (
    "You have ended without an experiment. If anything may begin yet (`status` says so), state a "
    "hypothesis and ask for one with `train`; otherwise end again."
)
UNDONE = (
    "You have ended, and the task is not done: `done` has not taken it. Go on until it does. If it "
    "cannot be done, say why, and end again."
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """turns: answers of the model. context: tokens of a conversation, then it is shortened."""

    turns: int = 300
    context: int = 120_000


def run(
    model: LanguageModel,
    tools: Toolbox,
    prompt: str,
    bounds: Bounds,
    note: Callable[[dict[str, object]], None] = lambda said: None,
) -> str:
    """Returns why it has ended. note: is given each answer and each result, in short.

    Raises:
        ModelError: the model cannot be asked, or refuses and refuses.
        Gone: the campaign has ended.
    """
    turns: list[Turn] = [Told(prompt)]
    drafting = any(tool.name in DONE for tool in tools.tools)
    awaited, nudge = (DONE, UNDONE) if drafting else (BEGINS, NUDGE)
    began, nudged, refusals = False, False, 0
    for number in range(1, bounds.turns + 1):
        said, turns = _ask(model, tools, turns)
        _note(note, number, said)
        if said.stop is StopReason.REFUSED:
            refusals += 1
            if refusals == REFUSALS:
                raise ModelError(f"the model refused {REFUSALS} times in a row")
            turns = added(turns, DECLINED)
            continue
        refusals = 0
        if said.text or said.calls:
            turns.append(said)
        results = []
        for call in said.calls:
            result = tools.call(call, cut=said.stop is StopReason.LENGTH)
            began = began or (call.name in awaited and not result.wrong)
            results.append(result)
        if results or said.stop is StopReason.LENGTH:
            text = CUT_OFF if said.stop is StopReason.LENGTH else ""
            turns = added(turns, text, tuple(results))
            _note_results(note, results)
        elif not began and not nudged:
            nudged = True
            turns = added(turns, nudge)
        else:
            return "the model has ended"
        if said.tokens > bounds.context:
            turns = shortened(turns)
    return f"it had its {bounds.turns} turns"


def _ask(model: LanguageModel, tools: Toolbox, turns: list[Turn]) -> tuple[Said, list[Turn]]:
    """The answer, and the turns that it answers: shorter ones if these are too long."""
    for _ in range(SHORTENINGS):
        try:
            return model.ask(tools.tools, turns), turns
        except TooLong:
            turns = shortened(turns)
    return model.ask(tools.tools, turns), turns


def _note(note: Callable[[dict[str, object]], None], number: int, said: Said) -> None:
    calls = [f"{call.name} {call.arguments}" for call in said.calls]
    note({"turn": number, "text": said.text, "calls": calls, "stop": said.stop})


def _note_results(note: Callable[[dict[str, object]], None], results: list[ToolResult]) -> None:
    note({"results": [("error: " if each.wrong else "") + each.text[:400] for each in results]})
