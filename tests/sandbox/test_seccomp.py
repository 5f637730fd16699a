"""The filter, carried out as the kernel does (Documentation/userspace-api/seccomp_filter.rst)."""

from __future__ import annotations

import errno
import struct

import pytest

from enpire.sandbox import seccomp

ALLOWED = seccomp.ALLOW


def refused(error: int) -> int:
    return seccomp.REFUSE | error


def result(machine: str, call: str | int, *arguments: int, audit: int | None = None) -> int:
    """What becomes of a system call, given by name or number."""
    found = seccomp.MACHINES[machine]
    number = found.numbers[call] if isinstance(call, str) else call
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, found.audit if audit is None else audit, 0, *words)
    code = list(struct.iter_unpack("=HBBI", seccomp.program(machine) or b""))
    at = loaded = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        match operation:
            case seccomp.LOAD:
                (loaded,) = struct.unpack_from("=I", data, value)
            case seccomp.EQUAL:
                at += if_true if loaded == value else if_false
            case seccomp.AT_LEAST:
                at += if_true if loaded >= value else if_false
            case seccomp.AND_SET:
                at += if_true if loaded & value else if_false
            case seccomp.RETURN:
                return int(value)


@pytest.mark.parametrize("machine", seccomp.MACHINES)
class TestProgram:
    def test_refuses_what_nobody_needs(self, machine: str) -> None:
        known = [name for name in seccomp.REFUSED if name in seccomp.MACHINES[machine].numbers]
        assert len(known) > 40
        for name in known:
            assert result(machine, name) == refused(errno.EPERM), name

    def test_newer_calls_are_as_if_they_were_not_there(self, machine: str) -> None:
        for name in seccomp.ABSENT:
            assert result(machine, name) == refused(errno.ENOSYS)

    def test_lets_the_others_through(self, machine: str) -> None:
        known = set(seccomp.MACHINES[machine].numbers.values())
        for number in set(range(450)) - known:
            assert result(machine, number) == ALLOWED

    def test_arguments_decide(self, machine: str) -> None:
        assert result(machine, "clone", 0x11) == ALLOWED
        assert result(machine, "clone", 0x11 | 0x10000000) == refused(errno.EPERM)
        assert result(machine, "fchmod", 3, 0o755) == ALLOWED
        assert result(machine, "fchmod", 3, 0o4755) == refused(errno.EPERM)
        assert result(machine, "openat", 0, 0, 0o101, 0o644) == ALLOWED
        assert result(machine, "openat", 0, 0, 0o101, 0o2755) == refused(errno.EPERM)
        assert result(machine, "openat", 0, 0, 0, 0o7777) == ALLOWED  # no mode: not looked at
        assert result(machine, "ioctl", 0, 0x5413) == ALLOWED
        assert result(machine, "ioctl", 0, 0x5412) == refused(errno.EPERM)

    def test_sockets_of_known_families_only(self, machine: str) -> None:
        for family in (1, 2, 10, 16):
            assert result(machine, "socket", family) == ALLOWED
        for family in (0, 17, 38, 40):  # packets, the kernel's cryptography, the host of a machine
            assert result(machine, "socket", family) == refused(errno.EAFNOSUPPORT)

    def test_upper_half_of_an_argument_hides_nothing(self, machine: str) -> None:
        assert result(machine, "ioctl", 0, 0x5412 | 1 << 32) == refused(errno.EPERM)
        assert result(machine, "socket", 40 | 1 << 32) == refused(errno.EAFNOSUPPORT)

    def test_other_tables_of_calls_are_closed(self, machine: str) -> None:
        assert result(machine, 1, audit=0x40000003) == seccomp.KILL
        assert result(machine, 1 | seccomp.X32) == refused(errno.ENOSYS)


def test_no_table_no_program() -> None:
    assert seccomp.program("pdp11") is None
