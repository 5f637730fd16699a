"""Inside of a sandbox: runs an agent's policy, and says over a pipe what it does.

Run as a script, `policy_worker.py FOLDER OBSERVATION ACTION`. `policy.py` in the folder has a
function `make(observation, action)`, given the entries of an observation and of an action, that
returns an object with

    begin(row): an episode begins on station `row`; forget the last one there.
    act(rows, observations): actions (m, action) for stations `rows` (m,) that see `observations`
        (m, observation); or plans (m, k, action), of k actions to be carried out one after the
        other before it is asked again.
    saw(row, observations): if it has one: what was seen (k, observation), oldest first, while a
        plan was carried out.

It is told nothing else: not the seed, nor whether it is evaluated. It may read its own folder, and
compute; it cannot reach a network, a run or another process, and what it writes is lost with it.

A question is three numbers (uint32: stations that begin, stations that act, observations in all),
the rows (int32) of the former and of the latter, how many observations the latter have (int32), and
these (float32), each station's oldest first. An answer is m and k (uint32), then m k actions
(float32). The first answer, to no question, is two zeros: it is ready. All little-endian.
"""

from __future__ import annotations

import importlib
import os
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

QUESTION, ANSWER = struct.Struct("<III"), struct.Struct("<II")


def serve(policy: Any, asked: BinaryIO, answers: BinaryIO, size: int) -> None:
    """Answer until the other side closes."""
    saw = getattr(policy, "saw", None)
    while len(head := asked.read(QUESTION.size)) == QUESTION.size:
        begun, acting, seen = QUESTION.unpack(head)
        for row in np.frombuffer(asked.read(4 * begun), "<i4").tolist():
            policy.begin(row)
        rows = np.frombuffer(asked.read(4 * acting), "<i4")
        counts = np.frombuffer(asked.read(4 * acting), "<i4")
        observations = np.frombuffer(asked.read(4 * seen * size), "<f4").reshape(seen, size)
        ends = np.cumsum(counts)
        if saw is not None:
            for row, count, end in zip(rows.tolist(), counts.tolist(), ends.tolist(), strict=True):
                if count > 1:
                    saw(row, observations[end - count : end - 1])
        actions = np.asarray(policy.act(rows, observations[ends - 1]), "<f4")
        plans = actions[:, None] if actions.ndim == 2 else actions
        answers.write(ANSWER.pack(plans.shape[0], plans.shape[1]) + plans.tobytes())
        answers.flush()


def main() -> None:
    """Serve; what the policy prints goes to stderr, so that it cannot mix with the answers."""
    folder, observation, action = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.path.append(str(Path(__file__).resolve().parents[3]))  # of this package
    sys.path.insert(0, folder)
    policy = importlib.import_module("policy").make(observation, action)
    answers.write(ANSWER.pack(0, 0))
    answers.flush()
    serve(policy, asked, answers, observation)


if __name__ == "__main__":
    main()
