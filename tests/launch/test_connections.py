"""Strangers at the coordinator's port: malformed lines, idle connections, more of them than files may be open."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.journal.events import Event, PeerRejected
from holdfast.launch import connections, messages
from holdfast.launch.connection import MessageConnection, open_server
from holdfast.launch.connections import Connections
from holdfast.launch.coordinator import REJECTIONS_TOLD, Coordinator, GroupConfig, same_token
from holdfast.launch.messages import FROM_COORDINATOR, Hello, JoinRefused, Ping, Pong, Status
from tests.launch.malformed import SEEN, VALID, mutated
from tests.launch.test_group import Group
from tests.listening import addresses_of
from tests.waiting import PATIENCE_S, until

TOKEN = "word"


@contextlib.contextmanager
def open_files(soft: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def many_open_files() -> contextlib.AbstractContextManager[None]:
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096:
        pytest.skip("no more than 4096 files may be open here")
    return open_files(4096)


def closed_after(address: tuple[str, int], line: bytes) -> bool:
    """Whether the other side closes the connection, without a word."""
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        try:
            sock.sendall(line + b"\n")
            return sock.recv(1) == b""
        except ConnectionError:
            return True


def port_of(group: Group) -> int:
    found = until(lambda: addresses_of(group.process.pid), "the port in the kernel's table")
    (port,) = [port for host, port in found if host == "127.0.0.1"]
    return port


def test_a_training_outlives_malformed_lines_and_a_thousand_idle_connections(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.02")
    group.trainer_at(1, 5)
    address = ("127.0.0.1", port_of(group))
    for line in [*SEEN, *mutated(random.Random(2), 300)]:
        if b'"rank": ' not in line:  # with the right token it would be an agent too many, and closed as well
            assert closed_after(address, line), line[:200]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with (
        open_files(min(hard, 4096) if hard != resource.RLIM_INFINITY else 4096),
        contextlib.ExitStack() as kept,
    ):
        for _ in range(1100):
            kept.enter_context(socket.create_connection(address))
        step = group.newest(1)
        assert step is not None
        group.trainer_at(1, step.step + 50)
        assert closed_after(address, b"{}")
    group.process.terminate()
    code, log = group.ended()
    assert code == 143, log
    assert log.rstrip().endswith("group 143 1"), log  # the first attempt, ended in order


class Honest:
    """An agent of rank 0 that answers pings, in a thread of its own."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.line, self.pings, self.lost = MessageConnection(socket.create_connection(address)), 0, ""
        self.line.send(Hello(0, TOKEN, "honest", 1))
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def _talk(self) -> None:
        while self.line.fill():
            while (message := self.line.take(FROM_COORDINATOR)) is not None:
                assert isinstance(message, Ping)
                self.pings += 1
                self.line.send(Pong(message.at))
                self.line.send(Status(True, 1, step=self.pings, sequence=self.pings))
        self.lost = "the coordinator closed"


@pytest.fixture
def group() -> Iterator[tuple[Coordinator, tuple[str, int]]]:
    server = open_server("127.0.0.1", 0)
    made = Coordinator(
        GroupConfig(count=2, token=TOKEN), server, say=lambda words: None, note=lambda event: None
    )
    yield made, server.getsockname()
    made._connections.close_all()


