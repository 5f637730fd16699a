"""Scalars of a run for the tools that people already use: TensorBoard, W&B, MLflow, Trackio.

`scalars` derives them from what a run has recorded, so they can be told again at any time.
`events` writes TensorBoard's files; each other tracker has a module of its own, which `choice`
picks. `thread` carries new scalars over while a run is under way.
"""
