"""Faults that are planted into the product, each against one promise, and the tests that must fail.

A promise that no test holds is broken by the next change that nobody thinks twice about. Each
mutant is a small replacement in one file: what somebody may do in good faith, or to be done sooner.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.

    Attributes:
        name: what is wrong with the product then.
        file: below `enpire/`.
        old: text that is in the file once.
        new: what it is replaced by.
        tests: below `tests/`, of which at least one must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


DURABLE = "store/test_durable.py"
FSCK = "cli/test_fsck.py"
GATE = "safety/test_gate.py"
REMOTE = "policies/test_remote_limits.py"
BROWSER = f"{REMOTE}::test_pages_of_a_browser_on_this_machine_are_refused"
RUN = "store/test_run.py"
SUPERVISOR = "safety/test_supervisor.py"
WAYS_OUT = "evolution/hostile/test_ways_out.py::test_request_does_not_leave"

STORE = (
    Mutant(
        "no fsync", "store/durable.py", "        os.fsync(handle)\n", "        pass\n", (DURABLE,)
    ),
    Mutant(
        "a file's name is not forced to the disk",
        "store/durable.py",
        '        fault_point("renamed")\n        fsync(path.parent)\n',
        '        fault_point("renamed")\n',
        (DURABLE,),
    ),
    Mutant(
        "files of a folder are not forced to the disk before its name",
        "store/durable.py",
        "                    fsync(Path(folder, name))\n",
        "                    pass\n",
        (DURABLE,),
    ),
    Mutant(
        "a new folder's name is not forced to the disk",
        "store/durable.py",
        "    for folder in new:\n        fsync(folder.parent)\n",
        "",
        ("store/test_power_loss.py::test_some_hundred_states",),
    ),
    Mutant(
        "only the content of an archive is held against what was written",
        "store/archive.py",
        "        if not data.startswith(part, at):\n",
        "        if part in files.values() and not data.startswith(part, at):\n",
        ("store/test_archive.py",),
    ),
    Mutant(
        "the ledger is not forced to the disk",
        "store/ledger_file.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = OFF",
        ("store/test_ledger_file.py",),
    ),
    Mutant(
        "a policy's row comes before its file",
        "store/run.py",
        "        publish_file(self.folder / path, data)\n"
        "        sha256 = hashlib.sha256(data).hexdigest()\n"
        "        row = PolicyRow(name, sha256, path, parent, recipe, round, state)\n"
        "        self.ledger.add_policy(row)\n",
        "        sha256 = hashlib.sha256(data).hexdigest()\n"
        "        row = PolicyRow(name, sha256, path, parent, recipe, round, state)\n"
        "        self.ledger.add_policy(row)\n"
        "        publish_file(self.folder / path, data)\n",
        ("store/test_crash.py::test_killed_at_every_step",),
    ),
    Mutant(
        "a write that fails is passed over",
        "store/durable.py",
        "            temporary.unlink(missing_ok=True)\n            raise\n",
        "            temporary.unlink(missing_ok=True)\n            return\n",
        (DURABLE,),
    ),
    Mutant(
        "the writer's thread keeps an error to itself",
        "store/writer.py",
        "                self._error = error\n",
        "                pass\n",
        ("store/test_writer.py",),
    ),
    Mutant(
        "two processes write one run",
        "store/lock.py",
        "            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            pass\n",
        (f"{RUN}::test_a_second_writer_is_refused_and_a_reader_is_not",),
    ),
    Mutant(
        "opening deletes what has no row",
        "store/orphans.py",
        "            (folder / path).rename(target)\n            fsync(target.parent)\n",
        "            (folder / path).unlink(missing_ok=True)\n",
        ("store/test_orphans.py::test_opening_for_writing_deletes_nothing",),
    ),
    Mutant(
        "an episode is recorded twice",
        "store/run.py",
        "            self._require_new([episode.id for episode in kept])\n",
        "",
        (f"{RUN}::test_an_id_is_used_once",),
    ),
    Mutant(
        "a batch is not held against its hash",
        "store/episodes.py",
        "    if sha256 is not None and digest(files) != sha256:\n",
        "    if False:\n",
        (f"{RUN}::test_an_altered_batch_is_not_read",),
    ),
    Mutant(
        "a policy is not held against its hash",
        "store/weights.py",
        "        if found != sha256:\n",
        "        if False:\n",
        (f"{RUN}::test_a_policy_is_never_replaced_and_is_checked",),
    ),
    Mutant(
        "rows are not held against the chain",
        "store/chain.py",
        "            if _digest(streams[table].until(last)) != digest:\n",
        "            if streams[table].until(last) is None:\n",
        ("store/test_chain.py",),
    ),
    Mutant(
        "any seal will do",
        "store/seal.py",
        "        return not broken(folder)\n",
        "        return True\n",
        ("store/test_chain.py",),
    ),
    Mutant(
        "a ledger is sealed without another look at it",
        "store/run.py",
        "            if whole:\n",
        "            if True:\n",
        ("store/test_chain.py",),
    ),
    Mutant(
        "a seal stays while the ledger is written",
        "store/seal.py",
        "        (folder / SEAL).unlink(missing_ok=True)\n",
        "        pass\n",
        ("store/test_power_loss.py::test_some_hundred_states",),
    ),
    Mutant(
        "fsck does not hold rows against their episodes",
        "store/agreement.py",
        "def differences(",
        "def differences(*_: object) -> list[str]:\n    return []\n\n\ndef _unused(",
        (f"{FSCK}::test_what_a_chain_cannot_know_the_files_tell",),
    ),
)
VERDICTS = (
    Mutant(
        "recipes see sealed episodes",
        "store/run.py",
        "        without: Purpose | None = Purpose.SEALED,\n",
        "        without: Purpose | None = None,\n",
        (f"{RUN}::test_sealed_episodes_are_left_out_unless_asked_for",),
    ),
    Mutant(
        "help counts as a policy's own success",
        "store/episodes.py",
        "    if episode.helped and episode.purpose in (Purpose.EVALUATION, Purpose.SEALED):\n",
        "    if False:\n",
        ("store/test_episodes.py",),
    ),
    Mutant(
        "what is too near to be measured holds",
        "types.py",
        "        return self.state is PredicateState.PASS\n",
        "        return self.state in (PredicateState.PASS, PredicateState.BOUNDARY)\n",
        ("test_types.py",),
    ),
    Mutant(
        "what was not measured holds",
        "types.py",
        "            return PredicateState.UNSURE\n",
        "            return PredicateState.PASS\n",
        ("test_types.py",),
    ),
    Mutant(
        "a policy voids what it would lose",
        "rollout/evaluation/paired_comparison.py",
        "ours.verdict.outcome in JUDGED or voided(ours)\n",
        "ours.verdict.outcome in JUDGED\n",
        ("evolution/hostile/test_campaigns.py::test_episodes_that_a_candidate_voids_are_failures",),
    ),
    Mutant(
        "sealed seeds are known beforehand",
        "rollout/evaluation/seeds.py",
        "    return secrets.randbits(ENTROPY_BITS)\n",
        "    return 7\n",
        ("rollout/evaluation/test_seeds.py",),
    ),
)
ARMS = (
    Mutant(
        "clamp off",
        "safety/gate.py",
        "    target = np.clip(wanted, limits.low, limits.high)\n",
        "    target = wanted\n",
        (GATE,),
    ),
    Mutant(
        "speed is not limited",
        "safety/gate.py",
        "    wish = np.clip(moving + np.copysign(closing, rest), -limits.speed, limits.speed)\n",
        "    wish = moving + np.copysign(closing, rest)\n",
        (GATE,),
    ),
    Mutant(
        "setpoints that are no numbers go through",
        "safety/gate.py",
        "    if not np.isfinite(wanted).all():\n",
        "    if False:\n",
        (GATE, SUPERVISOR),
    ),
    Mutant(
        "watchdog off",
        "safety/watchdog.py",
        "    return now - stamp > age * 1e9\n",
        "    return False\n",
        (SUPERVISOR,),
    ),
    Mutant(
        "force is not looked at",
        "safety/supervisor.py",
        "> self._limits.wrist_force).any():\n",
        "> np.inf).any():\n",
        (SUPERVISOR,),
    ),
    Mutant(
        "a latched station goes on by itself",
        "safety/machine.py",
        "    (Mode.LATCHED, Event.CLEAR): Mode.HOLDING,\n",
        "    (Mode.LATCHED, Event.CLEAR): Mode.HOLDING,\n"
        "    (Mode.LATCHED, Event.RECOVER): Mode.ARMED,\n",
        ("safety/test_latch.py", SUPERVISOR),
    ),
)
STRANGERS = (
    Mutant(
        "an empty list allows all",
        "model_gateway/allow_list.py",
        '            if f"{method} {asked}" in upstream.allowed:\n',
        '            if not upstream.allowed or f"{method} {asked}" in upstream.allowed:\n',
        ("model_gateway",),
    ),
    Mutant(
        "any path of a model's API is allowed",
        "model_gateway/allow_list.py",
        '            if f"{method} {asked}" in upstream.allowed:\n',
        "            if True:\n",
        (WAYS_OUT,),
    ),
    Mutant(
        "tools that are carried out elsewhere are allowed",
        "model_gateway/allow_list.py",
        "    if kind:\n",
        "    if False:\n",
        (WAYS_OUT,),
    ),
    Mutant(
        "keys reach children",
        "child_environment.py",
        "    low = name.lower()\n",
        "    low = ''\n",
        ("test_child_environment.py",),
    ),
    Mutant(
        "code of a run from elsewhere runs",
        "observe/trust.py",
        "    if not trust and (reason := distrusted(run)):\n",
        "    if trust and (reason := distrusted(run)):\n",
        ("observe/test_trust.py",),
    ),
    Mutant(
        "any token will do",
        "web/access.py",
        "        same = hmac.compare_digest(token.encode(), self.token.encode())\n",
        "        same = True\n",
        (f"{REMOTE}::test_a_token_is_asked_for",),
    ),
    Mutant(
        "pages of other origins come in",
        "web/access.py",
        '        return hmac.compare_digest(origin.encode(), f"http://{host}".encode())\n',
        "        return True\n",
        (BROWSER,),
    ),
    Mutant(
        "any host is ours",
        "web/access.py",
        "            return loopback(name)\n",
        "            return True\n",
        (BROWSER,),
    ),
    Mutant(
        "a body of any length is read",
        "web/limits.py",
        "    if not 0 <= declared <= most:\n",
        "    if False:\n",
        ("people/test_page.py::test_no_body_is_read_beyond_what_hands_can_be",),
    ),
    Mutant(
        "a small message may stand for much",
        "policies/remote/wire.py",
        "        if count > CONTAINERS:\n",
        "        if False:\n",
        (f"{REMOTE}::test_a_message_of_too_many_lists_is_refused_though_it_is_well_formed",),
    ),
)
ALL = (*STORE, *VERDICTS, *ARMS, *STRANGERS)
