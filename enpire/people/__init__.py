"""People at the stations: a page with a live view, hands that act by it, one for many stations."""

from enpire.people.desk import OneHelper
from enpire.people.devices import Device, Leading, Posture, Steering
from enpire.people.hands import Command, Hands
from enpire.people.page import Page
from enpire.people.person import Person
from enpire.people.view import View

__all__ = [
    "Command",
    "Device",
    "Hands",
    "Leading",
    "OneHelper",
    "Page",
    "Person",
    "Posture",
    "Steering",
    "View",
]
