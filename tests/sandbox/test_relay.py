"""The relay: a command finds the way to its model where it says `{model}`."""

from __future__ import annotations

import json
import subprocess
import sys

from enpire.sandbox import relay

SAY = "import json, os, sys; print(json.dumps([sys.argv[1], os.environ['AT']]))"


def said() -> list[str]:
    command = [sys.executable, "-I", "-S", "-c", SAY, "{model}/api"]
    words = [sys.executable, relay.__file__, "/nowhere.sock", *command]
    done = subprocess.run(words, capture_output=True, env={"AT": "{model}"}, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_words_and_environment_hold_the_address() -> None:
    word, variable = said()
    assert word == f"{variable}/api"
    assert variable.startswith("http://127.0.0.1:")


def test_another_port_is_taken_where_its_own_is() -> None:
    with relay.listen(0) as taken:
        port = taken.getsockname()[1]
        with relay.listen(port) as other:
            assert other.getsockname()[1] != port
