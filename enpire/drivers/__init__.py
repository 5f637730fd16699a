"""What speaks to motors: one driver a kind of arm, found by name. Only a supervisor holds one."""

from enpire.drivers.build import DRIVERS, build
from enpire.drivers.driver import Driver, Reading

__all__ = ["DRIVERS", "Driver", "Reading", "build"]
