"""launch/setup.sh against a PATH of fake interpreters and a fake uv: nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

LAUNCH = Path(__file__).parents[2] / "launch"
TOOLS = [
    "cat",
    "chmod",
    "cksum",
    "dirname",
    "env",
    "flock",
    "grep",
    "head",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "readlink",
    "rm",
    "sh",
    "sleep",
    "sort",
    "touch",
    "true",
]

# Answers as a Python of another version and place would; $3 is the code behind `-I -c`.
FAKE_PYTHON = """#!/bin/sh
exec "{real}" -I -c '
import sys
sys.version_info = tuple(map(int, "{version}".split(".")))
sys.base_prefix = "{prefix}"
exec(sys.argv[1])' "$3"
"""

FAKE_UV = """#!/bin/sh
echo "$*" >>"$UV_LOG"
case "$1 $2" in
--version*) exit 0 ;;
"python "*) exit 1 ;;
venv*)
    for env; do :; done
    mkdir -p "$env/bin"
    printf '#!/bin/sh\\n' >"$env/bin/python"
    chmod +x "$env/bin/python" ;;
"pip sync")
    sleep "${UV_SECONDS:-0}"
    [ -z "${UV_BREAKS:-}" ] ;;
"pip install")
    for tool in enpire ruff mypy lint-imports python; do
        printf '#!/bin/sh\\necho "%s got $# $*"\\n[ "%s" != "$BREAKS" ] || exit 7\\n' \\
            "$tool" "$tool" >"$ENV_BIN/$tool"
        chmod +x "$ENV_BIN/$tool"
    done ;;
