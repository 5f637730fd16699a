"""Models' APIs on loopback that speak from a script, and know to the token what they have told."""

from .script import Call, Fault, Heard, Script, Turn, call
from .server import Replay

__all__ = ["Call", "Fault", "Heard", "Replay", "Script", "Turn", "call"]
