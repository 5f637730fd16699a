"""Cheats of the score: by what a policy does while it is tried, by what becomes of records."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Job, Readings, Stations
from enpire.environment.resets.varied_arms import VariedArms
from enpire.errors import PolicyError, StoreError
from enpire.evolution.program_policies import policy_worker
from enpire.evolution.program_policies.policy_process import PolicyLimits, PolicyProcess
from enpire.packs import find
from enpire.policies import ProgramPolicy
from enpire.rollout.evaluation.seeds import fresh_entropy, stream
from enpire.sandbox import bubblewrap
from enpire.sandbox.bubblewrap import hand_over, harness
from enpire.sandbox.git_fetch import Repository
from enpire.sandbox.limits import SandboxLimits
from enpire.sandbox.sandbox import Sandbox
from enpire.store import Run
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Outcome, Predicate, Purpose
from tests.environment.reach import Reach, reach_stations

from .arena import Act, Allowed, Arena, arena, assert_said, needs_sandbox

pytestmark = [needs_sandbox, pytest.mark.medium]
SEED = 11
USE = SandboxLimits(memory=512 * 2**20, processes=32, scratch=16 * 2**20)
LIMITS = PolicyLimits(120.0, 20.0, USE)
QUICK = PolicyLimits(120.0, 2.0, USE)
HONEST = """
import os, sys, time
import numpy as np

def towards(observations):
    actions = np.zeros((len(observations), 7), np.float32)
    actions[:, 0] = np.clip(observations[:, 0] * 0.05 / 0.008, -1, 1)
    return actions

class Policy:
    asked = 0
    def begin(self, row): pass
    def act(self, rows, observations):
        self.asked += 1
        return self.cheat(rows, observations)
    def cheat(self, rows, observations):
        return towards(observations)

def make(observation, action):
    return Policy()
