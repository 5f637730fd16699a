"""A command goes to whoever listens in a station's folder, and its answer comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from enpire.drivers.commands import SOCKET, Caller, Commands
from enpire.errors import SafetyError


@pytest.mark.parametrize("deep", [1, 4])
def test_a_folder_may_lie_deeper_than_a_socket_s_name_is_long(tmp_path: Path, deep: int) -> None:
    folder = tmp_path.joinpath(*["a-folder-of-forty-letters-and-some-more-x"] * deep)
    folder.mkdir(parents=True)
    commands = Commands(folder, lambda word: {"heard": word})
    assert (folder / SOCKET).is_socket()
    with ThreadPoolExecutor(1) as threads:
        caller = Caller(folder)
        said = threads.submit(caller.ask, "stop")
        while not said.done():
            commands.serve()
        assert said.result() == {"heard": "stop"}
    caller.close()
    commands.close()


@pytest.mark.parametrize("name", ["", "missing"])
def test_where_nobody_listens_the_caller_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(SafetyError, match="no station runs"):
        Caller(tmp_path / name, "station")
