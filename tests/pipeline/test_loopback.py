"""Ports that are kept to this machine, tried from another: a network namespace with a cable to this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.cli.main import main
from holdfast.pipeline import loopback

HERE, THERE = "10.78.0.1", "10.78.0.2"

#: Listens on all interfaces, as TensorFlow does; is asked for what to do by one word a line.
LISTENER = """
import socket, sys
from holdfast.pipeline import loopback
server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
print(server.getsockname()[1], flush=True)
for word in sys.stdin:
    print({"restrict": loopback.restrict, "ports": loopback.listening_ports,
           "outside": lambda: loopback.from_outside(loopback.listening_ports())}[word.strip()](), flush=True)
"""

#: Connects, says so, and stays.
CLIENT = """
import socket, sys
try:
    held = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
    print("connected", flush=True)
    sys.stdin.read()
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


@pytest.fixture
def other_host() -> Iterator[list[str]]:
    """The words before a command that put it there."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and ip")
    name = f"hfl{os.getpid()}"
    try:
        ip(f"netns add {name}")
        ip(f"link add hfl0 type veth peer name hfl1 netns {name}")
        ip(f"addr add {HERE}/24 dev hfl0")
        ip("link set hfl0 up")
        ip(f"-n {name} addr add {THERE}/24 dev hfl1")
        ip(f"-n {name} link set hfl1 up")
        yield ["ip", "netns", "exec", name]
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", "hfl0"], capture_output=True)


def spawned(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def line_of(process: subprocess.Popen[str], word: str = "") -> str:
    assert process.stdin is not None and process.stdout is not None
    if word:
        process.stdin.write(word + "\n")
    return process.stdout.readline().strip()


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


def test_a_socket_that_listens_to_all_networks_is_closed_to_other_machines(other_host: list[str]) -> None:
    listener = spawned(sys.executable, "-c", LISTENER)
    port = line_of(listener)
    early = spawned(*other_host, sys.executable, "-c", CLIENT, HERE, port)
    assert line_of(early) == "connected"
    near = spawned(sys.executable, "-c", CLIENT, "127.0.0.1", port)
    assert line_of(near) == "connected"
    assert line_of(listener, "restrict") == f"({port},)"
    late = spawned(*other_host, sys.executable, "-c", CLIENT, HERE, port)
    assert line_of(late) == "ConnectionRefusedError"
    still = spawned(sys.executable, "-c", CLIENT, "127.0.0.1", port)
    assert line_of(still) == "connected"
    assert (
        line_of(listener, "outside") == f"['{THERE}']"
    )  # who came before is found, and no program of this machine
    end(early, near, late, still, listener)


def test_names_of_this_machine_alone() -> None:
    assert all(map(loopback.is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]")))
    assert not any(
        map(loopback.is_loopback, ("decoder-1", "0.0.0.0", "::", "10.0.0.1", "localhost.example", ""))
    )


@pytest.mark.parametrize("host", ["decoder-1", "0.0.0.0", "10.0.0.1"])
def test_another_host_is_refused_without_the_flag(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "serve", "--host", host]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "other machines are not served without --allow-any-client" in said
    assert "can reach the ports can read and write your files" in said
