"""The catalogue of inputs: how many there are, by the door they come in by; docs/inputs.md."""

from __future__ import annotations

from collections import Counter

from tests.inputs import (
    command_lines,
    datasets,
    environments,
    files,
    folders,
    joint_states,
    movements,
    recipes,
    recorded,
    recordings,
    scripts,
    servers,
    stations,
    symmetries,
    task_environments,
    tasks,
    worlds,
)

DOORS = {
    "datasets": (*datasets.ALL, *recordings.ALL, *movements.ALL),
    "environments": environments.ALL,
    "servers": servers.ALL,
    "policy folders": folders.ALL,
    "files": files.FILES,
    "worlds and robots": worlds.ALL,
    "stations": stations.ALL,
    "symmetries": symmetries.ALL,
    "scripts": scripts.ALL,
    "task packs": files.TASKS,
    "tasks' answers": tasks.ALL,
    "joint states": joint_states.ALL,
    "recipes": recipes.ALL,
    "tasks as environments": task_environments.ALL,
    "recorded motion and pictures": recorded.ALL,
    "command lines": command_lines.ALL,
}
FEWEST = {
    "datasets": 29,
    "environments": 57,
    "servers": 100,
    "policy folders": 30,
    "files": 130,
    "worlds and robots": 30,
    "stations": 80,
    "symmetries": 35,
    "scripts": 30,
    "task packs": 10,
    "tasks' answers": 15,
    "joint states": 70,
    "recipes": 130,
    "tasks as environments": 30,
    "recorded motion and pictures": 30,
    "command lines": 30,
}


def test_each_door_has_inputs_and_each_input_a_name_of_its_own() -> None:
    assert DOORS.keys() == FEWEST.keys()
    for door, inputs in DOORS.items():
        assert len(inputs) >= FEWEST[door], door
        again = [name for name, count in Counter(map(str, inputs)).items() if count > 1]
        assert again == [], door
    assert sum(map(len, DOORS.values())) >= 1880
