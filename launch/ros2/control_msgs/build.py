"""Build the part of `control_msgs` that FollowJointTrajectory needs, where there is no ROS 2.

python launch/ros2/control_msgs/build.py FOLDER
export PYTHONPATH=FOLDER:$PYTHONPATH

For machines with the rclpy of `pip install "enpire[ros2]"`, whose wheels bring headers, libraries
and message generators, and no control_msgs. It needs gcc, g++ and Python's headers, and downloads
nothing. A sourced ROS 2 installation has the whole package (ros-DISTRO-control-msgs).
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

PACKAGE = "control_msgs"
HERE = Path(__file__).resolve().parent
PREFIX = Path(sys.prefix)
C, PYTHON, DISPATCH = "rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c"
SUPPORTS = ["rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c"]  # of the wheels
USED = [  # packages of messages that ours are made of
    "action_msgs",
    "builtin_interfaces",
    "geometry_msgs",
    "service_msgs",
    "std_msgs",
    "trajectory_msgs",
    "type_description_interfaces",
    "unique_identifier_msgs",
]
LIBRARIES = [DISPATCH, *SUPPORTS, "rosidl_runtime_c", "rcutils", "rmw", "fastcdr"]


def build(folder: Path) -> None:
    """Put the package into `folder`, whole or not at all.

    Raises ImportError without the generators, CalledProcessError if it does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made, package = Path(scratch) / "made", Path(scratch) / PACKAGE
        generate(made)
        for source in (made / PYTHON / PACKAGE).rglob("*.py"):
            target = package / source.relative_to(made / PYTHON / PACKAGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        (package / "__init__.py").touch()
        # Whoever dispatches looks for the supports by these names, and finds them loaded.
        ours = [library(made, [C], package / f"lib{PACKAGE}__{C}.so")]
        ours += [
            library(made, [part], package / f"lib{PACKAGE}__{part}.so", ours) for part in SUPPORTS
        ]
        library(made, [PYTHON, DISPATCH], package / f"{PACKAGE}_s__{DISPATCH}.so", ours)
        package.rename(folder / PACKAGE)


def generate(folder: Path) -> None:
    """Sources of each part in `folder`/PART/control_msgs."""
    os.environ["AMENT_PREFIX_PATH"] = str(PREFIX)  # where generators look for their templates
    from rosidl_adapter.action import convert_action_to_idl
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    idl = folder / "idl"
    files = []
    for path in sorted([*HERE.glob("*/*.msg"), *HERE.glob("*/*.action")]):
        convert = convert_msg_to_idl if path.suffix == ".msg" else convert_action_to_idl
        relative = path.relative_to(HERE)
        with contextlib.redirect_stdout(io.StringIO()):
            convert(HERE, PACKAGE, relative, idl / relative.parent)
        files.append(f"{idl}:{relative.with_suffix('.idl')}")
    shared = [str(PREFIX / "share" / package) for package in USED]
    for part, generator in {
        C: GenerateC(C),
        PYTHON: GeneratePython(PYTHON, typesupport_implementations=[DISPATCH]),
        SUPPORTS[0]: GenerateFastRTPSCTypesupport(SUPPORTS[0]),
        SUPPORTS[1]: GenerateIntrospectionCTypesupport(SUPPORTS[1]),
        DISPATCH: GenerateCTypesupport(DISPATCH, typesupport_implementations=SUPPORTS),
    }.items():
        generator.generate(PACKAGE, files, shared, output_path=folder / part / PACKAGE)


def library(made: Path, parts: list[str], target: Path, ours: Sequence[Path] = ()) -> Path:
    """Compile `parts` and link them to a shared library, which needs those of `ours`."""
    import numpy

    include = PREFIX / "include"
    headers = [sysconfig.get_path("include"), numpy.get_include(), include]
    words = [f"-I{each}" for each in (*made.iterdir(), *headers, *sorted(include.iterdir()))]
    objects = []
    for part in parts:
        for source in sorted([*(made / part).rglob("*.c"), *(made / part).rglob("*.cpp")]):
            compiler = ["gcc"] if source.suffix == ".c" else ["g++", "-std=c++17"]
            objects.append(f"{source}.o")
            compile_ = [*compiler, "-c", "-fPIC", "-O1", *words, str(source), "-o", objects[-1]]
            subprocess.run(compile_, check=True)
    libraries = [f"-l{name}" for name in LIBRARIES]
    libraries += [f"-l{package}__{part}" for package in USED for part in (*SUPPORTS, DISPATCH, C)]
    libraries += [f"-l{package}__{PYTHON}" for package in USED]
    found = [f"-L{PREFIX / 'lib'}", "-Wl,--as-needed", *libraries]
    paths = ["-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{PREFIX / 'lib'}", f"-Wl,-soname,{target.name}"]
    needed = ["-Wl,--no-as-needed", *map(str, ours)]
    subprocess.run(
        ["g++", "-shared", "-o", str(target), *objects, *paths, *needed, *found], check=True
    )
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build(Path(sys.argv[1]).resolve())
