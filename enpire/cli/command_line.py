"""The command line: `enpire VERB ...`.

Each verb is a module of `enpire.cli` that is imported when it is asked for, and imports what is
heavy when it runs: `enpire --help` answers before anybody wonders.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import sys
from pathlib import Path

from enpire.cli.verbs import EXIT_CODES, VERBS
from enpire.errors import EnpireError, UsageError, printable
from enpire.version import __version__

INTERRUPTED = 130
INSTALLED = "site-packages", "dist-packages"
OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)  # faults of what is written to
UNMAPPED = "failed to map segment"  # a library that finds no room, as by `ulimit -v`
LONGEST_MESSAGE = 20_000  # characters: a page of what MuJoCo or LeRobot says is whole


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are one message on stderr."""
    if sys.stdout is None or sys.stderr is None:  # closed by a shell, as by `>&-`
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if not re.fullmatch("0*[1-9][0-9]{0,3}", os.environ.setdefault("COLUMNS", "")):
        del os.environ["COLUMNS"]  # a terminal of none would show nothing, a vast one break
    if isinstance(sys.stdout, io.TextIOWrapper):  # of a locale that has no such letters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except EnpireError as error:
        print(f"enpire: {printable(str(error), LONGEST_MESSAGE)}", file=sys.stderr)
        return error.exit_code
    except (ImportError, AttributeError) as error:
        if UNMAPPED in str(error):
            return _no_memory()
        if not (file := shadowing()):
            raise
        print(
            f"enpire: {file} is loaded in place of the module of that name that Python has: call "
            "it otherwise, or take its folder out of PYTHONPATH",
            file=sys.stderr,
        )
        return 1
    except MemoryError:
        return _no_memory()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (| head); what is still buffered must not raise again at exit.
        _leave_stdout()
        return 1
    except OSError as error:  # no space, no permission, a name too long, links in a circle
        if error.filename is None and error.errno in OF_OUTPUT:
            _leave_stdout()
            print(f"enpire: standard output: {error.strerror}; write it elsewhere", file=sys.stderr)
            return 1
        if error.filename is None:  # of no file that anybody named: a fault of ours
            raise
        named = f"{os.fsdecode(error.filename):.200}"
        print(f"enpire: {named}: {error.strerror}; check path and disk", file=sys.stderr)
        return 1


def _no_memory() -> int:
    print(
        "enpire: there is no memory left: stop what runs beside. What was recorded is intact",
        file=sys.stderr,
    )
    return 1


def _leave_stdout() -> None:
    """Let what is still buffered go nowhere, for it must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    if "MUJOCO_GL" in os.environ:
        from enpire.session.graphics import require_graphics

        require_graphics()
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
    from enpire.cli.options.parser import Parser

    module, line = VERBS[verb]
    command = importlib.import_module(f"enpire.cli.{module}")
    parser = Parser(f"enpire {verb}", command.DESCRIPTION or line, EXIT_CODES)
    command.add_options(parser)
    try:
        options = parser.parse_args(rest)
    except SystemExit:  # --help was asked for and printed
        return 0
    return int(command.run(options))


def shadowing() -> str:
    """The first file that stands in the place of a module of Python's, or of an installed one."""
    own = Path(os.__file__).parent
    installed = [Path(folder) for folder in sys.path if Path(folder).name in INSTALLED]
    for name in sys.modules.keys() - {"enpire", "__main__"}:
        file = getattr(sys.modules[name], "__file__", None)
        if "." in name or not file or any(map(Path(file).is_relative_to, (own, *installed))):
            continue
        there = any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in installed)
        if there or name in sys.stdlib_module_names:
            return str(file)
    return ""


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
