"""What a person says once, by a key, a button or a device."""

from __future__ import annotations

from enum import Enum


class OperatorCommand(Enum):
    """A command, with its words for a person."""

    GRIPPER = "open or close the gripper"
    GIVE_BACK = "let the policy go on"
    DONE = "have it judged as it is"
    DISCARD = "throw the episode away"
    ARM = "the other arm"
    STATION = "show the next station"
