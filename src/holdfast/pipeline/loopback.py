"""Keeps ports that a library opened on all interfaces to the programs of this machine.

TensorFlow's servers listen on every interface, and no setting of theirs says otherwise. Linux lets any user tie a
listening socket to one network device (SO_BINDTODEVICE, since 5.7), also one that listens already: then the kernel
refuses what comes by any other. `ss -ltn` shows it as `*%lo:5050`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_DEVICE = b"lo\0"
_LISTEN = "0A"


def is_loopback(host: str) -> bool:
    """By its name or address alone; nothing is asked of the network."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def try_out() -> None:
    """Raises OSError where a socket cannot be kept to this machine. Before anything listens."""
    if not hasattr(socket, "SO_BINDTODEVICE") or not os.path.isdir("/proc/self/fd"):
        raise OSError("only Linux can do it")
    with socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _DEVICE)


def restrict() -> tuple[int, ...]:
    """Ties every socket on which this process listens over TCP to the loopback device. Returns their ports."""
    ports = set()
    for listener in _listeners():
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _DEVICE)
        ports.add(int(listener.getsockname()[1]))
    return tuple(sorted(ports))


def listening_ports() -> tuple[int, ...]:
    return tuple(sorted({int(listener.getsockname()[1]) for listener in _listeners()}))


def from_outside(ports: Iterable[int]) -> list[str]:
    """Addresses of other machines that are connected to one of these ports: they came before `restrict`."""
    wanted, found = set(ports), []
    for name in ("tcp", "tcp6"):
        table = Path(f"/proc/self/net/{name}")
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            _, local, remote, state, *_ = line.split()
            if state != _LISTEN and int(local.partition(":")[2], 16) in wanted:
                other = _address(remote)
                if not other.is_loopback and other != _address(local):
                    found.append(str(other))
    return found


def _listeners() -> Iterator[socket.socket]:
    """Copies: what is set of a copy is set of the socket itself."""
    own = Path("/proc/self/fd")
    for name in os.listdir(own) if own.is_dir() else []:
        try:
            copy = os.dup(int(name))
        except OSError:  # closed meanwhile
            continue
        try:
            made = socket.socket(fileno=copy)
        except OSError:  # no socket
            os.close(copy)
            continue
        with made:
            is_tcp = made.family in (socket.AF_INET, socket.AF_INET6) and made.type == socket.SOCK_STREAM
            if is_tcp and made.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                yield made


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The kernel prints words of 32 bits in the machine's own order."""
    host = text.partition(":")[0]
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if len(words) == 1:
        return ipaddress.IPv4Address(packed)
    long = ipaddress.IPv6Address(packed)
    return long.ipv4_mapped or long
