"""The command line: `enpire VERB ...`.

Each verb is a module of `enpire.commands` that is imported when it is asked for, and imports what
is heavy when it runs: `enpire --help` answers before anybody wonders.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

from enpire.errors import EnpireError, UsageError, printable
from enpire.version import __version__

VERBS = {
    "loop": ("loop", "improve a policy until it holds its target on sealed seeds"),
    "collect": ("collect", "a person's episodes, or a policy's with a person who helps"),
    "campaign": ("campaign", "agents that try what improves a policy, side by side"),
    "campaign audit": ("audit", "whether a campaign's records agree with each other"),
    "ablate": ("ablate", "campaigns that differ in one thing, side by side in one table"),
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
    "station": ("station", "stations of a run; stations with arms: check, stop, clear, park"),
    "station calibrate": ("calibrate", "where a camera of a station is and how it sees"),
    "station teleop": ("teleop", "an arm follows a leader arm in a person's hand"),
    "twin explore": ("twin_explore", "the motion that tells most of an arm, and have it played"),
    "twin fit": ("twin_fit", "the twin of a station, from what its arms did"),
    "twin gap": ("twin_gap", "where a twin and what was recorded part"),
    "task": ("task", "certify a task: enpire task check NAME"),
    "new": ("new", "begin a task of your own, or have an agent draft it: enpire new task NAME"),
    "tasks": ("tasks", "the tasks that can be found"),
    "robots": ("robots", "the robots that can be found"),
    "recipes": ("recipes", "the recipes that improve a policy, and their settings"),
    "bench": ("bench", "how fast this machine steps a twin in closed loop"),
    "render": ("render", "a picture of a task's twin"),
    "completion": ("completion", "the script that completes all this in bash, zsh or fish"),
}
"""Verb: its module in `enpire.commands`, and a line on it."""

EXIT_CODES = """\
exit codes:
  0  done; for loop and campaign: the target holds on sealed seeds
  1  stopped by an error, or a bar was missed (task check, stress), or records do not agree
     (campaign audit, fsck); what was recorded stays readable
  2  the command line asks for something that is not there
  3  loop, campaign: a budget ended before the target was reached; new task --agent: before there
     was a pack; ablate: there is more to do
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP)"""

INTERRUPTED = 130
LONGEST_MESSAGE = 20_000  # characters: a page of what MuJoCo or LeRobot says is whole


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are one message on stderr."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # of a locale that has no such letters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except EnpireError as error:
        print(f"enpire: {printable(str(error), LONGEST_MESSAGE)}", file=sys.stderr)
        return error.exit_code
    except MemoryError:
        print(
            "enpire: there is no memory left: stop what runs beside. What was recorded is intact",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (| head); what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # no space, no permission, a name too long, links in a circle
        if error.filename is None:  # of no file that anybody named: a fault of ours
            raise
        named = f"{os.fsdecode(error.filename):.200}"
        print(f"enpire: {named}: {error.strerror}; check path and disk", file=sys.stderr)
        return 1


def _run(argv: list[str]) -> int:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UsageError("the folder that this runs in is gone: cd to one that is there") from None
    for word in argv:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{word!a} is no UTF-8, which names in records are: give another name, or "
                "set LC_ALL=C.UTF-8"
            ) from None
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0
    if argv[0] == "--version":
        print(f"enpire {__version__}")
        return 0
    words = 2 if " ".join(argv[:2]) in VERBS else 1
    verb, rest = " ".join(argv[:words]), argv[words:]
    if verb not in VERBS:
        from enpire.packs.finder import unknown

        raise UsageError(unknown("verb", verb, list(VERBS)))
    from enpire.commands.options.parser import Parser

    module, line = VERBS[verb]
    command = importlib.import_module(f"enpire.commands.{module}")
    parser = Parser(f"enpire {verb}", command.DESCRIPTION or line, EXIT_CODES)
    command.add_options(parser)
    parser.set_defaults(verbs=VERBS)  # of whoever speaks of all of them
    try:
        options = parser.parse_args(rest)
    except SystemExit:  # --help was asked for and printed
        return 0
    return int(command.run(options))


def usage() -> str:
    """What `enpire --help` prints."""
    verbs = "\n".join(f"  {verb:<14} {line}" for verb, (_, line) in VERBS.items())
    return (
        "usage: enpire VERB ...\n\n"
        "Robot policies that improve themselves, on real arms and on their MuJoCo twins.\n\n"
        f"verbs:\n{verbs}\n\n"
        "enpire VERB --help says more. Verbs that measure take --json: one object, printed last."
        "\n\n"
        f"{EXIT_CODES}"
    )


if __name__ == "__main__":
    sys.exit(main())
