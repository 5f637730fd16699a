"""Both APIs, each by its real client, against a replayed model on loopback."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enpire.agent_loop import patience
from enpire.agent_loop.chat import Chat
from enpire.agent_loop.conversation import LanguageModel, ModelError, Said, StopReason, Told
from enpire.agent_loop.loop import DECLINED, Bounds, run
from enpire.agent_loop.messages import Messages, gathered
from enpire.agent_loop.patience import Broken, patient
from tests.evolution.replay import Call, Fault, Heard, Replay, Script, Turn, call
from tests.needs import needs

from .few import STATUS, TRAIN, Few, box

needs("anthropic")

MAKE: dict[str, Callable[[str], LanguageModel]] = {
    "messages": lambda url: Messages(url, "m", 1000, "adaptive"),
    "chat": lambda url: Chat(url, "m", 1000, pictures=True),
}
both = pytest.mark.parametrize("api", MAKE)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WAITS_S", (0.01,) * 3)


def scripted(*turns: Turn) -> Script:
    """One turn for each result so far, and for each text that the user adds."""

    def script(heard: Heard) -> Turn:
        said = sum(text.count(DECLINED) for text in heard.texts)
        return turns[len(heard.results) + said]

    return script


def bodies(replay: Replay) -> list[Any]:
    return [json.loads(asked.body) for asked in replay.asked]


STEPS = (
    Turn("Let me see.", (call("status"), call("status"))),
    Turn("", (call("status"),)),
    Turn("", (call("train", why="less"),)),
    Turn("That was it."),
)


def steps(heard: Heard) -> Turn:
    return STEPS[min(len(heard.results), 1) + max(len(heard.results) - 2, 0)]


@both
def test_tools_are_called_and_their_results_told(tmp_path: Path, api: str) -> None:
    few = Few()
    with Replay(steps) as replay:
        assert run(MAKE[api](replay.url), box(few, tmp_path), "go", Bounds()) == (
            "the model has ended"
        )
    assert [name for name, _ in few.called] == ["status"] * 3 + ["train"]
    last = json.dumps(bodies(replay)[-1])
    assert last.count("all is left") == 3
    assert last.count("aGVsbG8=") == 3, "pictures are shown"
    assert last.count("Let me see.") == 1


def test_the_cache_is_marked_and_what_is_before_a_mark_stays(tmp_path: Path) -> None:
    with Replay(steps) as replay:
        run(MAKE["messages"](replay.url), box(Few(), tmp_path), "go", Bounds())
    asked = bodies(replay)
    for body in asked:
        assert body["stream"] is True
        assert body["thinking"] == {"type": "adaptive"}
        assert body["tools"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        marked = [m["content"][-1] for m in body["messages"] if m["role"] == "user"][-2:]
        assert all(block["cache_control"] == {"type": "ephemeral"} for block in marked)
        assert json.dumps(body).count('"cache_control"') <= 4, "what the API allows"
    for before, after in itertools.pairwise(asked):
        first, second = (_unmarked(each["messages"]) for each in (before, after))
        assert second.startswith(first[:-1])


def _unmarked(messages: Any) -> str:
    return json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', "")


@both
@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_waited_out(tmp_path: Path, api: str, fault: Fault) -> None:
    few = Few()
    with Replay(steps, [None, fault]) as replay:
        run(MAKE[api](replay.url), box(few, tmp_path), "go", Bounds())
    assert [name for name, _ in few.called] == ["status"] * 3 + ["train"], "each once"
    assert len(replay.asked) == 5


@both
def test_a_refusal_is_told_and_left_out(tmp_path: Path, api: str) -> None:
    few = Few()
    turns = (Turn("I will not.", refused=True), Turn("", (call("train", why="x"),)), Turn("End."))
    with Replay(scripted(*turns)) as replay:
        run(MAKE[api](replay.url), box(few, tmp_path), "go", Bounds())
    assert "I will not" not in json.dumps(bodies(replay)[-1])
    assert [name for name, _ in few.called] == ["train"]


@both
def test_an_input_that_is_no_json_is_told(tmp_path: Path, api: str) -> None:
    few = Few()
    turns = (
        Turn("", (Call("train", '{"why": "a'),)),
        Turn("", (call("train", why="b"),)),
        Turn("."),
    )
    with Replay(scripted(*turns)) as replay:
        run(MAKE[api](replay.url), box(few, tmp_path), "go", Bounds())
    assert few.called == [("train", {"why": "b"})]
    assert "is no JSON object" in json.dumps(bodies(replay)[1]["messages"][-1])


@both
def test_what_is_refused_says_why(tmp_path: Path, api: str) -> None:
    with Replay(steps) as replay, pytest.raises(ModelError, match=r"404.*not here"):
        MAKE[api](replay.url + "/elsewhere").ask((TRAIN, STATUS), [Told("go")])


def test_a_model_that_is_busy_for_ever_is_given_up() -> None:
    waits: list[float] = []

    def ask() -> Said:
        raise Broken("busy", 7.0)

    with pytest.raises(ModelError, match="busy"):
        patient(ask, waits.append)
    assert waits == [7.0] * 3


def test_thoughts_go_back_as_they_came() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    said = gathered(
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
            {"type": "content_block_start", "index": 0, "content_block": thought},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "max_tokens"},
                "usage": {"output_tokens": 7},
            },
            {"type": "message_stop"},
        ]
    )
    assert said.raw == ({"type": "thinking", "thinking": "hm", "signature": "s"},)
    assert (said.stop, said.tokens) == (StopReason.LENGTH, 12)
