"""People at the stations: a page with a live view, hands that act by it, one for many stations."""

from enpire.people.desk import OneHelper
from enpire.people.devices import Device, Leading, Posture, TwistDevice
from enpire.people.hands import Hands
from enpire.people.operator_command import OperatorCommand
from enpire.people.page import Page
from enpire.people.person import Person
from enpire.people.view import LiveView

__all__ = [
    "Device",
    "Hands",
    "Leading",
    "LiveView",
    "OneHelper",
    "OperatorCommand",
    "Page",
    "Person",
    "Posture",
    "TwistDevice",
]
