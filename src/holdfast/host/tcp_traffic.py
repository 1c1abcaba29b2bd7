"""How many bytes went each way over the TCP connections of this machine, as the kernel counts them (`ss -ti`)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE = 4, 20, 0x301, 3
_WITH_INFO, _INFO = 1 << 1, 2  # the attribute that is asked for: struct tcp_info
_HEADER, _ATTRIBUTE, _BYTES = struct.Struct("=IHHII"), struct.Struct("=HH"), struct.Struct("=QQ")
_MESSAGE, _INODE_AT, _PORTS_AT = 72, 68, 4  # struct inet_diag_msg
_BYTES_AT = 120  # tcpi_bytes_acked and tcpi_bytes_received
_ESTABLISHED, _LISTEN = 1, 10
_MOST_BYTES, _TIMEOUT_S = 1 << 20, 0.5


class TcpSocket(NamedTuple):
    inode: int
    listens: bool
    connected: bool
    port: int
    other_port: int
    sent: int
    received: int


def tcp_sockets() -> list[TcpSocket]:
    """All of this network namespace; none where the kernel does not answer."""
    try:
        return [one for family in (socket.AF_INET, socket.AF_INET6) for one in _of_family(family)]
    except (OSError, struct.error, AttributeError):
        return []


def _of_family(family: int) -> Iterator[TcpSocket]:
    request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, _WITH_INFO, 0xFFFFFFFF)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asked:
        asked.settimeout(_TIMEOUT_S)
        asked.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP, 1, 0) + request)
        while True:
            data, at = asked.recv(_MOST_BYTES), 0
            while at + _HEADER.size <= len(data):
                length, kind, *_ = _HEADER.unpack_from(data, at)
                if kind != _BY_FAMILY or length < _HEADER.size:  # the end, or an error
                    return
                yield _socket(data[at + _HEADER.size : at + length])
                at += (length + 3) & ~3


def _socket(message: bytes) -> TcpSocket:
    port, other_port = struct.unpack_from(">HH", message, _PORTS_AT)
    (inode,) = struct.unpack_from("=I", message, _INODE_AT)
    sent, received = _traffic(message)
    return TcpSocket(
        inode, message[1] == _LISTEN, message[1] == _ESTABLISHED, port, other_port, sent, received
    )


def _traffic(message: bytes) -> tuple[int, int]:
    at = _MESSAGE
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if kind == _INFO and length >= _ATTRIBUTE.size + _BYTES_AT + _BYTES.size:
            sent, received = _BYTES.unpack_from(message, at + _ATTRIBUTE.size + _BYTES_AT)
            return sent, received
        at += max(_ATTRIBUTE.size, (length + 3) & ~3)
    return 0, 0