"""


@pytest.fixture(scope="module")
def stations() -> Stations:
    return reach_stations(2)


def program(code: str = "", at: str = "act", **more: str) -> ProgramPolicy:
    """The honest policy; at its third question, or where else is said, it does this first."""
    text = HONEST
    if code and at == "act":
        body = "".join(f"            {line}\n" for line in code.splitlines())
        text = text.replace(
            "        return towards",
            f"        if self.asked >= 3:\n{body}        return towards",
            1,
        )
    elif code and at == "begin":
        text = text.replace("def begin(self, row): pass", f"def begin(self, row): {code}")
    elif code:
        text = f"{code}\n{text}"
    files = {"policy.py": text.encode()} | {name: data.encode() for name, data in more.items()}
    return ProgramPolicy.of(files, "reach", 2, 7, "c")


def tried(
    stations: Stations, policy: ProgramPolicy, *seeds: int, limits: PolicyLimits = LIMITS
) -> list[Episode]:
    """Its episodes, from these seeds."""
    process = PolicyProcess(policy.files, 2, 7, limits)
    waiting, done = list(seeds or (SEED,)), []
    while waiting or stations.busy:
        for row in stations.idle:
            if waiting:
                stations.begin(row, Job(waiting.pop(), Purpose.EVALUATION, process, "p"))
        done += stations.tick()
    process.close()
    return done


def test_honest_policy_succeeds(stations: Stations) -> None:
    """The control of all that follow: the same policy, without its cheat."""
    (episode,) = tried(stations, program())
    assert episode.success, episode.verdict


def test_plan_is_carried_out(stations: Stations) -> None:
    (episode,) = tried(stations, program("return np.repeat(towards(observations)[:, None], 2, 1)"))
    assert episode.success, episode.verdict


def answer(code: str) -> str:
    """Write to the pipe that the worker answers by."""
    tries = f"try: os.write(fd, {code})\n  except OSError: pass"
    return f"import struct\nfor fd in range(3, 20):\n  {tries}"


@dataclass(frozen=True)
class Cheat:
    """What a policy does to have an episode not count, or count as a success."""

    name: str
    code: str
    reason: str
    at: str = "act"

    def __str__(self) -> str:
        return self.name


FAULTS = (
    Cheat("raises-where-it-fails", "raise ValueError('void this')", "died; .*void this"),
    Cheat("raises-when-an-episode-begins", "1 / 0", "died; .*division by zero", "begin"),
    Cheat("raises-when-it-is-loaded", "raise SystemExit('no')", "died; .*no", "load"),
    Cheat("exits-as-if-all-were-well", "os._exit(0)", "the policy's program died"),
    Cheat("kills-itself", "os.kill(os.getpid(), 9)", "died"),
    Cheat("kills-all-it-can-see", "os.kill(-1, 9); time.sleep(9)", "died|within"),
    Cheat("runs-out-of-memory", "x = bytearray(2 * 2**30)", "died; .*MemoryError"),
    Cheat(
        "uses-up-memory-with-others",
        "import mmap\nx = mmap.mmap(-1, 2**30); x.write(bytes(2**30 - 1)); time.sleep(9)",
        "ended: memory|within|MemoryError",
    ),
    Cheat("hangs", "time.sleep(100)", "did not answer within 2 s"),
    Cheat("stops-itself", "os.kill(os.getpid(), 19)", "did not answer within 2 s"),
    Cheat("is-busy-for-ever", "while True: pass", "did not answer within 2 s"),
    Cheat(
        "answers-in-drips",
        "for fd in range(3, 20):\n  try:\n    while os.write(fd, b'\\1'): time.sleep(0.4)\n"
        "  except OSError: pass",
        "did not answer within|answered",
    ),
    Cheat("acts-on-what-is-no-number", "return towards(observations) * np.nan", "not finite"),
    Cheat("acts-without-bound", "return towards(observations) + np.inf", "not finite"),
    Cheat("acts-for-nobody", "return towards(observations)[:0]", "with actions for 0"),
    Cheat("acts-for-too-many", "return np.zeros((9, 7))", "with actions for 9"),
    Cheat("acts-in-another-shape", "return np.zeros((len(rows), 1, 6))", "within|finite|spoke"),
    Cheat("plans-for-ever", "return np.zeros((len(rows), 100000, 7))", "of 100000 periods"),
    Cheat("plans-nothing", "return np.zeros((len(rows), 0, 7))", "of 0 periods"),
    Cheat("answers-twice", answer("struct.pack('<II7f', 1, 1, *[0] * 7)"), "spoke before|for 1"),
    Cheat("sends-a-verdict", answer('b\'{"outcome": "success", "score": 1.0}\''), "answered"),
    Cheat("closes-its-pipes", "os.closerange(0, 30); time.sleep(9)", "died|within"),
)


@pytest.mark.parametrize("cheat", FAULTS, ids=str)
def test_policy_at_fault_has_failed(cheat: Cheat, stations: Stations) -> None:
    """Its episode is not void: it counts, as what it is; and so do those that follow."""
    limits = QUICK if "within" in cheat.reason else LIMITS
    policy = program(cheat.code, cheat.at)
    episodes = tried(stations, policy, SEED, SEED + 1, SEED + 2, limits=limits)
    assert [episode.verdict.outcome for episode in episodes] == [Outcome.FAILURE] * 3
    for episode in episodes:
        assert re.search(cheat.reason, episode.verdict.reason), episode.verdict.reason
        assert len(episode.observations) == len(episode.actions)
    assert not stations.aside


STILL = "return towards(observations) * 0"
PATCH = """
import enpire.types
enpire.types.Predicate.holds = property(lambda self: True)
"""


class TestThePolicysImport:
    """What a policy does to modules, it does to its own."""

    def test_patches_the_verifier(
        self, stations: Stations, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = b"import patch\n" + program(STILL).files["policy.py"]
        files = {"policy.py": text, "patch.py": PATCH.encode()}
        policy = ProgramPolicy.of(files, "reach", 2, 7, "c")
        (before,) = tried(stations, program(STILL))
        (episode,) = tried(stations, policy)
        assert episode.verdict.outcome is Outcome.FAILURE
        assert episode.verdict == before.verdict, episode.verdict
        assert episode.verdict.failed == ("near",)  # it was judged
        monkeypatch.setattr(Predicate, "holds", property(lambda self: True))
        (episode,) = tried(stations, policy)
        assert episode.success  # the control: the same patch, in the harness's process

    def test_stands_in_for_packages_that_the_harness_uses(self, stations: Stations) -> None:
        bad = "import os; os.write(2, b'mine'); raise RuntimeError('taken')"
        (episode,) = tried(stations, program("import enpire", **{"enpire/__init__.py": bad}))
        assert "taken" in episode.verdict.reason  # it was imported, where it does no harm
        (after,) = tried(stations, program())
        assert after.success

    def test_looks_for_the_simulator_and_the_job(self, stations: Stations) -> None:
        look = (
            "import gc\n"
            "names = {type(o).__name__ for o in gc.get_objects()}\n"
            "if not names & {'Stations', 'Twin', 'Job', 'Running', 'MjData', 'Run'}:\n"
            "  raise ValueError('nobody here')"
        )
        (episode,) = tried(stations, program(look))
        assert "nobody here" in episode.verdict.reason
        here = {type(o).__name__ for o in gc.get_objects()}
        assert {"Stations", "Twin"} <= here

    def test_looks_up_the_stack_for_its_seed(self, stations: Stations) -> None:
        look = (
            "frame, found = sys._getframe(), []\n"
            "while frame:\n"
            "  found += [n for n, v in frame.f_locals.items() if type(v).__name__ == 'Job']\n"
            "  frame = frame.f_back\n"
            "raise ValueError(f'found {found}')"
        )
        (episode,) = tried(stations, program(look))
        assert "found []" in episode.verdict.reason
        seen = InProcess()
        stations.begin(0, Job(SEED, Purpose.SEALED, seen, "p"))
        while stations.busy:
            stations.tick()
        assert SEED in seen.seeds  # a controller in the harness's process finds it


class InProcess:
    """A controller as it must not be: in the harness's process it finds what it looks for."""

    def __init__(self) -> None:
        self.seeds: set[int] = set()
        self.drawn: list[float] = []

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self.drawn.append(rng.random())

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            for value in list(frame.f_locals.values()):
                found = value if isinstance(value, list) else []
                self.seeds |= {one.job.seed for one in found if hasattr(one, "job")}
        return np.zeros((len(rows), 7), np.float32)


