"""`enpire twin gap`: where the twin and what was recorded part."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.cli.options.twin import add_arms, add_recordings, arms_of, recorded
from enpire.option_values import more_than_zero
from enpire.session.progress_bar import counted

DESCRIPTION = """\
Replay recorded setpoints to the twin's arms, and say where what they do and what was recorded part:
when, in which joint, and whether its setpoint stood still, moved, had just turned round, or the
hand held something. The arms move alone: contact shows as parting."""


def add_options(parser: Parser) -> None:
    """The options of `enpire twin gap`."""
    add_recordings(parser)
    add_arms(parser)
    parser.add_argument(
        "--tolerance",
        type=more_than_zero,
        default=5.0,
        metavar="MRAD",
        help="error above which twin and recording count as apart [mrad] (default 5)",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="picture of the errors over time to write, .png or .svg",
    )
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")


def run(options: Namespace) -> int:
    """Replay, print, plot."""
    from collections import Counter

    import numpy as np

    from enpire.identification import gap as gaps

    robot, recordings = recorded(options)
    arms = arms_of(robot, options.world)
    found = [gaps.gap(arms, each, arms.nominal) for each in counted(recordings, "recordings")]
    table = gaps.by_phase(found)
    joints = found[0].joints
    print(f"{len(found)} recordings, twin of {robot} in {options.world}; RMS error [mrad]")
    print(f"{'joint':<16}" + "".join(f"{phase:>10}" for phase in table))
    for k, joint in enumerate(joints):
        cells = (f"{1e3 * table[phase][k]:>10.3g}" for phase in table)
        print(f"{joint:<16}" + "".join(cells))
    parted = [p for each in found for p in each.parted(1e-3 * options.tolerance) if p is not None]
    print(f"above {options.tolerance:g} mrad:")
    counts = Counter((joint, phase) for _, joint, phase in parted)
    for (joint, phase), count in counts.most_common():
        first = np.median([s for s, j, p in parted if (j, p) == (joint, phase)])
        print(f"  {joint}, {phase}: first in {count} of {len(found)}, median at {first:.2f} s")
    if not parted:
        print("  nothing")
    if options.plot is not None:
        gaps.plot(found, options.plot)
        print(options.plot)
    if options.json:
        print_json(
            {
                "joints": joints,
                "rms_rad": {
                    phase: [None if np.isnan(v) else float(v) for v in values]
                    for phase, values in table.items()
                },
                "parted": [{"s": s, "joint": j, "phase": p} for s, j, p in parted],
            }
        )
    return 0
