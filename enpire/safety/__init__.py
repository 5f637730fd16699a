"""The supervisor between every policy and every motor, and the policy's side of it.

Not certified safety: it stands in front of the arm's own safety functions and of a hardware
emergency stop, and replaces neither (`docs/safety.md`).
"""
