"""What a thread waits for: its wait channel, its system call, and which file that is about.

Some kernels give no wait channel; the system call's name is used instead.
"""

from __future__ import annotations

import os
import platform
import struct
import time
from dataclasses import dataclass

from holdfast.host import procfs
from holdfast.host.descriptors import memory_at
from holdfast.host.file_locks import owner_of

_X86_64 = {
    0: "read", 1: "write", 2: "open", 7: "poll", 17: "pread64", 19: "readv", 20: "writev", 23: "select",
    35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg",
    61: "wait4", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait",
    202: "futex", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6",
    271: "ppoll", 281: "epoll_pwait", 288: "accept4", 295: "preadv", 34: "pause", 130: "rt_sigsuspend",
    220: "semtimedop", 70: "msgrcv", 262: "newfstatat", 332: "statx", 16: "ioctl", 441: "epoll_pwait2",
    65: "semop", 219: "restart_syscall",
}  # fmt: skip
_AARCH64 = {
    63: "read", 64: "write", 56: "openat", 73: "ppoll", 67: "pread64", 65: "readv", 66: "writev", 72: "pselect6",
    101: "nanosleep", 203: "connect", 202: "accept", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
    260: "wait4", 25: "fcntl", 32: "flock", 82: "fsync", 83: "fdatasync", 137: "rt_sigtimedwait", 98: "futex",
    115: "clock_nanosleep", 22: "epoll_pwait", 95: "waitid", 242: "accept4", 29: "ioctl", 133: "rt_sigsuspend",
    193: "semop", 192: "semtimedop", 128: "restart_syscall",
}  # fmt: skip
_NAMES = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})

_FILE_SYSCALLS = frozenset(
    {"read", "write", "pread64", "readv", "writev", "fcntl", "flock", "fsync", "fdatasync", "recvfrom", "recvmsg",
     "sendto", "sendmsg", "accept", "accept4", "connect", "ioctl", "preadv"}
)  # fmt: skip
_OPEN_SYSCALLS = {"open": 0, "openat": 1}  # which argument points to the name
_TIMEOUT_ARGUMENT = {
    "futex": 3,
    "poll": 2,
    "ppoll": 2,
    "epoll_wait": 3,
    "epoll_pwait": 3,
    "epoll_pwait2": 3,
    "semtimedop": 3,
    "select": 4,
    "pselect6": 4,
}


@dataclass(frozen=True, slots=True)
class SystemCall:
    """The system call that a thread is in."""

    name: str
    arguments: tuple[int, ...]

    @property
    def file_number(self) -> int | None:
        return self.arguments[0] if self.name in _FILE_SYSCALLS and self.arguments else None

    @property
    def timed(self) -> bool:
        """Whether it has a timeout. Only then can a waiting thread continue by itself."""
        if self.name in ("clock_nanosleep", "nanosleep"):
            return True
        at = _TIMEOUT_ARGUMENT.get(self.name)
        if at is None or at >= len(self.arguments):
            return False
        value = self.arguments[at]
        if self.name in ("poll", "epoll_wait", "epoll_pwait"):
            return value & 0xFFFFFFFF != 0xFFFFFFFF  # -1: forever
        return value != 0  # a null pointer: forever


def current_syscall(pid: int, thread: int) -> SystemCall | None:
    """None while the thread runs, or where it may not be read."""
    return parse_syscall((procfs.read(f"/proc/{pid}/task/{thread}/syscall") or b"").decode())


def parse_syscall(text: str) -> SystemCall | None:
    words = text.split()
    if len(words) < 7 or not words[0].isdigit():
        return None
    number = int(words[0])
    return SystemCall(_NAMES.get(number, f"syscall-{number}"), tuple(int(word, 16) for word in words[1:7]))


def channel(pid: int, thread: int) -> str:
    """The kernel's wait channel, else the name of the system call, else "unknown"."""
    named = procfs.wait_channel(pid, thread)
    if named:
        return named
    call = current_syscall(pid, thread)
    return call.name if call is not None else "unknown"


def describe_syscall(pid: int, call: SystemCall | None) -> str:
    """``read fd=0 (/dev/pts/1)``"""
    if call is None:
        return ""
    number = call.file_number
    if call.name in _OPEN_SYSCALLS:
        path = text_at(pid, call.arguments[_OPEN_SYSCALLS[call.name]])
        return f"{call.name} ({path})" if path else call.name
    if number is None:
        return call.name if call.timed or call.name not in _TIMEOUT_ARGUMENT else f"{call.name} for ever"
    described = f"{call.name} fd={number} ({fd_path(pid, number)})"
    owner = owner_of(pid, number) if waits_for_file_lock(call) else None
    return described + (f", locked by process {owner.pid} ({owner.name})" if owner is not None else "")


_SET_LOCK_AND_WAIT = frozenset({7, 38})  # F_SETLKW, F_OFD_SETLKW


def waits_for_file_lock(call: SystemCall) -> bool:
    return call.name == "flock" or (call.name == "fcntl" and call.arguments[1] in _SET_LOCK_AND_WAIT)


_AT_FDCWD = 0xFFFFFF9C  # AT_FDCWD, in 32 bits


def path_being_opened(pid: int, call: SystemCall) -> str:
    """A path by which we can open the same file, whatever the process's root and folder; "" if unknown."""
    path = text_at(pid, call.arguments[_OPEN_SYSCALLS[call.name]])
    if not path or path.startswith("/"):
        return path and f"/proc/{pid}/root{path}"
    folder_fd = call.arguments[0] & 0xFFFFFFFF
    if call.name == "open" or folder_fd == _AT_FDCWD:
        return f"/proc/{pid}/cwd/{path}"
    return f"/proc/{pid}/fd/{folder_fd}/{path}"


_ABSOLUTE = 1  # TIMER_ABSTIME
_NS_PER_S = 1e9
#: Which argument points to the time, and whether it has microseconds (struct timeval) instead of nanoseconds.
_SLEEPS = {
    "nanosleep": (0, False),
    "clock_nanosleep": (2, False),
    "pselect6": (4, False),
    "select": (4, True),
}


def sleep_left_s(pid: int, call: SystemCall | None) -> float | None:
    """Seconds until a sleep ends, at most: of a relative one it is not known when it began. None: it is no sleep.

    Python sleeps in `clock_nanosleep`, before 3.11 in a `select` of no file at all.
    """
    if call is None or call.name not in _SLEEPS or ("select" in call.name and call.arguments[0] != 0):
        return None
    at, microseconds = _SLEEPS[call.name]
    raw = memory_at(pid, call.arguments[at], 16)
    if len(raw) < 16:
        return None
    seconds, fraction = struct.unpack("<qq", raw)
    value: float = seconds + fraction / (1e6 if microseconds else _NS_PER_S)
    if call.name == "clock_nanosleep" and call.arguments[1] & _ABSOLUTE:
        value -= time.clock_gettime(call.arguments[0] & 0xFFFFFFFF)
    return max(0.0, value)


def text_at(pid: int, address: int) -> str:
    """A text in the memory of the process, "" where it may not be read."""
    return memory_at(pid, address, 4096 - address % 4096).partition(b"\0")[0].decode(errors="replace")


def fd_path(pid: int, number: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return "unknown"
