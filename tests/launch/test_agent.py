"""An agent at the other end of something that is no coordinator."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.launch import agent as launch_agent
from holdfast.launch import messages
from holdfast.launch.connection import open_server
from tests.launch.malformed import VALID
from tests.waiting import PATIENCE_S, until

STAYS = """
import os, pathlib, sys, time
own = pathlib.Path(sys.argv[1])
(own / "new").write_text(str(os.getpid()))
(own / "new").rename(own / "pid")
time.sleep(1000)
"""


@contextmanager
def agent(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A real one, and the connection it has made, with its hello read."""
    folder.mkdir()
    with open_server("127.0.0.1", 0) as server:
        environment = os.environ | {
            launch_agent.COORDINATOR_VARIABLE: f"127.0.0.1:{server.getsockname()[1]}",
            launch_agent.TOKEN_VARIABLE: "word",
            launch_agent.RANK_VARIABLE: "0",
            launch_agent.GROUP_DIR_VARIABLE: str(folder),
            launch_agent.COMMAND_VARIABLE: shlex.join([sys.executable, "-c", STAYS]),
        }
        process = subprocess.Popen([sys.executable, "-m", "holdfast.launch.agent"], env=environment)
        try:
            sock = server.accept()[0]
            with sock:
                sock.settimeout(PATIENCE_S)
                assert b'"word"' in sock.recv(65536)
                yield process, sock
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("line", [
    b"[" * 100_000, b"nothing", b'{"leave": "x"}', b'{"kind": "leave", "exit_code": "x"}', b"\xff" * 2_000_000,
    messages.encode(VALID[2])[:-1],
], ids=["deep", "text", "old", "type", "long", "of an agent"])  # fmt: skip
def test_an_agent_that_hears_something_else_ends_as_without_a_coordinator(
    tmp_path: Path, line: bytes
) -> None:
    with agent(tmp_path / "run") as (process, sock):
        sock.sendall(line + b"\n")  # and the connection stays open
        assert process.wait(PATIENCE_S) == launch_agent.COORDINATOR_LOST


def test_the_trainer_of_an_agent_that_hears_something_else_ends_too(tmp_path: Path) -> None:
    with agent(tmp_path / "run") as (process, sock):
        sock.sendall(messages.encode(messages.Start(1, 2, "127.0.0.1:9", False)))
        started = tmp_path / "run" / "pid"

        def is_there_while_it_is_pinged() -> bool:
            sock.sendall(messages.encode(messages.Ping(1.0)))
            return started.exists()

        until(is_there_while_it_is_pinged, "the trainer")
        sock.sendall(b"[" * 100_000 + b"\n")
        assert process.wait(PATIENCE_S) == launch_agent.COORDINATOR_LOST
    trainer = Path(f"/proc/{started.read_text()}")
    until(lambda: not trainer.exists(), "the end of the trainer")
