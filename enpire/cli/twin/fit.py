"""`enpire twin fit`: the twin of a station, from what its arms did."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.cli.options.twin import (
    add_arms,
    add_recordings,
    add_task,
    arms_of,
    handling_of,
    recorded,
)
from enpire.errors import UsageError
from enpire.option_values import natural
from enpire.session.progress_bar import progress_bar

if TYPE_CHECKING:
    from enpire.identification.fit import ParameterFit
    from enpire.identification.recording import Recording
    from enpire.identification.world import HeldOut

DESCRIPTION = """\
Fit what no data sheet tells of a station's arms (friction, damping, rotors' inertia, gains of the
servos, latency, payload; with --task the mass and the friction of what they handle) to what they
did, and write a world pack: `--world` of loop and eval then
draws its arms from what is known. docs/identification.md."""

EVERY = 5  # recording that is held out, if there are enough


def add_options(parser: Parser) -> None:
    """The options of `enpire twin fit`."""
    add_recordings(parser)
    add_arms(parser)
    add_task(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the world pack to write, such as sim/NAME (default: none is written)",
    )
    parser.add_argument(
        "--held-out",
        type=natural,
        metavar="N",
        help="recordings, the last ones, that only test the fit (default: one in five)",
    )
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")


def run(options: Namespace) -> int:
    """Fit, print, write."""
    from enpire.identification import fit as fitting
    from enpire.identification.fit_handling import fit_handling
    from enpire.identification.world import HeldOut, write_world

    robot, recordings = recorded(options)
    recordings.sort(key=lambda each: not each.handled)  # those are not held out: they come first
    count = sum(not each.handled for each in recordings)
    last = options.held_out if options.held_out is not None else -(-count // EVERY) * (count > 1)
    if last >= count:
        raise UsageError(f"{last} of {count} recordings held out leave none to fit")
    used, tests = recordings[: len(recordings) - last], recordings[len(recordings) - last :]
    if options.task is None:
        arms = arms_of(robot, options.world)
        with progress_bar("fitting the arms"):
            found = fitting.fit(arms, used)
    else:
        handling = handling_of(options.task, options.world)
        arms = handling.free
        if arms.scene.robot.name != robot:
            raise UsageError(f"{options.task} is for {arms.scene.robot.name}, not for {robot}")
        with progress_bar("fitting what is handled"):
            found = fit_handling(handling, used)
    held = None
    if tests:
        mine = len(arms.names)
        packs, fitted = (
            fitting.errors(arms, tests, values[:mine]) for values in (found.nominal, found.values)
        )
        held = HeldOut(sum(each.seconds for each in tests), packs, fitted)
    _tell(found, used, held)
    if options.out is not None:
        scene = arms.scene
        write_world(options.out, scene.world, scene.robot, found, used, held)
        print(f"{options.out}: a world pack; enpire eval --world {options.out} draws arms from it")
    if options.json:
        print_json(_json(found, held))
    return 0


def _tell(fit: ParameterFit, used: list[Recording], held: HeldOut | None) -> None:
    seconds = sum(each.seconds for each in used)
    kept, left = fit.rows
    print(f"{len(used)} recordings, {seconds:.0f} s; {kept} rows used, {left} left out as outliers")
    print(f"{'parameter':<28}{'value':>10}  {'95% interval':<22}{'of pack':>10}")
    rows = zip(fit.names, fit.values, fit.low, fit.high, fit.nominal, fit.shown, strict=True)
    for name, value, low, high, nominal, shown in rows:
        interval = f"[{low:.4g}, {high:.4g}]"
        mark = "" if shown else "  not shown by these recordings"
        print(f"{name:<28}{value:>10.4g}  {interval:<22}{nominal:>10.4g}{mark}")
    if held is None:
        print("held out: nothing")
        return
    for signal, unit in (("position", "mrad"), ("velocity", "mrad/s"), ("effort", "mN m")):
        pair = [1e3 * getattr(errors, signal) for errors in (held.packs, held.fit)]
        if all(value != value for value in pair[0]):  # not a number: it was not recorded
            continue
        texts = [" ".join(f"{v:.3g}" for v in values) for values in pair]
        print(f"held out {held.seconds:.0f} s, {signal} [{unit}] by axis: {texts[0]} of the packs")
        print(f"{'':<{len(f'held out {held.seconds:.0f} s, ')}}{'':<9}{texts[1]} of the fit")


def _json(fit: ParameterFit, held: HeldOut | None) -> dict[str, object]:
    result: dict[str, object] = {
        "parameters": {
            name: {
                "value": fit.values[i],
                "low": fit.low[i],
                "high": fit.high[i],
                "of_pack": fit.nominal[i],
                "shown": bool(fit.shown[i]),
            }
            for i, name in enumerate(fit.names)
        },
        "rows": fit.rows,
    }
    if held is not None:
        result["held_out"] = {
            "seconds": held.seconds,
            "position_of_packs": held.packs.position.tolist(),
            "position_of_fit": held.fit.position.tolist(),
        }
    return result