esac
"""


@dataclass(frozen=True)
class Machine:
    """A checkout in a folder with a space, and all the commands there are."""

    root: Path
    bin: Path
    home: Path

    def command(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)

    def python(self, version: str, prefix: Path) -> Path:
        """Make a fake interpreter at `prefix`/bin, not on PATH."""
        major_minor = ".".join(version.split(".")[:2])
        path = prefix / "bin" / f"python{major_minor}"
        path.parent.mkdir(parents=True)
        path.write_text(FAKE_PYTHON.format(real=sys.executable, version=version, prefix=prefix))
        path.chmod(0o755)
        (path.parent / "python").symlink_to(path)
        return path

    def start(
        self, *args: str, script: str = "launch/enpire", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a launch script, from another folder."""
        process = self.spawn(*args, script=script, **extra)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def spawn(
        self, *args: str, script: str = "launch/enpire", **extra: str
    ) -> subprocess.Popen[str]:
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "UV_LOG": str(self.home / "uv.log"),
            "ENV_BIN": str(self.root / ".venv" / "bin"),
        }
        return subprocess.Popen(
            [str(self.root / script), *args],
            env=env | extra,
            cwd=self.home,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def uv_calls(self) -> list[str]:
        """What uv was asked to do since the last look, without the questions for its version."""
        log = self.home / "uv.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line for line in lines if line != "--version"]


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A Linux machine with EGL, bubblewrap and uv, without any Python."""
    machine = Machine(tmp_path / "a checkout", tmp_path / "bin", tmp_path / "home")
    for folder in (machine.root, machine.bin, machine.home):
        folder.mkdir()
    shutil.copytree(LAUNCH, machine.root / "launch")
    (machine.root / "requirements.lock").write_text("numpy==2.2.6\n")
    (machine.root / "pyproject.toml").write_text("[project]\n")
    for tool in TOOLS:
        if found := shutil.which(tool, path="/usr/bin:/bin"):
            (machine.bin / tool).symlink_to(found)
    machine.command("uname", "#!/bin/sh\necho Linux\n")
    machine.command("id", "#!/bin/sh\necho 1000\n")
    machine.command("ldconfig", "#!/bin/sh\necho '  libEGL.so.1 (libc6,x86-64) => /x'\n")
    machine.command("bwrap", "#!/bin/sh\n")
    machine.command("uv", FAKE_UV)
    return machine


@pytest.fixture
def machine(bare: Machine) -> Machine:
    """The same with a Python 3.12 on PATH."""
    (bare.bin / "python3.12").symlink_to(bare.python("3.12.1", bare.home / "opt"))
    return bare


def python_used(machine: Machine) -> str:
    result = machine.start()
    assert result.returncode == 0, result.stderr
    (call,) = (call for call in machine.uv_calls() if call.startswith("venv"))
    return call.split("--python ")[1].split()[0]


class TestPython:
    def test_one_on_path_is_used(self, machine: Machine) -> None:
        assert python_used(machine) == str(machine.home / "opt/bin/python3.12")

    def test_one_too_old_is_passed_over(self, bare: Machine) -> None:
        (bare.bin / "python3").symlink_to(bare.python("3.11.7", bare.home / "old"))
        expected = bare.python("3.13.0", bare.home / ".pyenv/versions/3.13.0")
        assert python_used(bare) == str(expected)

    def test_one_without_wheels_in_the_lock_is_passed_over(self, bare: Machine) -> None:
        (bare.bin / "python3").symlink_to(bare.python("3.14.0", bare.home / "new"))
        assert bare.start().returncode == 1

    def test_broken_shim_is_passed_over(self, bare: Machine) -> None:
        bare.command("python3.12", "#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n")
        for patch in ("3.12.1", "3.12.9", "3.12.10", "3.11.12"):
            bare.python(patch, bare.home / ".pyenv/versions" / patch)
        assert python_used(bare).endswith("/versions/3.12.10/bin/python3.12")

    def test_pyenv_is_found_where_it_says_it_is(self, bare: Machine) -> None:
        bare.command("pyenv", f"#!/bin/sh\necho '{bare.home}/elsewhere'\n")
        expected = bare.python("3.12.3", bare.home / "elsewhere/versions/3.12.3")
        assert python_used(bare) == str(expected)

    def test_none_at_all_is_one_clear_line(self, bare: Machine) -> None:
        result = bare.start()
        assert result.returncode == 1
        assert "found no Python 3.12 or 3.13: install one" in result.stderr.splitlines()[-1]
        assert result.stdout == ""
        assert not (bare.root / ".venv").exists()

    def test_no_uv_and_no_way_to_make_one_is_one_clear_line(self, bare: Machine) -> None:
        (bare.bin / "uv").unlink()
        result = bare.start()
        assert result.returncode == 1
        assert "install uv, or Python 3.12 with its venv module" in result.stderr.splitlines()[-1]


class TestEnvironment:
    def test_installs_by_hash_into_its_own_environment(self, machine: Machine) -> None:
        machine.start()
        sync = next(call for call in machine.uv_calls() if call.startswith("pip sync"))
        assert "--require-hashes" in sync
        assert f"--python {machine.root}/.venv/bin/python" in sync

    def test_second_start_does_nothing(self, machine: Machine) -> None:
        machine.start()
        machine.uv_calls()
        result = machine.start("report")
        assert machine.uv_calls() == []
        assert (result.stdout, result.stderr) == ("enpire got 1 report\n", "")

    def test_failed_install_stops_and_is_made_anew(self, machine: Machine) -> None:
        result = machine.start(UV_BREAKS="yes")
        assert result.returncode == 1
        assert "could not install requirements.lock" in result.stderr.splitlines()[-1]
        (machine.root / ".venv/left_over").touch()
        assert machine.start().returncode == 0
        assert not (machine.root / ".venv/left_over").exists()

    def test_changed_lock_makes_it_anew(self, machine: Machine) -> None:
        machine.start()
        (machine.root / ".venv/left_over").touch()
        (machine.root / "requirements.lock").write_text("numpy==2.2.7\n")
        machine.start()
        assert not (machine.root / ".venv/left_over").exists()

    def test_changed_project_is_only_installed_again(self, machine: Machine) -> None:
        machine.start()
        machine.uv_calls()
        (machine.root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
        machine.start()
        (call,) = machine.uv_calls()
        assert call.startswith("pip install")
        machine.start()
        assert machine.uv_calls() == []

    def test_moved_checkout_makes_it_anew(self, machine: Machine) -> None:
        machine.start()
        machine.uv_calls()
        moved = Machine(machine.root.rename(machine.home / "moved"), machine.bin, machine.home)
        assert moved.start().returncode == 0
        assert any(call.startswith("venv") for call in moved.uv_calls())

    def test_vanished_interpreter_makes_it_anew(self, machine: Machine) -> None:
        machine.start()
        python = machine.root / ".venv/bin/python"
        python.unlink()
        python.symlink_to(machine.home / "gone")
        machine.uv_calls()
        machine.start()
        assert any(call.startswith("venv") for call in machine.uv_calls())

    @pytest.mark.parametrize("flock", [True, False])
    def test_two_first_starts_make_one(self, machine: Machine, flock: bool) -> None:
        if not flock:
            (machine.bin / "flock").unlink(missing_ok=True)
        processes = [machine.spawn(str(i), UV_SECONDS="0.3") for i in range(2)]
        outputs = [process.communicate(timeout=60) for process in processes]
        assert [out for out, _ in outputs] == ["enpire got 1 0\n", "enpire got 1 1\n"]
        assert sum(call.startswith("venv") for call in machine.uv_calls()) == 1

    def test_dead_holder_of_the_lock_is_passed_over(self, machine: Machine) -> None:
        (machine.bin / "flock").unlink(missing_ok=True)
        with subprocess.Popen(["true"]) as dead:
            pass
        (machine.root / ".cache").mkdir()
        (machine.root / ".cache/setup.pid").symlink_to(str(dead.pid))
        assert machine.start().returncode == 0


class TestRendering:
    ENV = "#!/bin/sh\necho GL=${MUJOCO_GL-unset}\n"

    def gl(self, machine: Machine, **extra: str) -> str:
        machine.start()
        (machine.root / ".venv/bin/enpire").write_text(self.ENV)
        return machine.start(**extra).stdout.strip()

    def test_egl_is_chosen_where_it_is(self, machine: Machine) -> None:
        assert self.gl(machine) == "GL=egl"

    def test_the_users_choice_stands(self, machine: Machine) -> None:
        assert self.gl(machine, MUJOCO_GL="osmesa") == "GL=osmesa"

    def test_none_is_chosen_without_egl(self, machine: Machine) -> None:
        machine.command("ldconfig", "#!/bin/sh\n")
        assert self.gl(machine) == "GL=unset"

    def test_without_rights_says_what_to_install(self, machine: Machine) -> None:
        machine.command("ldconfig", "#!/bin/sh\n")
        machine.command("apt-get", '#!/bin/sh\ntouch "$HOME/apt"\n')
        machine.command("sudo", "#!/bin/sh\nexit 1\n")
        result = machine.start()
        assert result.returncode == 0
        assert "sudo apt-get install libegl1 libgl1-mesa-dri libosmesa6" in result.stderr
        assert not (machine.home / "apt").exists()

    def test_with_sudo_installs_it(self, machine: Machine) -> None:
        machine.command("ldconfig", "#!/bin/sh\n")
        machine.command("apt-get", '#!/bin/sh\necho "$*" >>"$HOME/apt"\n')
        machine.command("sudo", '#!/bin/sh\nshift\nexec "$@"\n')
        machine.start()
        assert "libegl1 libgl1-mesa-dri libosmesa6" in (machine.home / "apt").read_text()


class TestSandbox:
    def test_installs_bubblewrap_where_it_is_missing(self, machine: Machine) -> None:
        (machine.bin / "bwrap").unlink()
        machine.command("apt-get", '#!/bin/sh\necho "$*" >>"$HOME/apt"\n')
        machine.command("id", "#!/bin/sh\necho 0\n")
        machine.start()
        assert "install -y --no-install-recommends bubblewrap" in (machine.home / "apt").read_text()

    def test_asks_for_nothing_that_is_there(self, machine: Machine) -> None:
        machine.command("apt-get", '#!/bin/sh\ntouch "$HOME/apt"\n')
        machine.command("id", "#!/bin/sh\necho 0\n")
        assert "bubblewrap" not in machine.start().stderr
        assert not (machine.home / "apt").exists()

    def test_without_apt_says_what_to_install(self, machine: Machine) -> None:
        (machine.bin / "bwrap").unlink()
        result = machine.start()
        assert result.returncode == 0
        assert "missing, for the sandbox of agents: bubblewrap" in result.stderr


class TestScripts:
    def test_runs_through_a_link_with_arguments_as_given(self, machine: Machine) -> None:
        (machine.home / "link").symlink_to(machine.root / "launch/enpire")
        result = machine.start("two words", "", script=os.fspath(machine.home / "link"))
        assert result.stdout == "enpire got 2 two words \n"

    def test_exit_code_is_the_commands(self, machine: Machine) -> None:
        assert machine.start(BREAKS="enpire").returncode == 7

    def test_test_runs_every_step_by_name(self, machine: Machine) -> None:
        result = machine.start(script="launch/test")
        steps = [line for line in result.stdout.splitlines() if line.startswith("== ")]
        assert [step.split()[1] for step in steps] == [
            "ruff",
            "ruff",
            "mypy",
            "lint-imports",
            "python",
        ]
        assert result.returncode == 0

    @pytest.mark.parametrize(
        ("words", "lane"),
        [
            ([], "not slow"),
            (["--fast"], "not slow and not medium"),
            (["--all"], ""),
        ],
    )
    def test_test_has_three_lanes(self, machine: Machine, words: list[str], lane: str) -> None:
        result = machine.start(*words, script="launch/test")
        assert f" -m {lane} --session-timeout=" in result.stdout.splitlines()[-1]
        assert result.returncode == 0

    def test_test_stops_at_the_first_failure(self, machine: Machine) -> None:
        result = machine.start(script="launch/test", BREAKS="mypy")
        assert result.returncode == 7
        assert "== mypy" in result.stdout
        assert "== lint-imports" not in result.stdout
        assert result.stderr.splitlines()[-1] == "enpire: 'mypy' failed"

    def test_test_hands_arguments_to_pytest(self, machine: Machine) -> None:
        result = machine.start("-k", "a or b", script="launch/test")
        assert result.stdout == "python got 4 -m pytest -k a or b\n"
