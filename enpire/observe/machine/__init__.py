"""What this machine can do for enpire, and how to mend what it cannot: `enpire doctor`."""

from enpire.observe.machine.check import CheckState, MachineCheck

__all__ = ["CheckState", "MachineCheck"]
