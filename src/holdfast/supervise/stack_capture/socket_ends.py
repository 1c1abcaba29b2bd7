"""The socket that a thread waits for: whether anybody is at its other end, and how much went each way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from holdfast.host import descriptors, tcp_traffic
from holdfast.host.tcp_traffic import TcpSocket
from holdfast.supervise.stack_capture.syscalls import SystemCall, fd_path

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_POLLS = ("poll", "ppoll", "select", "pselect6")  # of a socket with a timeout


def waited_for(
    pid: int, call: SystemCall | None, sockets: Callable[[], list[TcpSocket]] = tcp_traffic.tcp_sockets
) -> dict[str, Any]:
    """ "state": listening | connecting | connected, "port", "clients": connections to it, "sent" and "received" in
    bytes; of a listening one over all its connections. Empty where it is no TCP socket."""
    found = _SOCKET.fullmatch(fd_path(pid, number)) if (number := _number(pid, call)) is not None else None
    every = sockets() if found is not None else []
    own = next((one for one in every if found is not None and one.inode == int(found[1])), None)
    if own is None:
        return {}
    of_listener = [one for one in every if one.connected and one.port == own.port] if own.listens else [own]
    return {
        "state": "listening" if own.listens else "connected" if own.connected else "connecting",
        "port": own.port if own.listens else own.other_port,
        "clients": len(of_listener) if own.listens else 0,
        "sent": sum(one.sent for one in of_listener),
        "received": sum(one.received for one in of_listener),
    }


def _number(pid: int, call: SystemCall | None) -> int | None:
    if call is None:
        return None
    if call.name in _POLLS:
        polled = descriptors.polled(pid, call.name, call.arguments) or []
        return polled[0] if len(polled) == 1 else None
    return call.file_number