def test_after_the_token_a_malformed_line_costs_its_sender_the_connection_alone(
    group: tuple[Coordinator, tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.launch.coordinator.LOOK_S", 0.01)
    coordinator, address = group
    honest = Honest(address)
    while 0 not in coordinator.seats:
        coordinator._turn(judged=False)
    hello = messages.encode(Hello(1, TOKEN, "other", 2))
    of_coordinator = [messages.encode(one)[:-1] for one in VALID[5:]]
    for line in [*SEEN, *of_coordinator, *mutated(random.Random(3), 300)]:
        with socket.create_connection(address) as sock:
            sock.sendall(hello)
            while 1 not in coordinator.seats:
                coordinator._turn(judged=True)
            with contextlib.suppress(ConnectionError):
                sock.sendall(line + b"\n")
                sock.shutdown(socket.SHUT_WR)
            while 1 in coordinator.seats:
                coordinator._turn(judged=True)
    before = honest.pings
    while honest.pings < before + 2:
        coordinator._turn(judged=True)
    assert not honest.lost
    assert list(coordinator.seats) == [0]
    assert coordinator.seats[0].seen.host == "honest"


@pytest.mark.parametrize(("hello", "why"), [
    (Hello(1, "wrong", "h"), "its token is not the group's"),
    (Hello(1, "", "h"), "its token is not the group's"),
    (Hello(1, TOKEN + "x", "h"), "its token is not the group's"),
    (Hello(1, "wörd", "h"), "its token is not the group's"),
    (Hello(2, TOKEN, "h"), "process 2 is not of a group of 2"),
    (Hello(1, TOKEN, "h", version=7), "it speaks version 7 of the messages, and this coordinator 1"),
])  # fmt: skip
def test_who_has_another_token_rank_or_version_is_turned_away_and_both_sides_say_so(
    group: tuple[Coordinator, tuple[str, int]], hello: Hello, why: str
) -> None:
    coordinator, address = group
    noted: list[Event] = []
    coordinator._note = noted.append
    answer = b""
    with socket.create_connection(address, timeout=0.01) as sock:
        ours = ":".join(map(str, sock.getsockname()))
        sock.sendall(messages.encode(hello))
        for _ in range(100):
            coordinator._turn(judged=False)
            with contextlib.suppress(TimeoutError):
                if not (got := sock.recv(4096)):
                    break
                answer += got
        else:
            raise AssertionError("still open")
    assert coordinator.seats == {}
    assert messages.parse(answer.strip(), messages.FROM_COORDINATOR) == JoinRefused(why)
    assert noted == [PeerRejected(address=ours, why=why)]


def test_the_same_rejection_is_told_once_for_each_host(group: tuple[Coordinator, tuple[str, int]]) -> None:
    coordinator, _ = group
    noted: list[Event] = []
    coordinator._note = noted.append
    for number in range(200):
        coordinator._tell_rejected(f"10.0.0.{number % 50}:{number}", "its token is not the group's")
    assert len(noted) == REJECTIONS_TOLD
    assert noted[0] == PeerRejected(address="10.0.0.0:0", why="its token is not the group's")


def test_a_group_may_have_more_agents_than_select_takes() -> None:
    server, count = open_server("127.0.0.1", 0), 1100
    with many_open_files():
        coordinator = Coordinator(
            GroupConfig(count=count, token=TOKEN), server, say=lambda words: None, note=lambda event: None
        )
        agents = []
        for rank in range(count):
            agents.append(MessageConnection(socket.create_connection(server.getsockname())))
            agents[-1].send(Hello(rank, TOKEN, "here"))
            if rank % 100 == 0:
                coordinator._turn(judged=False)
        while len(coordinator.seats) < count:
            coordinator._turn(judged=True)
        assert max(seat.line.sock.fileno() for seat in coordinator.seats.values()) > 1024
        for one in agents:
            one.close()
        while coordinator.seats:
            coordinator._turn(judged=False)
        coordinator._connections.close_all()


def test_tokens_are_compared_whatever_they_hold() -> None:
    assert same_token("wörd\udc80", "wörd\udc80")
    assert not same_token("wörd", "word")


def test_who_does_not_say_hello_is_closed_in_time_and_the_oldest_when_too_many_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "STRANGERS", 3)
    monkeypatch.setattr(connections, "HELLO_S", 3600.0)
    server = open_server("127.0.0.1", 0)
    held = Connections(server, agents=1)
    strangers = [socket.create_connection(server.getsockname(), timeout=PATIENCE_S) for _ in range(6)]
    held.poll(1.0)
    assert len(held._waiting) == 4
    assert [one.recv(1) for one in strangers[:2]] == [b"", b""]
    strangers[5].sendall(b"{")  # a drop now and then buys no time
    (ready,) = held.poll(1.0)
    held.close_late()
    assert held.waits(ready)
    monkeypatch.setattr(connections, "HELLO_S", 0.0)
    held.close_late()
    assert held._waiting == {}
    assert strangers[5].recv(1) == b""
    for one in strangers:
        one.close()
    held.close_all()


def test_when_no_more_files_may_be_open_it_waits_and_accepts_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PAUSE_S", 0.0)
    server = open_server("127.0.0.1", 0)
    held = Connections(server, agents=1)
    clients = [socket.create_connection(server.getsockname(), timeout=PATIENCE_S) for _ in range(3)]
    with contextlib.ExitStack() as filled:
        for _ in range(64):  # so that no number below the limit is free
            filled.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        used = max(int(name) for name in os.listdir("/proc/self/fd"))
        while (number := os.open(os.devnull, os.O_RDONLY)) < used:
            filled.callback(os.close, number)
        os.close(number)
        with open_files(number):
            assert held.poll(1.0) == []
            assert held._waiting == {}
            assert held.poll(0.0) == []
    held.poll(1.0)
    held.poll(1.0)
    assert len(held._waiting) == 3
    for one in clients:
        one.close()
    held.close_all()