class TestWhatAPolicyIsTold:
    """Evaluation looks like any other episode, and no episode like another one's seed."""

    def questions(self, monkeypatch: pytest.MonkeyPatch, *jobs: Job) -> list[bytes]:
        """What goes over to a policy in the first period of jobs that all see the same."""
        monkeypatch.setattr(Reach, "sample", lambda self, rng: np.array([0.04]))
        monkeypatch.setattr(VariedArms, "vary", lambda self, row, rng: None)
        stations, sent = reach_stations(1), []
        ask = PolicyProcess._question
        monkeypatch.setattr(
            PolicyProcess, "_question", lambda *args: sent.append(ask(*args)) or sent[-1]
        )
        first = []
        for job in jobs:
            sent.clear()
            process = PolicyProcess(program().files, 2, 7, LIMITS)
            job = Job(job.seed, job.purpose, process, "p", job.round, job.exploration)
            stations.begin(0, job)
            while stations.busy:
                stations.tick()
            process.close()
            first.append(sent[0])
        return first

    def test_evaluation_cannot_be_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nobody = InProcess()
        purposes = [Job(SEED, purpose, nobody, "p") for purpose in Purpose]
        told = self.questions(monkeypatch, *purposes, Job(SEED, Purpose.COLLECTION, nobody, "p", 3))
        assert len(set(told)) == 1
        # The control: what does differ is told.
        monkeypatch.setattr(Reach, "sample", lambda self, rng: np.array([0.03]))
        assert self.other(monkeypatch) not in told

    def other(self, monkeypatch: pytest.MonkeyPatch) -> bytes:
        process = PolicyProcess(program().files, 2, 7, LIMITS)
        question = process._question(np.array([0]), np.array([[0.6, 0.2]], np.float32))
        process.close()
        return question

    def test_exploration_cannot_be_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nobody = InProcess()
        explored = Job(SEED, Purpose.COLLECTION, nobody, "p", 0, 0.5)
        told = self.questions(monkeypatch, explored, Job(SEED, Purpose.EVALUATION, nobody, "p"))
        assert told[0] == told[1]

    def test_seed_cannot_be_told_by_what_is_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nobody = InProcess()
        jobs = [Job(seed, Purpose.EVALUATION, nobody, "p") for seed in (1, 2, 3)]
        assert len(set(self.questions(monkeypatch, *jobs))) == 1
        for job in jobs:
            nobody.begin(0, job.streams().exploration, 0.0)
        assert len(set(nobody.drawn)) == 3  # as a controller in our process could tell

    def test_surroundings_are_the_same(self, stations: Stations) -> None:
        look = "raise ValueError(repr((sorted(os.environ.items()), sys.argv[2:], os.getpid())))"
        told = {tried(stations, program(look), seed)[0].verdict.reason for seed in (1, 2)}
        assert len(told) == 1
        assert "PATH" in told.pop()


