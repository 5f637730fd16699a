"""Policies on other machines, over the websocket protocol of openpi; docs/remote-policies.md."""

from enpire.policies.remote.policy import RemotePolicy, RemoteSpec, is_address

__all__ = ["RemotePolicy", "RemoteSpec", "is_address"]
