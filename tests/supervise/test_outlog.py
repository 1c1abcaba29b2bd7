from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from holdfast.supervise.child.buffered_writer import BackgroundWriter
from holdfast.supervise.child.capped_log import CappedLog


def lines(first: int, last: int) -> bytes:
    return b"".join(b"%07d\n" % number for number in range(first, last))


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    log = CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400)
    log.write(lines(0, 50))
    log.write(lines(50, 120))
    assert (tmp_path / "log").read_bytes() == lines(0, 120)


@pytest.mark.parametrize("piece", [1, 7, 90])
def test_a_long_log_keeps_its_head_and_its_tail_and_says_how_much_is_missing(
    tmp_path: Path, piece: int
) -> None:
    log = CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400)
    for first in range(0, 1000, piece):
        log.write(lines(first, min(1000, first + piece)))
    text = (tmp_path / "log").read_bytes()
    assert len(text) <= 800 + 112 + 800 + 8 * piece
    assert text[:800] == lines(0, 100)
    assert text.endswith(lines(950, 1000))
    marker, _, tail = text[801:].partition(b"\n")
    left_out = int(marker.split()[1])
    assert left_out == 8000 - 800 - len(tail)


def test_a_second_attempt_goes_on_behind_the_first(tmp_path: Path) -> None:
    CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400).write(lines(0, 300))
    CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400).write(lines(300, 600))
    text = (tmp_path / "log").read_bytes()
    marker, _, tail = text[801:].partition(b"\n")
    assert text.endswith(lines(550, 600))
    assert int(marker.split()[1]) == 4800 - 800 - len(tail)


def test_a_sink_delivers_in_order() -> None:
    got: list[bytes] = []
    sink = BackgroundWriter(got.append, gap=lambda count: b"")
    for number in range(100):
        sink.put(b"%d " % number)
    sink.finish(within_s=10)
    assert b"".join(got) == b"".join(b"%d " % number for number in range(100))


def test_a_sink_that_takes_nothing_lets_the_others_go_on_and_says_what_is_missing() -> None:
    reading, writing = os.pipe()
    held: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)  # blocks until the test lets it go on
        held.append(data)

    sink = BackgroundWriter(
        write, gap=lambda count: b"[%d missing]" % count, waiting_bytes=10, stuck_after_s=0.05
    )
    for _ in range(5):
        sink.put(b"12345678")
    assert sink.lost_bytes == 32
    os.write(writing, b"gg")
    for _ in range(2000):
        if sink.empty:
            break
        threading.Event().wait(0.005)
    sink.put(b"after")
    sink.finish(within_s=10)
    assert held == [b"12345678", b"[32 missing]after"]
    os.close(reading)
    os.close(writing)


def test_what_is_missing_at_the_end_is_said_too() -> None:
    """Nothing comes after it that the line could stand in front of."""
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    sink = BackgroundWriter(
        write, gap=lambda count: b"[%d missing]" % count, waiting_bytes=16, stuck_after_s=0.05
    )
    for number in range(4):
        sink.put(b"%08d" % number)
    os.write(writing, b"ggg")
    sink.finish(within_s=10)
    assert got == [b"00000000", b"00000001", b"[16 missing]"]
    os.close(reading)
    os.close(writing)


def test_the_line_stands_where_the_bytes_are_missing() -> None:
    """Behind what was waiting when there was no room, and before what came when there was."""
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    sink = BackgroundWriter(
        write, gap=lambda count: b"[%d missing]" % count, waiting_bytes=16, stuck_after_s=0.05
    )
    for number in range(3):
        sink.put(b"%08d" % number)
    os.write(writing, b"g")
    while not got:
        threading.Event().wait(0.005)
    sink.put(b"00000003")
    os.write(writing, b"gg")
    sink.finish(within_s=10)
    assert got == [b"00000000", b"00000001", b"[8 missing]00000003"]
    os.close(reading)
    os.close(writing)


def test_a_line_that_could_not_be_written_is_not_forgotten() -> None:
    """The disk is full, takes nothing twice, and then has room again: all that is missing is counted once."""
    got: list[bytes] = []
    refused = [OSError(28, "full"), OSError(28, "full")]

    def write(data: bytes) -> None:
        if refused:
            raise refused.pop()
        got.append(data)

    sink = BackgroundWriter(write, gap=lambda count: b"[%d missing]" % count, retry_s=0.0)
    for text in (b"abc", b"defgh", b"after"):
        sink.put(text)
        while not sink.empty:
            threading.Event().wait(0.005)
    sink.finish(within_s=10)
    assert got == [b"[8 missing]after"]
    assert sink.lost_bytes == 8


def test_what_a_terminal_does_not_take_in_time_is_left_out_with_a_line() -> None:
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    sink = BackgroundWriter(write, gap=lambda count: b"[%d missing]" % count)
    for number in range(3):
        sink.put(b"%08d" % number)
    assert not sink.finish(within_s=0.05)
    sink.leave_out_rest()
    os.write(writing, b"gg")
    sink.finish(within_s=10)
    assert got == [b"00000000", b"[16 missing]"]
    os.close(reading)
    os.close(writing)
