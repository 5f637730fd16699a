"""Acts against the machine: files, links and mounts, the network, other processes, the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from enpire.sandbox.limits import SandboxLimits

from .arena import Act, Allowed, Arena, arena, is_held, needs_sandbox

pytestmark = pytest.mark.medium

MIB = 2**20
GONE = "FileNotFoundError"
READ_ONLY = "Read-only file system"
FORBIDDEN = "Operation not permitted"
MOUNT = 'ctypes.CDLL(None, use_errno=True).mount(b"none", {0}, {1}, {2}, None) == 0 or exit("no")\n'

FILES = (
    Act("write-outside", 'open(given["outside"] + "/planted", "w")', GONE),
    Act("write-outside-by-dots", 'open("../outside/planted", "w")', GONE),
    Act("write-through-a-symlink", 'os.symlink(given["outside"], "l"); open("l/x", "w")', GONE),
    Act("read-through-a-symlink", 'os.symlink(given["secret"], "l"); open("l").read()', GONE),
    Act("hard-link-a-secret", 'os.link(given["secret"], "l"); open("l").read()', GONE),
    Act(
        "hard-link-what-is-read-only",
        'os.link(given["from"], "l"); open("l", "a").write("\\n")',
        "Invalid cross-device link",
        given={"from": "/usr/bin/env"},
        less={"from": "../outside/secret"},
    ),
    Act(
        "write-through-proc-self-root",
        'open("/proc/self/root" + given["outside"] + "/planted", "w")',
        GONE,
    ),
    Act(
        "read-through-another-s-root",
        'open("/proc/{}/root{}".format(given["whose"], given["secret"])).read()',
        GONE,
        given={"whose": 1},
        less={"whose": "self"},
    ),
    Act(
        "write-to-usr",
        'open(given["to"] + "/planted", "w")',
        READ_ONLY,
        given={"to": "/usr/bin"},
        less={"to": "."},
    ),
    Act(
        "write-to-dev",
        'open(given["to"] + "/planted", "w")',
        READ_ONLY,
        given={"to": "/dev"},
        less={"to": "."},
    ),
    Act(
        "write-settings-of-the-kernel",
        'open(given["to"], "r+")',
        "Permission denied|Read-only",
        given={"to": "/proc/sys/kernel/core_pattern"},
        less={"to": "../outside/secret"},
    ),
    Act("mount-memory", MOUNT.format('b"/tmp"', 'b"tmpfs"', "0"), "no", Allowed.LOOSE),
    Act(
        "mount-the-package-writable",
        'if given["first"]: '
        + MOUNT.format('given["package"].encode()', 'b"tmpfs"', "0")
        + MOUNT.format('given["package"].encode()', "None", "4128"),  # MS_REMOUNT | MS_BIND
        "no",
        Allowed.LOOSE,
        given={"first": False},
        less={"first": True, "package": "/tmp"},
    ),
    Act("mount-by-the-new-calls", 'call(430, b"tmpfs", 0)', FORBIDDEN, Allowed.LOOSE),
    Act("change-root", 'os.chroot(".")', FORBIDDEN, Allowed.LOOSE),
    Act(
        "open-by-a-handle",
        'h = ctypes.create_string_buffer(struct.pack("Ii", 64, 0), 200); m = ctypes.c_int()\n'
        "call({'x86_64': 303, 'aarch64': 264}[os.uname().machine],"
        ' -100, b"/usr/bin/env", h, ctypes.byref(m), 0)',
        FORBIDDEN,
    ),
    Act(
        "make-a-set-user-program",
        'open("p", "w").close(); os.chmod("p", 0o4755)',
        FORBIDDEN,
    ),
    Act(
        "open-a-set-group-program",
        'os.open("p", os.O_CREAT | os.O_WRONLY, 0o2755)',
        FORBIDDEN,
    ),
    Act(
        "make-a-device",
        'os.mknod("d", stat.S_IFCHR | 0o4666, os.makedev(1, 3))',
        FORBIDDEN,
        root=True,
    ),
)

CONNECT = (
    "s = socket.socket({0}); s.connect({1}); s.sendall(b'?'); s.recv(10) == b'heard' or exit(1)"
)
UDP = (
    "s = socket.socket(2, 2); s.settimeout(given['wait'])\n"
    "s.sendto({0}, ('127.0.0.1', given['udp'])); s.recv(99)"
)
NETWORK = (
    Act("tcp", CONNECT.format("2", "('127.0.0.1', given['tcp'])"), "refused"),
    Act("tcp-to-ipv6", CONNECT.format("10", "('::ffff:127.0.0.1', given['tcp'])"), "refused"),
    Act("udp", UDP.format("b'?'"), "refused|timed out", given={"wait": 1}, less={"wait": 30}),
    Act(
        "dns",
        UDP.format(
            "struct.pack('>HHHHHH', 1, 256, 1, 0, 0, 0)"
            " + b'\\x06secret\\x07example\\0' + struct.pack('>HH', 1, 1)"
        ),
        "refused|timed out",
        given={"wait": 1},
        less={"wait": 30},
    ),
    Act(
        "far-away",
        "s = socket.socket(); s.settimeout(30); s.connect((given['host'], given['tcp']))",
        "Network is unreachable",
        given={"host": "192.0.2.1"},
        less={"host": "127.0.0.1"},
    ),
    Act("unix-socket", CONNECT.format("1", "given['unix']"), GONE),
    Act("abstract-socket", CONNECT.format("1", "given['abstract']"), "refused"),
    Act(
        "unix-socket-through-a-symlink",
        "os.symlink(given['unix'], 'u')\n" + CONNECT.format("1", "'u'"),
        GONE,
    ),
    Act(
        "ros-2-domain",  # DDS finds others by multicast
        "r = socket.socket(2, 2); r.settimeout(0.5); r.bind(('', 0))\n"
        "i = socket.inet_aton('127.0.0.1')\n"
        "r.setsockopt(0, 35, socket.inet_aton('239.255.0.1') + i)\n"  # IP_ADD_MEMBERSHIP
        "s = socket.socket(2, 2); s.setsockopt(0, 32, i)\n"  # IP_MULTICAST_IF
        "given['inside'] or s.sendto(b'RTPS', ('239.255.0.1', r.getsockname()[1]))\n"
        "r.recv(100)",
        "timed out",
        given={"inside": True},
        less={"inside": False},
    ),
    Act("vsock-to-the-host", "socket.socket(40, 1)", "Address family not supported"),
    Act("packets-of-its-own", "socket.socket(17, 3)", "not supported|permitted", Allowed.LOOSE),
    Act(
        "an-interface-of-its-own",
        "s = socket.socket(2, 2); import fcntl\n"
        "fcntl.ioctl(s, 0x8914, struct.pack('16sH', b'lo', 0))",  # SIOCSIFFLAGS
        FORBIDDEN,
        Allowed.LOOSE,
    ),
)

PROCESSES = (
    Act("see-another-process", "os.kill(given['victim'], 0)", "No such process"),
    Act("stop-another-process", "os.kill(given['harness'], 0)", "No such process"),
    Act(
        "read-another-s-environment",
        "given['key'] in open(f'/proc/{given[\"victim\"]}/environ').read() or exit('not there')",
        GONE + "|not there",
    ),
    Act(
        "read-the-parent-s-environment",
        "os.environ.get('AGENT_API_KEY') == given['key'] or "
        "given['key'] in open('/proc/1/environ').read() or exit('not there')",
        "not there",
    ),
    Act(
        "read-a-descriptor-left-open",
        "os.read(given['secret_fd'], 10)",
        "Bad file descriptor",
    ),
    Act(
        "any-descriptor-left-open",
        "for fd in range(3, 1000):\n"
        "    try: os.fstat(fd); exit(0)\n"
        "    except OSError: pass\n"
        "exit('none')",
        "none",
    ),
    Act(
        "trace-a-process", "call({'x86_64': 101, 'aarch64': 117}[os.uname().machine], 0)", FORBIDDEN
    ),
    Act(
        "read-another-s-memory",
        "pid = os.fork()\n"
        "if not pid: time.sleep(5); os._exit(0)\n"
        "b = ctypes.create_string_buffer(b'secret', 8); at = ctypes.c_void_p * 2\n"
        "v = at(ctypes.addressof(b), 8)\n"
        "try: call({'x86_64': 310, 'aarch64': 270}[os.uname().machine], pid, v, 1, v, 1, 0)\n"
        "finally: os.kill(pid, 9)",
        FORBIDDEN,
    ),
    Act(
        "take-another-s-descriptor",
        "import subprocess\n"
        "p = subprocess.Popen(['sleep', '5'])\n"
        "try: call(438, os.pidfd_open(p.pid), 0, 0)\n"
        "finally: p.kill()",
        FORBIDDEN,
    ),
    Act(
        "new-user-namespace",
        "os.unshare(0x10000000)"
        if hasattr(__import__("os"), "unshare")
        else "call({'x86_64': 272, 'aarch64': 97}[os.uname().machine], 0x10000000)",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act(
        "new-user-namespace-by-clone",
        "call({'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000011, 0, 0, 0, 0)",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act(
        "new-user-namespace-by-the-newer-clone",
        "a = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17); call(435, a, 64)",
        "Function not implemented",
        Allowed.LOOSE,
    ),
    Act(
        "enter-another-namespace",
        "call({'x86_64': 308, 'aarch64': 268}[os.uname().machine],"
        " os.open('/proc/self/ns/uts', os.O_RDONLY), 0)",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act(
        "shift-the-clock-by-a-namespace",
        "call({'x86_64': 272, 'aarch64': 97}[os.uname().machine], 0x80)\n"  # CLONE_NEWTIME
        "open('/proc/self/timens_offsets', 'w').write('monotonic 1000 0')",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act("rename-the-host", "socket.sethostname('x')", FORBIDDEN, Allowed.LOOSE),
    Act(
        "keyring",
        "call({'x86_64': 250, 'aarch64': 219}[os.uname().machine], 0, -2, 1)",
        FORBIDDEN,
    ),
    Act(
        "memory-that-is-no-process-s",
        "call({'x86_64': 29, 'aarch64': 194}[os.uname().machine], 0, 4096, 0o600)",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act(
        "memory-behind-a-queue",
        "call({'x86_64': 68, 'aarch64': 186}[os.uname().machine], 0, 0o600)",
        FORBIDDEN,
        Allowed.LOOSE,
    ),
    Act(
        "raise-a-limit",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))",
        "exceeds maximum limit|not allowed",
        limits=SandboxLimits(open_files=100),
    ),
)

CHILDREN = """
pids = []
for _ in range(given["n"]):
    pid = os.fork()
    if not pid:
        {0}
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)[1] == 0 or exit("a child did not end well")
"""
BOMBS = (
    Act(
        "fork-bomb",
        CHILDREN.format("time.sleep(given['wait'])"),
        "Resource temporarily unavailable|processes: ",
        Allowed.SMALL,
        {"n": 100, "wait": 9},
        {"n": 10, "wait": 0},
        SandboxLimits(processes=30, wall_s=10),
    ),
    Act(
        "thread-bomb",
        "import threading\n"
        "for _ in range(given['n']):\n"
        "    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "can't start new thread|processes: ",
        Allowed.SMALL,
        {"n": 100, "wait": 9},
        {"n": 10, "wait": 0},
        SandboxLimits(processes=30, wall_s=10),
    ),
    Act(
        "memory",
        "x = bytearray(given['n'])",
        "MemoryError|memory: ",
        Allowed.SMALL,
        {"n": 400 * MIB},
        {"n": 40 * MIB},
        SandboxLimits(memory=200 * MIB),
    ),
    Act(
        "shared-memory",
        "import mmap; x = mmap.mmap(-1, given['n'])\n"
        "for at in range(0, given['n'], 4096): x[at] = 1\n"
        "time.sleep(given['wait'])",
        "memory: ",
        Allowed.SMALL,
        {"n": 400 * MIB, "wait": 9},
        {"n": 40 * MIB, "wait": 0},
        SandboxLimits(memory=200 * MIB),
    ),
    Act(
        "memory-of-many",
        CHILDREN.format("x = b'1' * (40 * 2**20); time.sleep(given['wait'])"),
        "memory: ",
        Allowed.SMALL,
        {"n": 8, "wait": 9},
        {"n": 2, "wait": 0},
        SandboxLimits(memory=200 * MIB),
    ),
    Act(
        "fill-tmp",
        "open('/tmp/x', 'wb').write(bytes(given['n']))",
        "No space left on device",
        Allowed.SMALL,
        {"n": 40 * MIB},
        {"n": 4 * MIB},
        SandboxLimits(scratch=20 * MIB),
    ),
    Act(
        "fill-shared-memory-files",
        "open('/dev/shm/x', 'wb').write(bytes(given['n']))",
        "No space left on device",
        Allowed.SMALL,
        {"n": 40 * MIB},
        {"n": 4 * MIB},
        SandboxLimits(scratch=20 * MIB),
    ),
    Act(
        "a-file-too-large",
        "f = open('x', 'wb'); f.truncate(given['n'])",
        "File too large",
        Allowed.SMALL,
        {"n": 40 * MIB},
        {"n": 4 * MIB},
        SandboxLimits(file_size=20 * MIB),
    ),
    Act(
        "fill-the-disk",
        "for i in range(given['n']): open(f'x{i}', 'wb').write(bytes(2**20))\n"
        "time.sleep(given['wait'])",
        "disk: ",
        Allowed.SMALL,
        {"n": 40, "wait": 9},
        {"n": 4, "wait": 0},
        SandboxLimits(disk=20 * MIB),
    ),
    Act(
        "more-files-than-can-be-counted",
        "for i in range(given['n']): os.mkdir(f'd{i}')\ntime.sleep(given['wait'])",
        "disk: more than",
        Allowed.SMALL,
        {"n": 400, "wait": 9},
        {"n": 40, "wait": 0},
        SandboxLimits(entries=100, disk=MIB),
    ),
    Act(
        "a-path-too-long-to-be-looked-at",
        "for i in range(given['n']): os.mkdir('d' * 200); os.chdir('d' * 200)\n"
        "time.sleep(given['wait'])",
        "disk: the workspace cannot be measured",
        Allowed.SMALL,
        {"n": 40, "wait": 9},
        {"n": 4, "wait": 0},
        SandboxLimits(disk=MIB),
    ),
    Act(
        "time",
        "time.sleep(given['s'])",
        "time: ",
        Allowed.SMALL,
        {"s": 100},
        {"s": 0.01},
        SandboxLimits(wall_s=6),  # within which a busy machine begins, too
    ),
    Act(
        "processor-of-one",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "while time.process_time() < given['s']: pass",
        "^\\s*$|processor: ",
        Allowed.SMALL,
        {"s": 100},
        {"s": 0.1},
        SandboxLimits(cpu_s=1, wall_s=30),
    ),
    Act(
        "processor-of-many",
        CHILDREN.format("\n        while time.process_time() < given['s']: pass"),
        "processor: ",
        Allowed.SMALL,
        {"n": 4, "s": 0.6},
        {"n": 2, "s": 0.05},
        SandboxLimits(cpu_s=1, wall_s=30),
    ),
    Act(
        "open-files",
        "fs = [os.open('.', os.O_RDONLY) for _ in range(given['n'])]",
        "Too many open files",
        Allowed.SMALL,
        {"n": 200},
        {"n": 20},
        SandboxLimits(open_files=100),
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("arena")) as made:
        yield made


@needs_sandbox
@pytest.mark.parametrize("act", [*FILES, *NETWORK, *PROCESSES, *BOMBS], ids=str)
def test_is_held(act: Act, place: Arena) -> None:
    if act.root and os.geteuid() != 0:
        pytest.skip("nobody but root may do that anywhere, so there is no control")
    is_held(act, place)
