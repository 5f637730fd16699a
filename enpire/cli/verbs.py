"""The table of all verbs, and what their exit codes mean."""

from __future__ import annotations

VERBS = {
    "loop": ("loop", "improve a policy until it holds its target on sealed seeds"),
    "collect": ("collect", "a person's episodes, or a policy's with a person who helps"),
    "campaign": ("campaign.campaign", "agents that try what improves a policy, side by side"),
    "campaign audit": ("campaign.audit", "whether a campaign's records agree with each other"),
    "ablate": ("campaign.ablate", "campaigns that differ in one thing, side by side in one table"),
    "replay": ("replay", "a recorded episode seen again: a video, a sheet of failures"),
    "list": ("runs", "the runs of a folder"),
    "show": ("show", "what happened in a run"),
    "doctor": ("doctor", "what this machine can do, and how to mend what it cannot"),
    "copy": ("copy_run", "a run once more, also one that is under way"),
    "fsck": ("fsck", "whether all of a run is as it was recorded"),
    "report": ("report", "one page on a run, to look at and to pass on"),
    "dash": ("dash", "a live page on a run, or on a folder of runs"),
    "eval": ("evaluate", "measure a policy of a run on seeds it has never seen"),
    "rank": ("rank", "which of several policies are shown to be better than which"),
    "stress": ("stress", "a policy and its verifier under changes that no training saw"),
    "export lerobot": ("export_lerobot", "a run's episodes as a LeRobot dataset"),
    "export policy": ("export_policy", "a run's policy as a folder that LeRobot takes"),
    "import lerobot": ("import_lerobot", "a LeRobot dataset as a run of demonstrations"),
    "serve policy": ("serve_policy", "a policy for other machines, over a websocket"),
    "station": (
        "station.station",
        "stations of a run; stations with arms: check, stop, clear, park",
    ),
    "station calibrate": ("station.calibrate", "where a camera of a station is and how it sees"),
    "station teleop": ("station.teleop", "an arm follows a leader arm in a person's hand"),
    "twin explore": ("twin.explore", "the motion that tells most of an arm, and have it played"),
    "twin fit": ("twin.fit", "the twin of a station, from what its arms did"),
    "twin gap": ("twin.gap", "where a twin and what was recorded part"),
    "task": ("task.task", "certify a task: enpire task check NAME"),
    "new": (
        "task.new",
        "begin a task of your own, or have an agent draft it: enpire new task NAME",
    ),
    "tasks": ("tasks", "the tasks that can be found"),
    "robots": ("robots", "the robots that can be found"),
    "recipes": ("recipes", "the recipes that improve a policy, and their settings"),
    "bench": ("bench", "how fast this machine steps a twin in closed loop"),
    "render": ("render", "a picture of a task's twin"),
    "completion": ("completion", "the script that completes all this in bash, zsh or fish"),
}
"""Verb: its module below `enpire.cli`, and a line on it."""

EXIT_CODES = """\
exit codes:
  0  done; for loop and campaign: the target holds on sealed seeds
  1  stopped by an error, or a bar was missed (task check, stress), or records do not agree
     (campaign audit, fsck); what was recorded stays readable
  2  the command line asks for something that is not there
  3  loop, campaign: a budget ended before the target was reached; new task --agent: before there
     was a pack; ablate: there is more to do
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP)"""
