"""What maps observations to chunks of actions."""

from enpire.policies.chunk import ChunkPolicy, ChunkSpec
from enpire.policies.driver import PolicyController
from enpire.policies.variation import variations

__all__ = ["ChunkPolicy", "ChunkSpec", "PolicyController", "variations"]
