"""Shell completion, asked of a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from enpire.cli import main
from enpire.cli.completion import SHELLS
from enpire.cli.verbs import VERBS

ASK = """\
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMP_LINE="{line}" COMP_POINT=${{#COMP_LINE}}
_shtab_enpire
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script() -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["completion", "bash"]) == 0
    return out.getvalue()


def _completed(script: str, *words: str) -> set[str]:
    """Return what bash offers for the last word."""
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    quoted = " ".join(f"'{word}'" for word in words)
    ask = ASK.format(script=script, words=quoted, line=" ".join(words))
    run = ["bash", "--norc", "-c", ask]
    out = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120).stdout
    return {word.strip() for word in out.splitlines() if word.strip()}


def test_verbs_are_completed(script: str) -> None:
    firsts = {verb.split()[0] for verb in VERBS}
    assert _completed(script, "enpire", "") >= firsts
    assert _completed(script, "enpire", "re") == {w for w in firsts if w.startswith("re")}
    assert _completed(script, "enpire", "export", "") >= {"lerobot", "policy"}
    assert _completed(script, "enpire", "station", "") >= {"pause", "check", "calibrate", "teleop"}


def test_options_and_what_they_take_are_completed(script: str) -> None:
    assert _completed(script, "enpire", "loop", "--max-r") == {"--max-robot-hours", "--max-rounds"}
    assert _completed(script, "enpire", "loop", "--track", "") == {"wandb", "mlflow", "trackio"}
    assert {"pick_cube", "zip_tie"} <= _completed(script, "enpire", "loop", "--task", "")
    assert "pick_cube" in _completed(script, "enpire", "render", "pi")
    assert "--json" in _completed(script, "enpire", "campaign", "audit", "--")


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "--max-robot-hours" in capsys.readouterr().out


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err
