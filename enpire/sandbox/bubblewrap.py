"""How bubblewrap is called: the namespaces, and what is seen in them.

For an ordinary user it is called once. Root calls it twice: the first call makes the view of the
file system, with root's right to look into every folder; in it root becomes a user that owns
nothing, who makes the sandbox as anybody would. What is inside is then not root's on the outside
either: it may not read what only root may, and the kernel counts its processes, as root's it does
not.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from enpire.sandbox.limits import SandboxLimits

PROGRAM = "bwrap"
INSIDE = 1000  # user and group in the sandbox
NOBODY = 0x70000001  # user and group that root's sandboxes run as: above what anybody hands out
PATH = "/usr/local/bin:/usr/bin:/bin"
FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # beside /usr
SETTINGS = (  # of /etc, what programs do not start without; never the folder as a whole
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "ssl/certs"),
    *("ssl/openssl.cnf", "mime.types", "debian_version", "os-release", "fonts"),
)
ETC = {
    "/etc/passwd": f"agent:x:{INSIDE}:{INSIDE}::/tmp:/bin/sh\n",
    "/etc/group": f"agent:x:{INSIDE}:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True, slots=True)
class FilesystemView:
    """What of the file system is there, at the places where it is outside too."""

    # Folders, files and Unix sockets. A socket can be connected to wherever it can be seen, so no
    # folder may hold one that is not meant.
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()  # folders


def interpreter() -> tuple[Path, ...]:
    """This interpreter and its packages."""
    return tuple(dict.fromkeys((Path(sys.prefix), Path(sys.base_prefix))))


def python() -> str:
    """This interpreter, as it is called inside."""
    return str(Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name)


def harness() -> tuple[Path, ...]:
    """The package and the packs that came with it; not the rest of a checkout."""
    package = Path(__file__).resolve().parents[1]
    beside = [package.parent / kind for kind in ("robots", "tasks", "agents", "sim")]
    return (package, *(folder for folder in beside if folder.is_dir()))


def arguments(
    view: FilesystemView, limits: SandboxLimits, environment: dict[str, str], fds: Fds
) -> list[str]:
    """The words before a command; `fds` are given what has to be passed as descriptors."""
    bound = _bound(view)
    inner = [
        *(PROGRAM, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"),
        *("--unshare-uts", "--unshare-cgroup-try", "--disable-userns", "--assert-userns-disabled"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--uid", str(INSIDE), "--gid", str(INSIDE)),
        *_system(),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(limits.scratch), "--tmpfs", "/tmp"),
        *("--perms", "1777", "--size", str(limits.scratch), "--tmpfs", "/dev/shm"),
        *bound,
    ]
    for place, text in ETC.items():
        inner += ["--ro-bind-data", str(fds.holding(text.encode())), place]
    inner += ["--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"]
    for name, value in environment.items():
        inner += ["--setenv", name, value]
    if fds.filter is not None:
        inner += ["--seccomp", str(fds.holding(fds.filter))]
    info = ["--info-fd", str(fds.info)]  # of the outermost call's child: with it, all end
    if os.geteuid() != 0:
        return [*inner, *info]
    return [*_as_root(view, bound, info), *inner]


class Fds:
    """Descriptors that bubblewrap reads or writes, and closes before the command starts."""

    def __init__(self, info: int, filter_: bytes | None) -> None:
        """info: where it writes who its child is. filter_: a seccomp program."""
        self.info = info
        self.filter = filter_
        self.opened: list[int] = []

    def holding(self, data: bytes) -> int:
        """A new descriptor that reads this."""
        fd = os.memfd_create("sandbox")
        self.opened.append(fd)
        os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    @property
    def passed(self) -> list[int]:
        """All of them."""
        return [self.info, *self.opened]

    def close(self) -> None:
        """This process's copies."""
        for fd in self.passed:
            os.close(fd)


def _as_root(view: FilesystemView, bound: list[str], info: list[str]) -> list[str]:
    """The first of root's two calls: it makes the view that the second takes its parts from.

    In a process namespace of its own, whose first process stays root's: a parent that dies may not
    signal a child that is another user, but with the first process all others end.
    """
    paths = [path.resolve() for path in (*view.readable, *view.writable)]
    paths += [Path("/etc", name) for name in SETTINGS]
    parents = {parent for path in paths for parent in path.parents}
    folders: list[str] = []
    for parent in sorted(parents - {Path("/"), Path("/usr")}):
        folders += ["--perms", "0755", "--dir", str(parent)]
    become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return [
        *(PROGRAM, "--unshare-pid", "--die-with-parent", *info),
        *("--bind", "/proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--tmpfs", "/tmp"),
        *folders,  # it would make them for root alone
        *_system(),
        *bound,
        *("--", *become, "--"),
    ]


def _system() -> list[str]:
    """Debian's programs and libraries, and the little of /etc that they need."""
    words = ["--ro-bind", "/usr", "/usr"]
    for folder in FOLDERS:
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    for name in SETTINGS:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words


def _bound(view: FilesystemView) -> list[str]:
    """What a view has, the outer before the inner, without what is there anyhow."""
    how = {path.resolve(): "--ro-bind" for path in view.readable}
    how |= {path.resolve(): "--bind" for path in view.writable}
    how.pop(Path("/usr"), None)  # Debian's own interpreter
    return [word for path in sorted(how) for word in (how[path], str(path), str(path))]


def hand_over(folder: Path) -> None:
    """Make a folder, and all in it, belong to whom sandboxes run as, so that they can write there.

    There is something to do for root only; no link is followed.
    """
    if os.geteuid() != 0:
        return
    os.chown(folder, NOBODY, NOBODY)
    for _, folders, files, at in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, NOBODY, NOBODY, dir_fd=at, follow_symlinks=False)
