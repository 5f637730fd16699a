"""Read what a run recorded: as data classes, as arrays, as a pandas frame, as a picture.

It is the newest run in ./runs, or the one that is named after the script.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import enpire

runs = [Path(sys.argv[1])] if len(sys.argv) > 1 else list(Path("runs").glob("*"))
if not runs:
    sys.exit("there is no run yet: begin with 01_hello_loop.py")
run = enpire.Run(max(runs, key=lambda folder: folder.stat().st_mtime))

print(f"{run.folder}: {run.task}, {run.state}, success {run.success}")
for decision in run.decisions:
    print(f"  round {decision.round}, {decision.kind}: {decision.text}")

# One episode. Its arrays are read from the disk now.
episode = run.episodes[0]
print(f"{episode.id}: {episode.outcome}, {episode.robot_s:.1f} s of robot time")
print(f"  observations {episode.observations.shape}, actions {episode.actions.shape}")
print(f"  {episode.times[-1]:.2f} s long")
for predicate in episode.verdict.predicates:
    print(f"  {predicate.name}: {predicate.value:.3g} {predicate.unit}, {predicate.state}")

# All episodes as a table, and how success grew with robot time.
frame = run.episodes_frame()
judged = frame[frame["judged"]]
print(judged.groupby(["round", "purpose", "policy"])["success"].agg(["mean", "count"]))

own = judged[judged["purpose"] != "demonstration"]
plt.plot(own["robot_hours"], own["success"].rolling(20, min_periods=1).mean())
plt.xlabel("robot time [h]")
plt.ylabel("success, mean of the last 20 episodes")
plt.ylim(0, 1.05)
plt.savefig("success.png")
print("success.png: success over robot-hours")
