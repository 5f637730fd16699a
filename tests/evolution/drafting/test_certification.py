"""What a sandboxed examination prints is held against what the harness knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from enpire.evolution.drafting.certification import (
    NEEDED,
    certify,
    check,
    picture,
    pictured,
    printed,
)
from enpire.evolution.drafting.extraction import DraftError
from enpire.evolution.drafting.sandboxed_commands import DraftBench, DraftTrial
from enpire.packs.finder import CERTIFICATE, DRAFTED
from enpire.sandbox.sandbox import CommandResult

from .scripted import NAME, PNG, Judge, examined, hashed

FILES = {"task.py": b"good", DRAFTED: b"", "README.md": b"what it is"}


class Says(DraftBench):
    """A bench whose runs all end like this."""

    def __init__(self, ended: CommandResult, made: Mapping[str, bytes] | None = None) -> None:
        super().__init__()
        self.ended, self.made = ended, made or {}

    def run(
        self,
        name: str,
        files: Mapping[str, bytes],
        words: Sequence[str],
        most_s: float,
        made: Sequence[str] = (),
    ) -> DraftTrial:
        return DraftTrial(self.ended, self.made)


def said(change: Callable[[dict[str, Any]], object]) -> bytes:
    """What a good examination prints, changed."""
    whole = json.loads(examined(NAME, FILES).splitlines()[-1])
    change(whole)
    return json.dumps(whole).encode()


def test_a_good_one_is_kept_with_the_harness_s_own_hashes() -> None:
    files = certify(Judge(), NAME, FILES)
    assert files.keys() - FILES.keys() == {CERTIFICATE}
    kept = json.loads(files[CERTIFICATE])
    assert kept["packs"][f"tasks/{NAME}"] == hashed(NAME, FILES)
    assert {row["check"] for row in kept["checks"]} >= NEEDED
    assert hashed(NAME, files) == hashed(NAME, FILES), "the certificate is no part of it"


def missing(row: str) -> Callable[[dict[str, Any]], object]:
    def change(whole: dict[str, Any]) -> None:
        whole["checks"] = [each for each in whole["checks"] if each["check"] != row]

    return change


FORGED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda w: w["checks"][3].update(passed=False), r"misses\nworkspace: "),
    (lambda w: w["checks"][0].update(passed=1), "no examination"),
    (lambda w: w["checks"][0].update(k=9, n=8), "9 of 8"),
    (lambda w: w["checks"][0].update(k="200"), "no examination"),
    (lambda w: w["checks"][0].pop("bar"), "no examination"),
    (lambda w: w.update(checks=[]), "nothing is said of after reset"),
    (missing("false success"), "nothing is said of false success"),
    (lambda w: w.update(verifier={}), "no examination"),
    (lambda w: w["verifier"]["mixed"].update(said_success_was_success=-1), "no examination"),
    (lambda w: w["verifier"]["mixed"].update(more=1), "no examination"),
    (lambda w: w["packs"].update({f"tasks/{NAME}": "0" * 64}), "not what was taken"),
    (lambda w: w["packs"].update({"robots/so101": "0" * 64}), "robots/so101 is another one here"),
    (lambda w: w["packs"].update({"robots/nobody": "0" * 64}), "unknown robot"),
    (lambda w: w["packs"].update({"robots/../x": "0" * 64}), "not certified"),
    (lambda w: w["packs"].update({"agents/claude": "0" * 64}), "with agents/claude"),
    (lambda w: w["packs"].pop("sim/bench"), "one robot and one world"),
    (lambda w: w.update(packs=[]), "no examination"),
]


@pytest.mark.parametrize(("change", "why"), FORGED)
def test_what_does_not_hold_is_refused(
    change: Callable[[dict[str, Any]], object], why: str
) -> None:
    with pytest.raises(DraftError, match=why):
        certify(Says(CommandResult(0, said(change), b"")), NAME, FILES)


@pytest.mark.parametrize(
    "ended",
    [
        CommandResult(0, b"", b""),
        CommandResult(0, b"all is well\n", b""),
        CommandResult(0, b"[1]", b""),
        CommandResult(0, b"[" * 100_000, b""),
        CommandResult(137, examined(NAME, FILES), b""),
        CommandResult(0, examined(NAME, FILES), b"", "memory: too much"),
    ],
    ids=["nothing", "words", "a list", "deep", "killed", "a breach"],
)
def test_what_is_no_examination_is_refused(ended: CommandResult) -> None:
    with pytest.raises(DraftError, match="not certified"):
        certify(Says(ended), NAME, FILES)


def test_texts_are_made_harmless() -> None:
    forged = said(lambda w: w["checks"][0].update(detail="x\x1b[2J\n" * 200))
    kept = json.loads(certify(Says(CommandResult(0, forged, b"")), NAME, FILES)[CERTIFICATE])
    detail = kept["checks"][0]["detail"]
    assert "\x1b" not in detail
    assert "\n" not in detail
    assert len(detail) <= 300


def test_a_check_that_was_ended_has_not_passed() -> None:
    assert check(Says(CommandResult(0, b"pass", b"")), NAME, FILES, []).passed
    assert not check(Says(CommandResult(0, b"pass", b"", "time: too long")), NAME, FILES, []).passed
    assert not check(Says(CommandResult(1, b"FAIL", b"")), NAME, FILES, []).passed


def test_what_was_printed_says_how_it_ended() -> None:
    text = printed(DraftTrial(CommandResult(137, b"a row\n{}\n", b"why\n", "time: 3 s"), {}))
    assert text == "a row\nwhy\nended: time: 3 s"


def test_pictures_are_part_of_the_pack() -> None:
    files = pictured(Judge(), NAME, FILES)
    assert files.keys() - FILES.keys() == {f"pictures/{m}.png" for m in ("start", "middle", "end")}
    assert hashed(NAME, files) != hashed(NAME, FILES)


@pytest.mark.parametrize(
    "bench",
    [
        Says(CommandResult(1, b"", b"no such camera"), {"picture.png": PNG}),
        Says(CommandResult(0, b"", b"")),
        Says(CommandResult(0, b"", b""), {"picture.png": b"<svg/>"}),
    ],
)
def test_what_is_no_picture_is_refused(bench: DraftBench) -> None:
    with pytest.raises(DraftError, match="no picture"):
        picture(bench, NAME, FILES, [])
