"""Whether periods of a few milliseconds can be kept here, and whether the clock is right."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from enpire.observe.machine.check import CheckState, MachineCheck
from enpire.safety.jitter import measure

PERIOD_S, MEASURED_S = 0.004, 2.0
PRIORITY = 50  # as docs/safety.md has it
UNSYNCHRONISED = 5  # adjtimex: TIME_ERROR
TIMEX = 208  # bytes of C's `struct timex`; its `maxerror` [us] is the fourth field
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
QUICK_SOURCES = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")


def real_time() -> MachineCheck:
    """Try to have a thread come before all others, as a station's supervisor asks to."""
    refused: list[OSError] = []

    def rise() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=rise)  # its priority ends with it
    thread.start()
    thread.join()
    if not refused:
        return MachineCheck("real-time rights", CheckState.GOOD, f"SCHED_FIFO {PRIORITY} is given")
    return MachineCheck(
        "real-time rights",
        CheckState.NOTE,
        f"SCHED_FIFO {PRIORITY} is refused ({refused[0].strerror})",
        f"for stations with arms: a line '@realtime - rtprio {PRIORITY}' in "
        "/etc/security/limits.conf, be of that group and log in anew; or CAP_SYS_NICE",
    )


def pace() -> MachineCheck:
    """Measure how late periods begin, as this machine is loaded now."""
    jitter = measure(PERIOD_S, MEASURED_S)
    late = jitter.p99 > PERIOD_S / 2
    return MachineCheck(
        "pace",
        CheckState.NOTE if late else CheckState.GOOD,
        f"of periods of {PERIOD_S * 1e3:g} ms: {jitter}",
        "stop what runs beside, keep a core free ([realtime] cpu), set the governor to performance"
        if late
        else "",
    )


def clock() -> MachineCheck:
    """Ask the kernel whether anything keeps its clock right."""
    source = CLOCK_SOURCE.read_text().strip() if CLOCK_SOURCE.is_file() else ""
    if source and source not in QUICK_SOURCES:
        return MachineCheck(
            "clock",
            CheckState.NOTE,
            f"the kernel reads {source}, which is slow and may jump",
            "start with clocksource=tsc, if its log (dmesg) does not call that unstable",
        )
    fields = (ctypes.c_long * (TIMEX // 8))()  # all 0: nothing is changed
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(fields))
    if state in (-1, UNSYNCHRONISED):
        return MachineCheck(
            "clock",
            CheckState.NOTE,
            "nothing keeps it right",
            "install chrony, or timedatectl set-ntp true: stamps of several machines (ROS 2) are "
            "compared; within one machine enpire goes by the monotonic clock",
        )
    return MachineCheck("clock", CheckState.GOOD, f"{source}, within {fields[3] / 1e3:.1f} ms")
