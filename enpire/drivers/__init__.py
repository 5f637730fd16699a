"""What speaks to motors: one driver a kind of arm, found by name. Only a supervisor holds one.

Beside the arms a station has cameras, a tracker and perhaps a fixture: its `Wire`.
"""

from enpire.drivers.build import DRIVERS, build, require_settings, settings
from enpire.drivers.driver import CameraDriver, Driver, Picture, Reading, Site, runtime_folder
from enpire.drivers.wire import WIRES

__all__ = [
    "DRIVERS",
    "WIRES",
    "CameraDriver",
    "Driver",
    "Picture",
    "Reading",
    "Site",
    "build",
    "require_settings",
    "runtime_folder",
    "settings",
]
