"""What the open file numbers of a process are: a terminal, a pipe, a socket that listens, a timer."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from enum import StrEnum

from holdfast.host import procfs
from holdfast.host.threads import BackgroundCall

_LISTENS = "0A"  # the state of /proc/net/tcp
_UNIX_LISTENS = 0x10000  # a flag of /proc/net/unix: __SO_ACCEPTCON
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_POLLFD = struct.Struct("<ihh")
_MAX_POLLED = 4096
_STAT_TIMEOUT_S = 0.5


class FileKind(StrEnum):
    UNKNOWN = "unknown"
    TERMINAL = "terminal"
    PIPE = "pipe"
    FIFO = "fifo"
    FILE = "file"
    DEVICE = "device"
    EVENT = "event"  # eventfd, inotify, signalfd, pidfd: something that this machine does
    TIMER = "timer"
    EPOLL = "epoll"
    LISTENER = "listener"  # a socket that waits for clients
    LOCAL_SOCKET = "local-socket"
    REMOTE_SOCKET = "remote-socket"


_ANONYMOUS = {
    "eventfd": FileKind.EVENT,
    "inotify": FileKind.EVENT,
    "signalfd": FileKind.EVENT,
    "pidfd": FileKind.EVENT,
    "timerfd": FileKind.TIMER,
    "eventpoll": FileKind.EPOLL,
}


def links(pid: int, *, most: int | None = None) -> Iterator[tuple[int, str]]:
    """The open file numbers of a process, lowest first, and what each leads to; nothing where they may not be read."""
    try:
        numbers = sorted(int(number) for number in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return
    for number in numbers[:most]:
        with contextlib.suppress(OSError):  # closed in between
            yield number, os.readlink(f"/proc/{pid}/fd/{number}")


def is_open_to_write(pid: int, number: int) -> bool | None:
    """None where it cannot be read."""
    flags = re.search(
        rb"^flags:\s*([0-7]+)", procfs.read(f"/proc/{pid}/fdinfo/{number}") or b"", re.MULTILINE
    )
    return int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY if flags is not None else None


def kind_of(pid: int, number: int) -> FileKind:
    try:
        name = os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return FileKind.UNKNOWN
    if name.startswith("socket:["):
        return _socket_kind(pid, name[8:-1])
    if name.startswith("pipe:["):
        return FileKind.PIPE
    if name.startswith("anon_inode:"):
        return _ANONYMOUS.get(name.removeprefix("anon_inode:").strip("[]"), FileKind.UNKNOWN)
    if name.startswith(_TERMINALS):
        return FileKind.TERMINAL
    if name.startswith("/dev/") and not name.startswith("/dev/shm/"):
        return FileKind.DEVICE
    return FileKind.FIFO if is_fifo(f"/proc/{pid}/fd/{number}") else FileKind.FILE


def is_fifo(path: str) -> bool:
    """Asked in a thread: a file on a dead mount never answers."""
    call = BackgroundCall(lambda: stat.S_ISFIFO(os.stat(path).st_mode))
    return call.wait(_STAT_TIMEOUT_S) and call.result is True


def fifos_among(files: Mapping[str, str]) -> list[str]:
    """The names of those that are FIFOs, by a path to each. Asked in one thread, as above."""
    call = BackgroundCall(
        lambda: [name for name, path in files.items() if stat.S_ISFIFO(os.stat(path).st_mode)]
    )
    return (call.result or []) if files and call.wait(_STAT_TIMEOUT_S) else []


def _socket_kind(pid: int, inode: str) -> FileKind:
    for name in ("tcp", "tcp6"):
        for line in (procfs.read(f"/proc/{pid}/net/{name}") or b"").decode(errors="replace").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[9] == inode:
                return FileKind.LISTENER if fields[3] == _LISTENS else FileKind.REMOTE_SOCKET
    for line in (procfs.read(f"/proc/{pid}/net/unix") or b"").decode(errors="replace").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 6 and fields[6] == inode:
            return FileKind.LISTENER if int(fields[3], 16) & _UNIX_LISTENS else FileKind.LOCAL_SOCKET
    return FileKind.REMOTE_SOCKET  # UDP, netlink and the rest: something outside


def polled(pid: int, call: str, arguments: tuple[int, ...]) -> list[int] | None:
    """The file numbers that a call of the poll family waits for; None where they could not be read."""
    if call in ("poll", "ppoll"):
        size = _POLLFD.size * min(arguments[1], _MAX_POLLED)
        memory = memory_at(pid, arguments[0], size)
        known = len(memory) == size
        return [number for number, _, _ in _POLLFD.iter_unpack(memory) if number >= 0] if known else None
    if call in ("select", "pselect6"):
        return _selected(pid, arguments)
    return _in_epoll(pid, arguments[0])


def _selected(pid: int, arguments: tuple[int, ...]) -> list[int] | None:
    highest, numbers = min(arguments[0], _MAX_POLLED), set()
    for address in arguments[1:4]:
        if not address or not highest:
            continue
        size = (highest + 63) // 64 * 8
        bits = memory_at(pid, address, size)
        if len(bits) < size:
            return None
        numbers |= {number for number in range(highest) if bits[number // 8] >> number % 8 & 1}
    return sorted(numbers)


def _in_epoll(pid: int, number: int) -> list[int] | None:
    text = procfs.read(f"/proc/{pid}/fdinfo/{number}")
    if text is None:
        return None
    return [
        int(line.split()[1]) for line in text.decode(errors="replace").splitlines() if line.startswith("tfd:")
    ]


def memory_at(pid: int, address: int, size: int) -> bytes:
    """Bytes in the memory of a process; fewer, or none, where they may not be read."""
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size) if size else b""
    except (OSError, ValueError, OverflowError):
        return b""
