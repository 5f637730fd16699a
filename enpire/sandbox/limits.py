"""How much a sandbox may use, and how the kernel is told."""

from __future__ import annotations

from dataclasses import dataclass

MIB, GIB = 2**20, 2**30
MOST_BYTES, MOST_FILES = 256 * MIB, 4096  # of a program that is taken out of a workspace


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of one sandbox, all its processes together where nothing else is said."""

    # That processes have touched and share with no file, and what is in their scratch [B].
    memory: int = 8 * GIB
    data: int = 0  # private memory that one process may ask for [B], 0: as `memory`
    processes: int = 256  # with threads
    open_files: int = 1024  # of one process
    file_size: int = 4 * GIB  # of one file [B]
    disk: int = 8 * GIB  # of the workspace [B]
    entries: int = 300_000  # files and folders in the workspace
    scratch: int = GIB  # of /tmp, and of /dev/shm [B]
    cpu_s: float = 12 * 3600.0  # of processor time, of one process too [s]
    wall_s: float = 12 * 3600.0  # on the clock [s]
    output: int = MIB  # kept of what it prints [B]

    def launcher(self, own: bool = True) -> list[str]:
        """What a command is to follow, so that it runs within what the kernel limits itself.

        Hard limits, set inside of the namespaces: processes are counted in the user namespace that
        the limit was set in, so there is none on them unless it is its `own`. Others are served
        before them; and should the machine run out of memory, the kernel is to end these first,
        unless they take that back.
        """
        most = self.processes
        script = (
            (f"ulimit -u {most} 2>/dev/null || ulimit -p {most} || exit 125; " if own else "")
            + f"ulimit -d {(self.data or self.memory) // 1024} || exit 125; "
            f"ulimit -f {self.file_size // 512} || exit 125; "
            f"ulimit -n {self.open_files} || exit 125; "
            f"ulimit -t {max(round(self.cpu_s), 1)} || exit 125; "
            "ulimit -c 0 || exit 125; umask 022; "
            "echo 1000 >/proc/self/oom_score_adj || exit 125; "
            'exec nice -n 5 "$@"'
        )
        return ["/bin/sh", "-c", script, "sh"]