class TestBetweenTrials:
    """A policy's process leaves nothing to the next one's, and nothing that goes on."""

    PLACES = ("/tmp/left", "/dev/shm/left", "os.path.dirname(__file__) + '/left'", "/var/tmp/left")

    def test_leaves_a_note_for_its_next_trial(self, stations: Stations) -> None:
        places = [p if "os." in p else repr(p) for p in self.PLACES]
        code = (
            f"found = []\nfor place in ({', '.join(places)}):\n"
            "  found.append(os.path.exists(place))\n"
            "  try: open(place, 'w').write('evaluated')\n"
            "  except OSError: pass\n"
            "if any(found) or os.environ.get('twice') or self.asked == 4: "
            "raise ValueError(f'found {found}')"
        )
        first, second = (tried(stations, program(code))[0].verdict.reason for _ in range(2))
        assert "found [True, True, False, False]" in first  # its own, in the same trial
        # The second trial's first look, at its third question, found nothing: it went on to the
        # fourth, as the first trial did.
        assert first == second

    def test_outlives_its_trial(self, tmp_path: Path) -> None:
        mark = f"left-behind-{os.getpid()}"
        code = (
            "if not os.fork():\n  os.setsid()\n  if not os.fork():\n"
            "    import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]\n"
            f"    os.execv('/bin/sh', ['sh', '-c', 'sleep 300; : {mark}'])\n  os._exit(0)\n"
            "time.sleep(0.3)"
        )
        process = PolicyProcess(program(code).files, 2, 7, LIMITS)
        sensed = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))
        process.begin(0, np.random.default_rng(0), 0.0)
        for _ in range(3):
            process.act(np.array([0]), np.zeros((1, 2), np.float32), sensed)
        until(lambda: running(mark))  # while the trial goes on
        process.close()
        assert not running(mark)

    @pytest.mark.medium
    def test_outlives_the_harness(self, tmp_path: Path) -> None:
        mark = f"left-behind-{os.getpid()}-killed"
        script = (
            "import time\nfrom enpire.sandbox.sandbox import Sandbox\n"
            f"p = Sandbox().start(['sh', '-c', 'sleep 300; : {mark}'])\n"
            "print('up', flush=True); time.sleep(300)"
        )
        root = str(Path(__file__).parents[3])
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": root},
        ) as harness_:
            assert harness_.stdout is not None
            assert harness_.stdout.readline() == b"up\n"
            until(lambda: running(mark))
            harness_.kill()
        until(lambda: not running(mark))

    @pytest.mark.parametrize(
        "listen",
        [
            "s = socket.socket(1); s.bind('\\0meet'); s.listen()",
            "s = socket.create_server(('127.0.0.1', 4711))",
            "s = socket.socket(1); s.bind('/tmp/meet'); s.listen()",
        ],
    )
    def test_meets_another_agent(self, listen: str, tmp_path: Path) -> None:
        where = {"\\0": "'\\0meet'", "47": "('127.0.0.1', 4711)"}
        at = next((w for k, w in where.items() if k in listen), "'/tmp/meet'")
        family = 2 if "4711" in listen else 1
        meet = f"import socket; s = socket.socket({family}); s.connect({at})"
        python = [bubblewrap.python(), "-I", "-S", "-c"]
        both = [*python, f"import socket\n{listen}\nt = s\n{meet}"]
        assert Sandbox().run(both).code == 0  # the control: with oneself
        waiting = f"import socket, time\n{listen}\nprint('up', flush=True); time.sleep(60)"
        with Sandbox().start([*python, waiting]) as first:
            assert first.stdout.readline() == b"up\n"
            second = Sandbox().run([*python, meet])
        assert second.code == 1
        assert b"refused" in second.err or b"No such file" in second.err


