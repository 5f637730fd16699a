"""Episodes as LeRobot datasets (v3), out and in."""

from enpire.datasets.columns import Layout
from enpire.datasets.exported import export
from enpire.datasets.imported import demonstrations

__all__ = ["Layout", "demonstrations", "export"]
