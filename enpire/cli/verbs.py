"""The table of all verbs, and what their exit codes mean."""

from __future__ import annotations

VERBS = {
    "loop": ("loop", "improve a policy until it holds its target on sealed seeds"),
    "collect": ("collect", "record a person's episodes, or a policy's with a person who helps"),
    "campaign": ("campaign.campaign", "let agents try what improves a policy, side by side"),
    "campaign audit": ("campaign.audit", "check that a campaign's records agree with each other"),
    "ablate": ("campaign.ablate", "compare campaigns that differ in one thing, in one table"),
    "replay": ("replay", "show a recorded episode again, as a video or on a sheet of failures"),
    "list": ("runs", "list the runs of a folder"),
    "show": ("show", "show what happened in a run"),
    "doctor": ("doctor", "check what this machine can do, and say how to mend what it cannot"),
    "copy": ("copy_run", "copy a run, also one that is under way"),
    "fsck": ("fsck", "check that all of a run is as it was recorded"),
    "report": ("report", "write one page on a run, to look at and to pass on"),
    "dash": ("dash", "serve a live page on a run, or on a folder of runs"),
    "eval": ("evaluate", "measure a policy of a run on seeds it has never seen"),
    "rank": ("rank", "compare policies, and say which are shown to be better than which"),
    "stress": ("stress", "measure a policy and its verifier under changes that no training saw"),
    "export lerobot": ("export_lerobot", "write a run's episodes as a LeRobot dataset"),
    "export policy": ("export_policy", "write a run's policy as a folder that LeRobot takes"),
    "import lerobot": ("import_lerobot", "make a run of demonstrations from a LeRobot dataset"),
    "serve policy": ("serve_policy", "serve a policy to other machines, over a websocket"),
    "station": (
        "station.station",
        "pause a run's stations; check, stop, clear and park stations with arms",
    ),
    "station calibrate": (
        "station.calibrate",
        "measure where a camera of a station is and how it sees",
    ),
    "station teleop": ("station.teleop", "let an arm follow a leader arm in a person's hand"),
    "twin explore": ("twin.explore", "find the motion that tells most of an arm, and play it"),
    "twin fit": ("twin.fit", "fit the twin of a station to what its arms did"),
    "twin gap": ("twin.gap", "show where a twin departs from what was recorded"),
    "task": ("task.task", "certify a task: enpire task check NAME"),
    "new": (
        "task.new",
        "begin a task of your own, or have an agent draft it: enpire new task NAME",
    ),
    "tasks": ("tasks", "list the tasks that can be found"),
    "robots": ("robots", "list the robots that can be found"),
    "recipes": ("recipes", "list the recipes that improve a policy, and show their settings"),
    "bench": ("bench", "measure how fast this machine steps a twin in closed loop"),
    "render": ("render", "draw a picture of a task's twin"),
    "completion": ("completion", "print the script that completes all this in bash, zsh or fish"),
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
