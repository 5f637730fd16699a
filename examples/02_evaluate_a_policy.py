"""Measure a policy on seeds that it has never seen.

It is the best policy of the newest run in ./runs, or of the run that is named after the script.
"""

import sys
from pathlib import Path

import enpire

runs = [Path(sys.argv[1])] if len(sys.argv) > 1 else list(Path("runs").glob("*"))
if not runs:
    sys.exit("there is no run yet: begin with 01_hello_loop.py")
newest = max(runs, key=lambda folder: folder.stat().st_mtime)

measured = enpire.evaluate(newest, episodes=50, robots=4)
print(measured)  # the success rate with its 95% interval
print("failures by what did not hold:", measured.failures)

# The same seed draws the same episodes, so two policies can be compared on equal terms.
chance = enpire.evaluate("random", task=measured.task, episodes=10, seed=measured.seed)
print(chance)
