"""Cameras: what a calibrated one saw, pictures of a twin, how a scene is made to look."""
