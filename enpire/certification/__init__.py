"""Whether a task can be done, cannot be had for nothing, is judged rightly, and repeats."""
