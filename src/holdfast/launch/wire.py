"""Messages between the conductor of a group and its members: JSON objects, one a line, over TCP."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
import threading
from typing import Any

Message = dict[str, Any]
LONGEST_BYTES = 1 << 20  # of one message; more is not ours
_ROUND_TRIP_AT = 68  # in the kernel's tcp_info: microseconds, smoothed


class Line:
    """One connection. Reads never block; a write gives up after some seconds, when the other side takes nothing."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._rest = b""
        self._sending = threading.Lock()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(5.0)

    def send(self, message: Message) -> bool:
        """False when the other side is not there any more."""
        data = json.dumps(message, default=str).encode() + b"\n"
        try:
            with self._sending:
                self.sock.sendall(data)
        except OSError:
            return False
        return True

    def receive(self) -> list[Message] | None:
        """What has come; None when the other side has closed. Call it when the socket is readable."""
        try:
            data = self.sock.recv(65536)
        except TimeoutError:
            return []
        except OSError:
            return None
        if not data or len(self._rest) > LONGEST_BYTES:
            return None
        *whole, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in whole:
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    found.append(message)
        return found

    def round_trip_s(self) -> float | None:
        """As the kernel measures it, from what was sent to its acknowledgement: a busy program does not lengthen it."""
        if not sys.platform.startswith("linux"):
            return None
        try:
            info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP_AT + 4)
            return int(struct.unpack_from("=I", info, _ROUND_TRIP_AT)[0]) / 1e6
        except (OSError, struct.error):
            return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()


def listening(host: str, port: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((host, port))
    server.listen(1024)
    return server


def free_port(host: str = "") -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
