"""What speaks to motors: one driver a kind of arm, found by name. Only a supervisor holds one."""

from enpire.drivers.build import DRIVERS, build
from enpire.drivers.driver import Driver, Picture, Reading, Seeing

__all__ = ["DRIVERS", "Driver", "Picture", "Reading", "Seeing", "build"]
