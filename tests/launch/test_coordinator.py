"""The coordinator's turns, with a member at the other end of a real connection."""

from __future__ import annotations

import itertools
import select
import socket
import time
from types import SimpleNamespace

import pytest

from holdfast.launch import coordinator
from holdfast.launch.connection import MessageConnection, open_server
from holdfast.launch.coordinator import Coordinator, GroupConfig
from holdfast.launch.messages import FROM_COORDINATOR, Hello, Ping, Pong, ProcessEnded, Status

HELLO = Hello(0, "t", "here", 1)


def test_how_far_a_group_got_is_what_the_ended_one_says_and_not_its_last_report() -> None:
    server = open_server("127.0.0.1", 0)
    group = Coordinator(
        GroupConfig(count=1, token="t"), server, say=lambda words: None, note=lambda event: None
    )
    member = MessageConnection(socket.create_connection(server.getsockname()))
    member.send(HELLO)
    member.send(Status(True, 1, pid=7, step=12, phase="step", sequence=40, state="R"))
    member.send(ProcessEnded(1, signal="SIGKILL", shell_code=137, step=17))
    while not group._endings:
        group._turn(judged=False)
    assert group._failure(137).reached == 17
    member.close()
    server.close()


def test_a_member_is_pinged_once_a_second_however_fast_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(coordinator, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(coordinator, "LOOK_S", 0.01)
    server = open_server("127.0.0.1", 0)
    group = Coordinator(
        GroupConfig(count=1, token="t"), server, say=lambda words: None, note=lambda event: None
    )
    member = MessageConnection(socket.create_connection(server.getsockname()))
    member.sock.settimeout(0.01)
    member.send(HELLO)
    pings = []
    for turn in range(100):  # 5 seconds of the clock
        now[0] = 100.0 + turn * 0.05
        group._turn(judged=False)
        member.fill()
        while isinstance(message := member.take(FROM_COORDINATOR), Ping):
            pings.append(message.at)
            member.send(Pong(message.at))
    assert 4 <= len(pings) <= 5
    assert all(later - sooner >= 0.99 for sooner, later in itertools.pairwise(pings))
    assert len(group.seats[0].seen.round_trips_s) >= 4
    member.close()
    server.close()


def test_a_program_that_answers_late_over_a_quick_link_is_not_a_slow_link() -> None:
    """The kernel of a busy host acknowledges at once, whatever its programs do."""
    server = open_server("127.0.0.1", 0)
    group = Coordinator(
        GroupConfig(count=1, token="t"), server, say=lambda words: None, note=lambda event: None
    )
    member = MessageConnection(socket.create_connection(server.getsockname()))
    member.send(HELLO)
    while not (group.seats and group.seats[0].seen.round_trips_s):
        group._turn(judged=False)
        if group.seats and select.select([member.sock], [], [], 0)[0]:
            member.fill()
            message = member.take(FROM_COORDINATOR)
            assert isinstance(message, Ping)
            time.sleep(2.0)
            member.send(Pong(message.at))
    assert group.seats[0].seen.round_trips_s[0] < 1.0
    member.close()
    server.close()


def test_a_member_that_goes_during_training_is_not_called_one_that_never_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, said = [100.0], list[str]()
    monkeypatch.setattr(coordinator, "time", SimpleNamespace(monotonic=lambda: now[0]))
    server = open_server("127.0.0.1", 0)
    group = Coordinator(GroupConfig(count=1, token="t"), server, say=said.append, note=lambda event: None)
    member = MessageConnection(socket.create_connection(server.getsockname()))
    member.send(HELLO)
    assert group._gather()
    now[0] += 166.0
    member.close()
    group._attempt(1, again=False)
    assert [words for words in said if "not there" in words] == []
    assert "have gone without a word" in said[-1]
    server.close()


def test_members_without_a_place_are_not_waited_for() -> None:
    server, said, asked = open_server("127.0.0.1", 0), [], iter([False, False, True])
    group = Coordinator(
        GroupConfig(count=2, token="t"), server, say=said.append, note=lambda event: None,
        gone=lambda: next(asked),
    )  # fmt: skip
    assert group.run() == 75
    assert [words.partition(" within ")[0] for words in said] == ["holdfast: processes 0, 1 did not come"]
    server.close()