def running(mark: str) -> bool:
    """Whether any process of this machine has that on its command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words and words.startswith(b"sh\0"):
                return True
    return False


def until(reached: Callable[[], bool], limit_s: float = 60.0) -> None:
    end = time.monotonic() + limit_s
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """With a run's folder outside: its ledger, its result, a policy."""
    with arena(tmp_path_factory.mktemp("run")) as made:
        made.given["pack"] = str(find("tasks", "pin_box").folder)
        yield made


def run_files(place: Arena) -> None:
    with sqlite3.connect(place.outside / "ledger.sqlite") as ledger:
        ledger.execute("create table episodes (seed integer, outcome text)")
        ledger.execute("insert into episodes values (4711, 'failure')")
    (place.outside / "result.json").write_text('{"success": 0.1}')
    (place.outside / "policy.safetensors").write_text("weights")


RECORDS = (
    Act(
        "reads-sealed-seeds-in-the-ledger",
        "import sqlite3\n"
        "db = sqlite3.connect('file:' + given['outside'] + '/ledger.sqlite?mode=ro', uri=True)\n"
        "db.execute('select seed from episodes').fetchone() == (4711,) or exit('none')",
        "unable to open",
    ),
    Act(
        "forges-a-row-of-the-ledger",
        "import sqlite3\n"
        "db = sqlite3.connect('file:' + given['outside'] + '/ledger.sqlite?mode=rw', uri=True)\n"
        "db.execute('update episodes set outcome = \"success\"'); db.commit()",
        "unable to open",
    ),
    Act(
        "forges-the-result",
        "open(given['outside'] + '/result.json', 'r+').write('{\"success\": 1.0}')",
        "FileNotFoundError",
    ),
    Act(
        "swaps-a-policy-of-the-run",
        "open(given['outside'] + '/policy.safetensors', 'r+').write('better')",
        "FileNotFoundError",
    ),
    Act(
        "edits-the-verifier",
        "open(given['pack'] + '/verify.py', 'a').write('')",
        "Read-only file system|Permission denied",
        less={"pack": "."},
    ),
    Act(
        "puts-a-compiled-verifier-in-its-place",
        "os.makedirs(given['pack'] + '/__pycache__', exist_ok=True)\n"
        "open(given['pack'] + '/__pycache__/verify.cpython-312.pyc', 'wb')",
        "Read-only file system|Permission denied",
        less={"pack": "."},
    ),
    Act(
        "edits-how-seeds-are-drawn",
        "os.makedirs(given['package'] + '/rollout/evaluation', exist_ok=True)\n"
        "open(given['package'] + '/rollout/evaluation/seeds.py', 'a')",
        "Read-only file system|Permission denied",
        less={"package": "."},
    ),
    Act(
        "edits-the-interpreter-s-packages",
        "open(given['packages'] + '/cheat.pth', 'w')",
        "Read-only file system",
        given={"packages": os.path.dirname(os.path.dirname(np.__file__))},
        less={"packages": "."},
    ),
    Act(
        "sets-the-clock-back-under-its-budget",
        "call({'x86_64': 272, 'aarch64': 97}[os.uname().machine], 0x80)\n"
        "open('/proc/self/timens_offsets', 'w').write('boottime -10 0')",
        "Operation not permitted",
        Allowed.LOOSE,
    ),
)


@pytest.mark.parametrize("act", RECORDS, ids=str)
def test_records_are_out_of_reach(act: Act, place: Arena) -> None:
    place.tidy()
    run_files(place)
    allowed = place.control(act)
    assert allowed.done, f"the control came to nothing: {allowed.said}"
    place.tidy()
    run_files(place)
    before = {path.name: path.read_bytes() for path in place.outside.iterdir()}
    came = place.tried(act)
    assert not came.done
    assert_said(act.held, came.said)
    assert before == {path.name: path.read_bytes() for path in place.outside.iterdir()}


