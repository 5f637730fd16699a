"""Stations and trainers on other machines, as actors of a Ray cluster."""

from enpire.cluster.cells import ClusterCells, open_cells
from enpire.cluster.connection import Cluster
from enpire.cluster.host import Order
from enpire.cluster.trainer import Elsewhere

__all__ = ["Cluster", "ClusterCells", "Elsewhere", "Order", "open_cells"]
