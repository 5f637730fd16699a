"""The wire of a simulated station on this machine: shared memory for arms and tracker.

The other end is `enpire station sim`. Its folder is `sim` in the station's runtime folder.
"""
