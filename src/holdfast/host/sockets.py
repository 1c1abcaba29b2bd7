"""What is at the other end of a socket or a pipe that a process waits for."""

from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Iterable

from holdfast.host import descriptors, procfs

_STATES = {
    "01": "connected",
    "02": "connecting",
    "06": "closed",
    "08": "closed by the other side",
    "0A": "listening",
}
_OWN_BYTES = struct.Struct("=I")


def peer_of(pid: int, link: str) -> str:
    """``10.0.0.3:443, connected`` of ``socket:[4711]``; "" where it is no TCP socket, or may not be read."""
    found = re.fullmatch(r"socket:\[(\d+)\]", link)
    if found is None:
        return ""
    for name in ("tcp", "tcp6"):
        for line in (procfs.read(f"/proc/{pid}/net/{name}") or b"").decode().splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[9] == found[1]:
                end = fields[1] if fields[3] == "0A" else fields[2]
                return f"{_address(end)}, {_STATES.get(fields[3], 'closing')}"
    return ""


def writers_of(link: str, pids: Iterable[int]) -> list[int]:
    """The processes among these that have the writing end of ``pipe:[4711]`` open."""
    return [
        pid
        for pid in pids
        if any(
            to == link and descriptors.is_open_to_write(pid, number) for number, to in descriptors.links(pid)
        )
    ]


def _address(text: str) -> str:
    """The kernel writes each 32 bits of an address in the machine's own byte order."""
    host, _, port = text.partition(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    packed = b"".join(_OWN_BYTES.pack(word) for word in words)
    address = ipaddress.ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    shown = mapped or address
    return f"[{shown}]:{int(port, 16)}" if shown.version == 6 else f"{shown}:{int(port, 16)}"
