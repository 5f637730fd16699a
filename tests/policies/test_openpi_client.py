"""openpi's own client against our server, in an interpreter of its own: it pins an older NumPy.

`ENPIRE_SIMULATORS` is the folder with `openpi/bin/python` (`docs/remote-policies.md`).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import build_stations
from enpire.policies import ChunkPolicy
from enpire.policies.remote.server import ChunkServer, serving
from tests.policies.test_remote import listening, spec

pytestmark = pytest.mark.slow  # test_remote.py has quicker ones

PYTHON = Path(os.environ.get("ENPIRE_SIMULATORS", "/nowhere"), "openpi", "bin", "python")
CLIENT = """
import json, sys
import numpy as np
from openpi_client.action_chunk_broker import ActionChunkBroker
from openpi_client.websocket_client_policy import WebsocketClientPolicy

port, size = map(int, sys.argv[1:])
policy = WebsocketClientPolicy(host="127.0.0.1", port=port)
seen = {"observation/state": np.zeros(size, np.float32), "prompt": "pick up the cube"}
chunk = policy.infer(seen)["actions"]
broker = ActionChunkBroker(policy, action_horizon=2)
by_one = [broker.infer(seen)["actions"].tolist() for _ in range(2)]
try:
    policy.infer({"observation/state": np.zeros(1, np.float32)})
    refused = ""
except Exception as error:
    refused = str(error)
said = {"chunk": chunk.tolist(), "by_one": by_one, "refused": refused}
print(json.dumps(said | {"task": policy.get_server_metadata()["task"]}))
"""


def test_openpis_own_client_acts_by_our_server() -> None:
    if not PYTHON.is_file():
        pytest.skip(f"there is no {PYTHON} with openpi-client")
    stations = build_stations("pick_cube", 1, threads=1)
    policy = ChunkPolicy(spec(stations))
    with listening(serving(ChunkServer(policy, stations, "abc"), "127.0.0.1", 0)) as address:
        port = address.rpartition(":")[2]
        words = [str(PYTHON), "-c", CLIENT, port, str(stations.observation_size)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["task"] == "pick_cube"
    assert np.shape(said["chunk"]) == (policy.spec.chunk, stations.action_size)
    np.testing.assert_allclose(said["by_one"], said["chunk"][:2])
    assert "are taken" in said["refused"], "what is wrong, by our own error"
