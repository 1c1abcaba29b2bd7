"""A connection between the coordinator of a group and an agent: messages, one a line, over TCP."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
from collections import deque

from holdfast.launch import messages
from holdfast.launch.messages import Kinds, Message

_ROUND_TRIP_AT = 68  # in the kernel's tcp_info: microseconds, smoothed


class NotAMessage(Exception):
    """The other side sent something else than a message of the kinds that are expected of it."""


class MessageConnection:
    """One connection. Reads never block; a write gives up after some seconds, when the other side takes nothing."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.peer = _address_of(sock)
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._sending = threading.Lock()
        with contextlib.suppress(OSError):  # gone already: the first read says so
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(5.0)

    def send(self, message: Message) -> bool:
        """False when the other side is not there any more."""
        data = messages.encode(message)
        try:
            with self._sending:
                self.sock.sendall(data)
        except OSError:
            return False
        return True

    def fill(self) -> bool:
        """Reads what has come, for `take`; call it when the socket is readable. False when the other side closed."""
        try:
            data = self.sock.recv(65536)
        except TimeoutError:
            return True
        except OSError:
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(lines)
        return bool(data)

    def take(self, kinds: Kinds, *, most_bytes: int = messages.LINE_BYTES) -> Message | None:
        """The next message that has come complete. Raises NotAMessage for anything else: close the line then."""
        if not self._lines:
            if len(self._rest) > most_bytes:
                raise NotAMessage(f"it sent a line of over {most_bytes} bytes")
            return None
        line = self._lines.popleft()
        message = messages.parse(line, kinds) if len(line) <= most_bytes else None
        if message is None:
            raise NotAMessage(f"it sent something else than {' or '.join(kinds)}")
        return message

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
            self.sock.shutdown(socket.SHUT_RDWR)  # wakes another thread that sends
        with self._sending, contextlib.suppress(OSError):
            self.sock.close()


def _address_of(sock: socket.socket) -> str:
    try:
        return ":".join(map(str, sock.getpeername()[:2]))
    except (OSError, TypeError, IndexError):
        return "an address that is gone"


def open_server(host: str, port: int) -> socket.socket:
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
