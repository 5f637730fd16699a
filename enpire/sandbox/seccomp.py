"""The system calls that nothing in a sandbox may make, as a seccomp program for bubblewrap.

Namespaces decide what there is to be reached; this closes what they leave open: keyrings and vsock
belong to no namespace, SysV memory to no process, io_uring goes past any filter, and new kernel
interfaces are where kernels are broken. All other calls are let through.

The program is classic BPF over `struct seccomp_data` (linux/seccomp.h), an array of
`struct sock_filter`; numbers of calls are those of the kernel's tables for each architecture.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
import struct
from dataclasses import dataclass

# linux/bpf_common.h
LOAD, AND_SET, EQUAL, AT_LEAST, RETURN = 0x20, 0x45, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; arguments of 8 bytes
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
X32 = 0x40000000  # a second table of x86-64, by which a filter of the first is gone past

SETID = stat.S_ISUID | stat.S_ISGID
CREATES = os.O_CREAT | 0o20000000  # O_TMPFILE's own bit: without either, a mode is not looked at
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW*
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # put characters into a terminal
FAMILIES = (1, 2, 10, 16)  # of sockets: Unix, IPv4, IPv6, netlink; vsock is in no namespace


@dataclass(frozen=True, slots=True)
class Machine:
    """An architecture: its AUDIT_ARCH, and its own numbers of calls."""

    audit: int
    numbers: dict[str, int]


# From 424 on, all architectures count alike.
COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "memfd_secret": 447,
    "fchmodat2": 452,
}
X86_64 = {
    "open": 2,
    "ioctl": 16,
    "shmget": 29,
    "socket": 41,
    "socketpair": 53,
    "clone": 56,
    "semget": 64,
    "msgget": 68,
    "creat": 85,
    "chmod": 90,
    "fchmod": 91,
    "ptrace": 101,
    "syslog": 103,
    "mknod": 133,
    "personality": 135,
    "modify_ldt": 154,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "clock_settime": 227,
    "mq_open": 240,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "openat": 257,
    "mknodat": 259,
    "fchmodat": 268,
    "unshare": 272,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
AARCH64 = {
    "ioctl": 29,
    "mknodat": 33,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "fchmod": 52,
    "fchmodat": 53,
    "openat": 56,
    "quotactl": 60,
    "acct": 89,
    "personality": 92,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "syslog": 116,
    "ptrace": 117,
    "reboot": 142,
    "settimeofday": 170,
    "mq_open": 180,
    "msgget": 186,
    "semget": 190,
    "shmget": 194,
    "socket": 198,
    "socketpair": 199,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "swapon": 224,
    "swapoff": 225,
    "perf_event_open": 241,
    "fanotify_init": 262,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "clock_adjtime": 266,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
MACHINES = {
    "x86_64": Machine(0xC000003E, COMMON | X86_64),
    "aarch64": Machine(0xC00000B7, COMMON | AARCH64),
}

# As if the kernel did not have them: who calls them has another way. Arguments of these are behind
# a pointer, where a filter cannot look.
ABSENT = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")

REFUSED = (
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "swapon", "swapoff", "quotactl"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "userfaultfd"),
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "syslog", "fanotify_init"),
    *("name_to_handle_at", "open_by_handle_at", "memfd_secret", "acct", "personality"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("settimeofday", "clock_settime", "clock_adjtime", "iopl", "ioperm", "modify_ldt"),
    *("shmget", "semget", "msgget", "mq_open"),
)

# Refused where of each argument named (from 0) any of these bits is set.
REFUSED_WITH: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("clone", ((0, NEW_NAMESPACES),)),
    ("chmod", ((1, SETID),)),
    ("fchmod", ((1, SETID),)),
    ("fchmodat", ((2, SETID),)),
    ("fchmodat2", ((2, SETID),)),
    ("creat", ((1, SETID),)),
    ("mknod", ((1, SETID),)),
    ("mknodat", ((2, SETID),)),
    ("open", ((1, CREATES), (2, SETID))),
    ("openat", ((2, CREATES), (3, SETID))),
)


def program(machine: str = "") -> bytes | None:
    """The compiled filter for this machine, or a `platform.machine()`; None: no table of calls."""
    found = MACHINES.get(machine or platform.machine())
    if found is None:
        return None
    numbers = found.numbers
    code = [
        _op(LOAD, ARCHITECTURE),
        _op(EQUAL, found.audit, 1, 0),
        _op(RETURN, KILL),  # 32-bit programs have a table of their own
        _op(LOAD, NUMBER),
        _op(AT_LEAST, X32, 0, 1),
        _op(RETURN, REFUSE | errno.ENOSYS),
    ]
    for names, error in ((ABSENT, errno.ENOSYS), (REFUSED, errno.EPERM)):
        for name in names:
            if name in numbers:
                code += [_op(EQUAL, numbers[name], 0, 1), _op(RETURN, REFUSE | error)]
    for name, conditions in REFUSED_WITH:
        if name in numbers:
            code += _with(numbers[name], conditions)
    code += _only(numbers["socket"], 0, FAMILIES, errno.EAFNOSUPPORT)
    code += _only(numbers["socketpair"], 0, FAMILIES, errno.EAFNOSUPPORT)
    code += _never(numbers["ioctl"], 1, (TIOCSTI, TIOCLINUX))
    code.append(_op(RETURN, ALLOW))
    return b"".join(code)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction; jumps are over so many instructions."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(index: int) -> bytes:
    """Load an argument's lower half."""
    return _op(LOAD, ARGUMENTS + 8 * index)


def _call(number: int, body: list[bytes]) -> list[bytes]:
    """Do this in a call of that number; what does not return goes on with the number loaded."""
    body = [*body, _op(LOAD, NUMBER)]
    return [_op(EQUAL, number, 0, len(body)), *body]


def _with(number: int, conditions: tuple[tuple[int, int], ...]) -> list[bytes]:
    body: list[bytes] = [_op(RETURN, REFUSE | errno.EPERM)]
    for index, bits in reversed(conditions):
        body = [_argument(index), _op(AND_SET, bits, 0, len(body)), *body]
    return _call(number, body)


def _only(number: int, index: int, values: tuple[int, ...], error: int) -> list[bytes]:
    count = len(values)
    known = [_op(EQUAL, value, count - i, 0) for i, value in enumerate(values)]
    return _call(number, [_argument(index), *known, _op(RETURN, REFUSE | error)])


def _never(number: int, index: int, values: tuple[int, ...]) -> list[bytes]:
    body = [_argument(index)]
    for value in values:
        body += [_op(EQUAL, value, 0, 1), _op(RETURN, REFUSE | errno.EPERM)]
    return _call(number, body)
