"""A live page on a run, or on a folder of runs: `enpire dash`."""
