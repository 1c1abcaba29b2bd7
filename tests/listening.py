"""What a process listens on, as the kernel's tables have it."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

_LISTEN = "0A"


def sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets that it has open."""
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(one)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def addresses_of(pid: int) -> set[tuple[str, int]]:
    """Address and port of everything that this process listens on over TCP."""
    own, found = sockets_of(pid), set()
    for name in ("tcp", "tcp6"):
        table = Path(f"/proc/{pid}/net/{name}")
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            words = line.split()
            if words[3] == _LISTEN and words[9] in own:
                found.add(_address(words[1]))
    return found


def _address(text: str) -> tuple[str, int]:
    """The kernel prints words of 32 bits in the machine's own order."""
    host, _, port = text.partition(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, packed), int(port, 16)
