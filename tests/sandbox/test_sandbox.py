"""The sandbox, where nobody is hostile; `hostile/` has the others."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path

import pytest

from enpire.model_gateway.proxy import Proxy
from enpire.model_gateway.usage import Allowance
from enpire.sandbox import sandbox as sandbox_module
from enpire.sandbox.bubblewrap import hand_over, harness, python
from enpire.sandbox.limits import MIB, SandboxLimits
from enpire.sandbox.sandbox import Confinement, Sandbox, SandboxError
from enpire.sandbox.watchdog import SandboxWatchdog, size
from tests.evolution.hostile.arena import needs_sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    hand_over(made)
    return made


@needs_sandbox
class TestRun:
    def test_command_works_in_its_workspace(self, workspace: Path) -> None:
        sandbox = Sandbox(writable=(workspace,))
        ended = sandbox.run(["sh", "-c", "cat >f; id -u; pwd; exit 3"], given=b"hello")
        assert (ended.code, ended.breach) == (3, "")
        assert ended.out.decode().split() == ["1000", str(workspace)]
        assert (workspace / "f").read_text() == "hello"

    def test_interpreter_and_package_are_there(self) -> None:
        code = f"import sys; sys.path.insert(0, {str(harness()[0].parent)!r}); import numpy, enpire"
        ended = Sandbox(readable=harness()).run([python(), "-I", "-c", code])
        assert ended.code == 0, ended.err

    def test_environment_is_what_was_said(self) -> None:
        ended = Sandbox(environment={"A": "1"}).run(["env"])
        found = dict(line.split("=", 1) for line in ended.out.decode().splitlines())
        assert found.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == {
            "A",
            "PATH",
            "HOME",
            "LANG",
            *sandbox_module.NO_ROS,
        }

    def test_model_is_at_an_address_of_its_own(self, tmp_path: Path) -> None:
        with Proxy((), Allowance(1)) as proxy:
            for confinement in Confinement:
                sandbox = Sandbox(model=proxy.socket, confinement=confinement)
                with sandbox.start(["sh", "-c", "echo $ENPIRE_MODEL_URL; sleep 60"]) as first:
                    one = first.stdout.readline()
                    other = sandbox.run(["sh", "-c", "echo $ENPIRE_MODEL_URL"]).out
                assert one.startswith(b"http://127.0.0.1:")
                assert (one == other) is sandbox.sandboxed  # outside, both are on one loopback

    def test_end_of_a_signal_is_told_as_a_shell_does(self) -> None:
        assert Sandbox().run(["sh", "-c", "kill -15 $$"]).code == 143

    def test_end_of_what_it_prints_is_kept(self) -> None:
        ended = Sandbox(SandboxLimits(output=1000)).run(
            ["sh", "-c", "yes | head -c 5000000; echo end"]
        )
        assert len(ended.out) == 1000
        assert ended.out.endswith(b"end\n")

    def test_many_at_a_time(self) -> None:
        found: list[bytes] = []
        run = [
            threading.Thread(target=lambda i=i: found.append(Sandbox().run(["echo", str(i)]).out))
            for i in range(6)
        ]
        for thread in run:
            thread.start()
        for thread in run:
            thread.join()
        assert sorted(found) == [b"%d\n" % i for i in range(6)]

    def test_outlives_the_thread_that_started_it(self) -> None:
        started = []
        thread = threading.Thread(target=lambda: started.append(Sandbox().start(["cat"])))
        thread.start()
        thread.join()
        assert started[0].communicate(b"still here").out == b"still here"

    def test_ended_before_it_is_given_anything(self) -> None:
        process = Sandbox().start(["cat"])
        process.end()
        ended = process.communicate(b"too late")
        assert (ended.code, ended.out) == (137, b"")

    def test_nothing_is_left_open(self) -> None:
        Sandbox().run(["true"])
        gc.collect()  # what other tests have left, which would count as closed here
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            Sandbox().run(["true"])
        assert len(os.listdir("/proc/self/fd")) == before


class TestWithoutBubblewrap:
    def test_fails_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sandbox_module, "PROGRAM", "no-such-program")
        sandbox_module.available.cache_clear()
        try:
            assert not sandbox_module.available().works
            with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
                Sandbox().run(["true"])
        finally:
            sandbox_module.available.cache_clear()

    def test_says_why_it_does_not_work(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        fake = tmp_path / "bwrap"
        fake.write_text(
            "#!/bin/sh\n[ $1 != --version ] || { echo bubblewrap $SAID; exit; }\n"
            "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1\n"
        )
        fake.chmod(0o755)
        monkeypatch.setattr(sandbox_module, "PROGRAM", str(fake))
        monkeypatch.setattr(sandbox_module.bubblewrap, "PROGRAM", str(fake))
        for said, reason in (("0.6.1", "too old"), ("0.8.0", "No permissions to create")):
            monkeypatch.setenv("SAID", said)
            sandbox_module.available.cache_clear()
            found = sandbox_module.available()
            assert not found.works
            assert reason in found.reason
        sandbox_module.available.cache_clear()

    def test_not_sandboxed_only_if_it_is_asked_for_and_says_so(self, workspace: Path) -> None:
        plain = Sandbox(writable=(workspace,), confinement=Confinement.NONE)
        assert Sandbox().sandboxed
        assert not plain.sandboxed
        assert plain.confinement.value == "not sandboxed"
        ended = plain.run([sys.executable, "-c", "import os; print(os.getcwd())"])
        assert ended.out.decode().strip() == str(workspace)

    def test_time_is_limited_there_too(self) -> None:
        plain = Sandbox(SandboxLimits(wall_s=0.3), confinement=Confinement.NONE)
        assert plain.run(["sleep", "60"]).breach.startswith("time: ")


class TestWatch:
    def look(self, tmp_path: Path, limits: SandboxLimits, left: int = 2**40) -> str:
        watch = SandboxWatchdog(
            os.getpid(), limits, (tmp_path,), lambda _: None, False, lambda: left
        )
        watch.stop()
        return watch.look()

    def test_nothing_is_over(self, tmp_path: Path) -> None:
        assert self.look(tmp_path, SandboxLimits(memory=2**40)) == ""

    def test_machine_keeps_some_memory(self, tmp_path: Path) -> None:
        assert "the machine has less" in self.look(tmp_path, SandboxLimits(memory=2**40), left=MIB)

    def test_scratch_of_the_machine_is_not_the_sandbox_s(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        blocks = {"size": 100}  # of 1 MiB, all taken
        monkeypatch.setattr(
            os,
            "statvfs",
            lambda path: os.statvfs_result((MIB, MIB, blocks["size"], 0, 2**40, 0, 0, 0, 0, 255)),
        )
        limits = SandboxLimits(memory=2**40, scratch=100 * MIB)
        watch = SandboxWatchdog(os.getpid(), limits, (tmp_path,), lambda _: None)
        watch.stop()
        assert watch._scratch([os.getpid()]) == 200 * MIB  # /tmp and /dev/shm
        blocks["size"] = 50_000
        assert watch._scratch([os.getpid()]) == 0

    def test_names_of_one_file_count_once(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(bytes(100_000))
        total, entries = size(tmp_path, 10)
        os.link(tmp_path / "a", tmp_path / "b")
        (tmp_path / "c").symlink_to("/")
        after, more = size(tmp_path, 10)
        assert (entries, more) == (1, 3)
        assert after - total < 100_000

    def test_what_cannot_be_looked_at_ends(self, tmp_path: Path) -> None:
        told: list[str] = []
        over = threading.Event()

        def breach(reason: str) -> None:
            told.append(reason)
            over.set()

        gone = tmp_path / "gone"
        watch = SandboxWatchdog(os.getpid(), SandboxLimits(memory=2**40), (gone,), breach, False)
        assert over.wait(60)
        watch.stop()
        assert "No such file" in told[0]
