"""Who is at the other end of a socket, and what went each way, as the kernel counts it."""

from __future__ import annotations

import os
import socket

from holdfast.supervise.stack_capture import socket_ends
from holdfast.supervise.stack_capture.syscalls import SystemCall


def _waits(name: str, one: socket.socket) -> dict[str, object]:
    return socket_ends.waited_for(os.getpid(), SystemCall(name, (one.fileno(), 0, 0, 0, 0, 0)))


def test_a_door_and_a_connection() -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        port = door.getsockname()[1]
        assert _waits("accept4", door) == {
            "state": "listening",
            "port": port,
            "clients": 0,
            "sent": 0,
            "received": 0,
        }
        with socket.create_connection(("127.0.0.1", port)) as there, door.accept()[0] as here:
            there.sendall(b"x" * 5000)
            assert len(here.recv(5000, socket.MSG_WAITALL)) == 5000
            seen = _waits("recvfrom", here)
            assert (seen["state"], seen["port"], seen["received"]) == (
                "connected",
                there.getsockname()[1],
                5000,
            )
            assert _waits("accept4", door)["clients"] == 1


def test_a_pipe_is_no_socket() -> None:
    reads, writes = os.pipe()
    try:
        assert socket_ends.waited_for(os.getpid(), SystemCall("read", (reads, 0, 0, 0, 0, 0))) == {}
        assert socket_ends.waited_for(os.getpid(), None) == {}
    finally:
        os.close(reads)
        os.close(writes)
