"""Coding agents that improve recipes; so far, what they stand on: the sandbox and its ways out."""

from enpire.evolution.bubblewrap import hand_over, harness, python
from enpire.evolution.fetching import FetchError, Repository
from enpire.evolution.limits import SandboxLimits
from enpire.evolution.policy_process import PolicyLimits, PolicyProcess
from enpire.evolution.proxy import Proxy
from enpire.evolution.reading import ReadError, read_inside
from enpire.evolution.requests import Upstream
from enpire.evolution.sandbox import (
    Availability,
    CommandResult,
    Confinement,
    Sandbox,
    SandboxError,
    SandboxProcess,
    available,
)
from enpire.evolution.usage import Allowance, Usage
from enpire.policies import ProgramPolicy, ProgramSpec

__all__ = [
    "Allowance",
    "Availability",
    "CommandResult",
    "Confinement",
    "FetchError",
    "PolicyLimits",
    "PolicyProcess",
    "ProgramPolicy",
    "ProgramSpec",
    "Proxy",
    "ReadError",
    "Repository",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxProcess",
    "Upstream",
    "Usage",
    "available",
    "hand_over",
    "harness",
    "python",
    "read_inside",
]
