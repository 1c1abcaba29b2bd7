"""A destination that is slow, blocked or full."""

from __future__ import annotations

import os
import threading

from holdfast.supervise.child.buffered_writer import BackgroundWriter


def test_output_is_written_in_order() -> None:
    got: list[bytes] = []
    writer = BackgroundWriter(got.append, gap_line=lambda count: b"")
    for number in range(100):
        writer.put(b"%d " % number)
    writer.finish(timeout_s=10)
    assert b"".join(got) == b"".join(b"%d " % number for number in range(100))


def test_a_blocked_destination_does_not_block_the_others_and_reports_what_is_missing() -> None:
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)  # blocks until the test writes
        got.append(data)

    writer = BackgroundWriter(
        write, gap_line=lambda count: b"[%d missing]" % count, max_pending_bytes=10, stuck_after_s=0.05
    )
    for _ in range(5):
        writer.put(b"12345678")
    assert writer.lost_bytes == 32
    os.write(writing, b"gg")
    for _ in range(2000):
        if writer.empty:
            break
        threading.Event().wait(0.005)
    writer.put(b"after")
    writer.finish(timeout_s=10)
    assert got == [b"12345678", b"[32 missing]after"]
    os.close(reading)
    os.close(writing)


def test_what_is_missing_at_the_end_is_reported_too() -> None:
    """Nothing comes after it."""
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    writer = BackgroundWriter(
        write, gap_line=lambda count: b"[%d missing]" % count, max_pending_bytes=16, stuck_after_s=0.05
    )
    for number in range(4):
        writer.put(b"%08d" % number)
    os.write(writing, b"ggg")
    writer.finish(timeout_s=10)
    assert got == [b"00000000", b"00000001", b"[16 missing]"]
    os.close(reading)
    os.close(writing)


def test_the_line_is_where_the_bytes_are_missing() -> None:
    """Behind what was waiting when there was no room, and before what came when there was."""
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    writer = BackgroundWriter(
        write, gap_line=lambda count: b"[%d missing]" % count, max_pending_bytes=16, stuck_after_s=0.05
    )
    for number in range(3):
        writer.put(b"%08d" % number)
    os.write(writing, b"g")
    while not got:
        threading.Event().wait(0.005)
    writer.put(b"00000003")
    os.write(writing, b"gg")
    writer.finish(timeout_s=10)
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

    writer = BackgroundWriter(write, gap_line=lambda count: b"[%d missing]" % count, retry_s=0.0)
    for text in (b"abc", b"defgh", b"after"):
        writer.put(text)
        while not writer.empty:
            threading.Event().wait(0.005)
    writer.finish(timeout_s=10)
    assert got == [b"[8 missing]after"]
    assert writer.lost_bytes == 8


def test_what_a_terminal_does_not_accept_in_time_is_dropped_with_a_line() -> None:
    reading, writing = os.pipe()
    got: list[bytes] = []

    def write(data: bytes) -> None:
        os.read(reading, 1)
        got.append(data)

    writer = BackgroundWriter(write, gap_line=lambda count: b"[%d missing]" % count)
    for number in range(3):
        writer.put(b"%08d" % number)
    assert not writer.finish(timeout_s=0.05)
    writer.drop_pending()
    os.write(writing, b"gg")
    writer.finish(timeout_s=10)
    assert got == [b"00000000", b"[16 missing]"]
    os.close(reading)
    os.close(writing)
