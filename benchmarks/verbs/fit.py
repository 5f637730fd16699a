"""`enpire bench fit`: how well what is hidden in twins is found again."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.cli.options.twin import arms_of, handling_of
from enpire.option_values import more_than_zero, natural, positive

if TYPE_CHECKING:
    from benchmarks.fit import Draw
    from enpire.identification.arms import ArmsModel, Handling
    from enpire.identification.motion import Waves

RATE = 100.0  # of setpoints [Hz]


def add_options(parser: Parser) -> None:
    """Those of `fit` alone."""
    group = parser.add_argument_group("fit")
    group.add_argument(
        "--cases",
        default="so101,fr3,pick_cube",
        metavar="A,B",
        help="robots to fit, or tasks with an object (default so101,fr3,pick_cube)",
    )
    group.add_argument(
        "--draws",
        type=positive,
        default=10,
        metavar="N",
        help="draws of hidden parameters for each case (default 10)",
    )
    group.add_argument(
        "--motion-s",
        type=more_than_zero,
        default=12.0,
        metavar="S",
        help="length of the motion [s] (default 12)",
    )
    group.add_argument(
        "--evaluations",
        type=natural,
        default=100,
        metavar="N",
        help="motions to compare in the search for the one that is played; 0: take a random "
        "one (default 100)",
    )
    group.add_argument(
        "--fits-in",
        type=Path,
        metavar="DIR",
        default=Path("runs/fit"),
        help="folder of all draws (default runs/fit)",
    )


def run(options: Namespace) -> int:
    """Fit the draws that are missing, one of each case in turn; print the table."""
    from benchmarks import fit as bench
    from enpire.packs import available

    tasks = available("tasks")
    cases = {
        name: handling_of(name, "bench") if name in tasks else arms_of(name, "bench")
        for name in options.cases.split(",")
    }
    draws: list[Draw] = []
    for number in range(options.draws):
        for name, arms in cases.items():
            folder = _folder(options, name, arms)
            found = bench.kept(folder, number)
            if found is None:
                waves = _waves(folder, _alone(arms), options)
                found = _measure(name, number, arms, waves, options)
                bench.keep(folder, found)
                print(_line(found), flush=True)
            draws.append(found)
    print(bench.markdown(draws))
    if options.json:
        print_json({"rows": [asdict(row) for row in bench.rows(draws)]})
    return 0


def _alone(arms: ArmsModel | Handling) -> ArmsModel:
    from enpire.identification.arms import Handling

    return arms.free if isinstance(arms, Handling) else arms


def _folder(options: Namespace, name: str, arms: ArmsModel | Handling) -> Path:
    """Of a case's draws: others of the pack, or of other motions, are in another one."""
    motion = f"{options.motion_s:g}s-{options.evaluations}-{options.seed}"
    folder: Path = options.fits_in / f"{name}-{_alone(arms).scene.robot.sha256[:8]}-{motion}"
    return folder


def _waves(folder: Path, arms: ArmsModel, options: Namespace) -> Waves:
    """The motion that tells most, or a random one; looked for once."""
    import numpy as np

    from benchmarks import fit as bench
    from enpire.identification.explore import Information, explore
    from enpire.identification.motion import draw
    from enpire.identification.play import ArmNoise

    found = bench.kept_waves(folder)
    if found is None:
        rng = np.random.default_rng(options.seed)
        found = draw(arms.scene, rng, RATE)
        if options.evaluations:
            information = Information(arms, ArmNoise(), RATE)
            found = explore(information, rng, options.evaluations, options.motion_s).waves
        bench.keep_waves(folder, found)
    return found


def _measure(
    name: str, number: int, arms: ArmsModel | Handling, waves: Waves, options: Namespace
) -> Draw:
    import numpy as np

    from benchmarks.fit import Draw
    from benchmarks.hidden_parameters import recover, recover_handling
    from enpire.identification.arms import Handling
    from enpire.identification.handle import Moves, handling
    from enpire.identification.motion import draw, motion
    from enpire.identification.play import ArmNoise

    rng = np.random.default_rng((options.seed, number))
    scene = _alone(arms).scene
    played = motion(scene, waves, options.motion_s, RATE)
    other = motion(scene, draw(scene, rng, RATE), options.motion_s, RATE)
    if isinstance(arms, Handling):
        handled = handling(arms.held.scene, Moves(), RATE)
        found = recover_handling(arms, played, handled, other, ArmNoise(), rng)
    else:
        found = recover(arms, played, other, ArmNoise(), rng)
    return Draw.of(name, number, found)


def _line(found: Draw) -> str:
    from benchmarks import fit as bench

    of_all = bench.rows([found])[-1]
    return (
        f"{found.case}, draw {found.number}: {of_all.close} of {of_all.count} within 5%, "
        f"{of_all.holds} intervals hold the truth"
    )