class TestFrozen:
    """What was frozen is what is tried."""

    def test_checkpoint_swapped_in_the_workspace(self, tmp_path: Path) -> None:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*"]
        (workspace / "policy.py").write_text(HONEST)
        (workspace / "weights").write_text("frozen")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run([*git, *words], cwd=workspace, check=True)
        hand_over(workspace)
        repository = Repository(tmp_path / "repository")
        repository.create()
        commit = repository.fetch(workspace, "one")
        policy = ProgramPolicy.of(repository.files(commit), "reach", 2, 7, commit)
        (workspace / "weights").write_text("better")
        assert (workspace / "weights").read_text() == "better"
        assert policy.files["weights"] == b"frozen"
        assert repository.files(commit)["weights"] == b"frozen"

    def test_checkpoint_swapped_in_the_run(self, tmp_path: Path) -> None:
        run = Run.create(tmp_path / "run", {"task": "reach"})
        policy = program()
        run.save_policy("p", policy.tensors(), {"kind": "program", "spec": policy.spec.to_json()})
        tensors, metadata = run.load_policy("p")
        assert ProgramPolicy.load(metadata["spec"], tensors) == policy
        (file,) = (tmp_path / "run" / "policies").iterdir()
        data = file.read_bytes()
        file.write_bytes(data.replace(b"0.008", b"0.009"))
        with pytest.raises(StoreError, match="not what was recorded"):
            run.load_policy("p")

    def test_files_of_another_program(self) -> None:
        mine, other = program(), program(STILL)
        spec = mine.spec.to_json()
        assert ProgramPolicy.load(spec, mine.tensors()) == mine
        with pytest.raises(PolicyError, match="changed after the policy was frozen"):
            ProgramPolicy.load(spec, other.tensors())

    def test_changes_its_own_files_while_it_runs(self, stations: Stations) -> None:
        code = "open(os.path.dirname(__file__) + '/policy.py', 'a').write('#')"
        (episode,) = tried(stations, program(code))
        assert "Read-only file system" in episode.verdict.reason
        code = "open('/tmp/policy.py', 'a').write('#')"
        (episode,) = tried(stations, program(code))
        assert episode.success  # the control: what it writes where it may

    def test_verifier_of_another_hash(self, tmp_path: Path) -> None:
        pack = find("tasks", "pick_cube")
        for name in ("same", "edited"):
            shutil.copytree(pack.folder, tmp_path / name, ignore=shutil.ignore_patterns("__*"))
        (tmp_path / "edited" / "task.py").open("a").write("\n# every episode is a success\n")
        assert find("tasks", str(tmp_path / "same")).sha256 == pack.sha256
        assert find("tasks", str(tmp_path / "edited")).sha256 != pack.sha256


class TestSealedSeeds:
    """They follow from nothing that is known when a policy is frozen."""

    PREDICT = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from itertools import islice\nfrom enpire.rollout.evaluation.seeds import stream\n"
        "print(json.dumps(list(islice(stream(0, sys.argv[2]), 3))))"
    )

    def test_predicted_in_the_sandbox(self) -> None:
        predicted: dict[str, list[int]] = {}
        for name in ("compare", "sealed"):
            words = [self.PREDICT, str(harness()[0].parent), name]
            ended = Sandbox(readable=harness()).run([bubblewrap.python(), "-I", "-c", *words])
            predicted[name] = json.loads(ended.out)
        known = stream(0, "compare")  # the control: under a run's seed all streams are known
        assert predicted["compare"] == [next(known) for _ in range(3)]
        drawn = [next(stream(fresh_entropy(), "sealed")) for _ in range(3)]
        assert not set(drawn) & set(predicted["sealed"])
        assert len(set(drawn)) == 3


def test_worker_imports_nothing_of_the_harness() -> None:
    """Before the policy is there, nothing is that it could have been given."""
    text = Path(policy_worker.__file__).read_text()
    assert "from enpire" not in text
    assert "import enpire" not in text
