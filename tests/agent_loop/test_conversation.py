"""A conversation stays short, and whole: each result behind its call."""

from __future__ import annotations

from dataclasses import replace

from enpire.agent_loop.conversation import (
    FORGOTTEN,
    RECENT,
    Said,
    Told,
    ToolCall,
    ToolResult,
    Turn,
    added,
    shortened,
)

from .few import PNG


def conversation(exchanges: int, argument: str, results: tuple[ToolResult, ...]) -> list[Turn]:
    turns: list[Turn] = [Told("the prompt")]
    for i in range(exchanges):
        turns.append(Said("", (ToolCall(f"c{i}", "t", argument),)))
        turns.append(Told("", tuple(replace(each, call=f"c{i}") for each in results)))
    return turns


def test_old_results_are_left_out_and_the_last_are_not() -> None:
    turns = conversation(20, "", (ToolResult("", "x" * 5000, pictures=(PNG,)),))
    short = shortened(turns)
    assert len(short) == len(turns)
    told = [turn for turn in short if isinstance(turn, Told) and turn.results]
    stripped = [turn.results[0] for turn in told if len(turn.results[0].text) < 100]
    assert "5000 characters" in stripped[0].text
    assert not any(result.pictures for result in stripped)
    assert len(told) - len(stripped) == RECENT // 2
    assert short[-RECENT:] == turns[-RECENT:]


def test_where_results_are_little_the_oldest_turns_go_in_pairs() -> None:
    turns = conversation(20, "x" * 5000, (ToolResult("", "done"),))
    for _ in range(12):
        short = shortened(turns)
        assert len(short) < len(turns) or len(turns) < 4
        turns = short
        first = turns[0]
        assert isinstance(first, Told)
        assert first.text == "the prompt" + FORGOTTEN
        for said, told in zip(turns[1::2], turns[2::2], strict=True):
            assert isinstance(said, Said)
            assert isinstance(told, Told)
            assert told.results[0].call == said.calls[0].id


def test_what_is_told_twice_in_a_row_is_one_turn() -> None:
    turns = added([Told("a", (ToolResult("c", "r"),))], "b")
    assert turns == [Told("a\n\nb", (ToolResult("c", "r"),))]
    assert added([Told("a"), Said("s")], "b") == [Told("a"), Said("s"), Told("b")]
