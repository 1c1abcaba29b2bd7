"""The other end of a socket or a pipe."""

from __future__ import annotations

import os
import socket
import subprocess

from holdfast.host import sockets


def test_the_peer_of_a_connection_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            link = os.readlink(f"/proc/self/fd/{client.fileno()}")
            assert sockets.peer_of(os.getpid(), link) == f"127.0.0.1:{port}, connected"
        listening = os.readlink(f"/proc/self/fd/{server.fileno()}")
        assert sockets.peer_of(os.getpid(), listening) == f"127.0.0.1:{port}, listening"


def test_version_six_of_the_protocol() -> None:
    if not socket.has_dualstack_ipv6():
        return
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        link = os.readlink(f"/proc/self/fd/{server.fileno()}")
        assert sockets.peer_of(os.getpid(), link) == f"[::1]:{port}, listening"


def test_other_descriptors_have_no_peer() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert sockets.peer_of(os.getpid(), os.readlink(f"/proc/self/fd/{ours.fileno()}")) == ""
    assert sockets.peer_of(os.getpid(), "pipe:[1]") == ""


def test_who_writes_into_a_pipe() -> None:
    reading, writing = os.pipe()
    link = os.readlink(f"/proc/self/fd/{reading}")
    with subprocess.Popen(["sleep", "600"], pass_fds=(writing,)) as child:
        try:
            os.close(writing)
            assert sockets.writers_of(link, [os.getpid(), child.pid]) == [child.pid]
        finally:
            child.kill()
            os.close(reading)
