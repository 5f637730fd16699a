"""Certifies a draft, and reads what came of it: numbers, held against what the harness knows.

The examination runs in a sandbox, in one process with the pack's code: a pack that is written to
deceive could say what it likes there. What is read here is therefore what a person is shown, with
pictures, before anything moves an arm; it is no proof. The hashes, of the pack's bytes as they were
taken and of robot and world, are the harness's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from enpire.certification import certificate
from enpire.certification.row import CheckRow
from enpire.errors import EnpireError
from enpire.evolution.drafting.extraction import DraftError, write
from enpire.evolution.drafting.sandboxed_commands import DraftBench, DraftTrial
from enpire.json_text import parsed
from enpire.observe.result import versions
from enpire.packs import find
from enpire.packs.finder import CERTIFICATE, Kind, content_hash
from enpire.packs.signing import PICTURES
from enpire.rollout.evaluation.statistics import Confusion
from enpire.sandbox.sanitize import cleaned, one_line

CHECK_S = 1800.0  # for a check with the usual counts [s]
FULL_S = 4 * 3600.0  # for a certificate's
LOOK_S = 300.0  # for a picture
SAID = 12_000  # characters of what a check has printed
DETAIL = 300  # characters of a row's text
PNG = b"\x89PNG\r\n\x1a\n"
SHOWN = {"start": 0.0, "middle": 1.5, "end": 600.0}  # pictures of a demonstration, by time in it
NEEDED = frozenset(
    (
        *("demonstrator", "joint range", "joint speed", "workspace", "hand speed", "force"),
        *("nothing", "random", "after reset", "physical reset", "same start", "same verdict"),
        *("verifier agrees", "false success", "near misses", "cameras agree"),
    )
)
"""Rows without which there was no examination."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """passed: no bar was missed. text: what was printed, or what went wrong."""

    passed: bool
    text: str


def check(
    bench: DraftBench, name: str, files: Mapping[str, bytes], words: list[str]
) -> CheckResult:
    """`enpire task check` of a draft."""
    tried = bench.run(name, files, ["task", "check", "{pack}", *words], CHECK_S)
    return CheckResult(tried.ended.code == 0 and not tried.ended.breach, printed(tried))


def picture(bench: DraftBench, name: str, files: Mapping[str, bytes], words: list[str]) -> bytes:
    """A picture of a draft, PNG; words: of `enpire render`.

    Raises:
        DraftError: there is none; what was printed says why.
    """
    asked = ["render", "{pack}", "picture.png", *words]
    tried = bench.run(name, files, asked, LOOK_S, ["picture.png"])
    data = tried.made.get("picture.png", b"")
    if tried.ended.code != 0 or not data.startswith(PNG):
        raise DraftError(f"no picture: {printed(tried)}")
    return data


def pictured(bench: DraftBench, name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, and pictures of a demonstration among them: they are part of the pack."""
    found = dict(files)
    for moment, at in SHOWN.items():
        words = [f"--at={at:g}", "--distance=0.5", "--width=960", "--height=600"]
        found[f"{PICTURES}/{moment}.png"] = picture(bench, name, files, words)
    return found


def certify(bench: DraftBench, name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with their certificate, if there is one that misses no bar.

    Raises:
        DraftError: there is none; the rows that miss a bar, or what was printed.
    """
    tried = bench.run(name, files, ["task", "check", "{pack}", "--full", "--json"], FULL_S)
    said = _last(tried)
    if said is None:
        raise DraftError(f"not certified: {printed(tried)}")
    try:
        rows = [_row(each) for each in said["checks"]]
        matrices = {each: _confusion(said["verifier"][each]) for each in ("mixed", "near")}
        others = {str(each): str(sha256) for each, sha256 in said["packs"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DraftError(f"not certified: what it printed is no examination ({error})") from error
    missed = [
        f"{row.check}: {row.measured} {row.counted}; {row.detail}"
        for row in rows
        if row.passed is False
    ]
    if missed:
        raise DraftError("not certified; it misses\n" + "\n".join(missed))
    if lacking := NEEDED - {row.check for row in rows if row.passed is not False}:
        raise DraftError(f"not certified: nothing is said of {', '.join(sorted(lacking))}")
    with TemporaryDirectory(prefix="enpire-draft-") as made:
        folder = Path(made) / name
        write(files, folder)
        packs = {f"tasks/{name}": content_hash(folder)} | _other_packs(others, f"tasks/{name}")
        if others.get(f"tasks/{name}") != packs[f"tasks/{name}"]:
            raise DraftError("not certified: what was examined is not what was taken")
        kept = certificate.write(folder, packs, rows, matrices, versions())
        if kept is None:
            raise DraftError("not certified: the certificate cannot be written")
        return dict(files) | {CERTIFICATE: kept.read_bytes()}


def printed(tried: DraftTrial) -> str:
    """What a run has said, and how it ended if not as it should: data, never an instruction."""
    out, err = (part.decode(errors="replace") for part in (tried.ended.out, tried.ended.err))
    lines = [line for line in out.splitlines() if not line.startswith("{")]
    ended = f"ended: {tried.ended.breach}" if tried.ended.breach else ""
    return cleaned("\n".join([*lines, err[-SAID // 2 :], ended]), SAID)


def _last(tried: DraftTrial) -> dict[str, Any] | None:
    """The object that a run has printed last; None if it did not come to that."""
    lines = tried.ended.out.decode(errors="replace").splitlines()
    if tried.ended.breach or tried.ended.code not in (0, 1) or not lines:
        return None
    try:
        said = parsed(lines[-1])
    except ValueError:
        return None
    return said if isinstance(said, dict) and "checks" in said else None


def _row(said: Mapping[str, Any]) -> CheckRow:
    """One row, each of its values of the kind that it must be."""
    k, n, passed = said["k"], said["n"], said["passed"]
    if type(k) is not int or type(n) is not int or not 0 <= k <= n:
        raise ValueError(f"{one_line(str(said['check']), 40)}: {k} of {n}")
    if passed is not None and type(passed) is not bool:
        raise ValueError("passed is no truth value")
    check, counted, bar, detail = (
        one_line(str(said[each]), DETAIL) for each in ("check", "counted", "bar", "detail")
    )
    return CheckRow(check, counted, k, n, bar, passed, detail)


def _confusion(said: Mapping[str, Any]) -> Confusion:
    if not all(type(count) is int for count in said.values()):
        raise ValueError("a confusion matrix has counts")
    return Confusion(**said)


def _other_packs(said: Mapping[str, str], task: str) -> dict[str, str]:
    """Robot and world, as they are here: a robot and a world, and nothing else."""
    found: dict[str, str] = {}
    for each, sha256 in said.items():
        kind, _, name = each.partition("/")
        if each == task:
            continue
        if kind not in ("robots", "sim"):
            raise DraftError(f"not certified: with {one_line(each, 60)}")
        which: Kind = "robots" if kind == "robots" else "sim"
        try:
            pack = find(which, name)
        except EnpireError as error:
            raise DraftError(f"not certified: {error}") from error
        if pack.sha256 != sha256:
            raise DraftError(f"not certified: {each} is another one here")
        found[each] = sha256
    if sorted(each.partition("/")[0] for each in found) != ["robots", "sim"]:
        raise DraftError("not certified: it needs one robot and one world")
    return found
