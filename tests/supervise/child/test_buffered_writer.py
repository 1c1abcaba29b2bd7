"""A destination that is slow, blocked or full."""

from __future__ import annotations

import threading

from tests.waiting import PATIENCE_S, until

from holdfast.supervise.child.buffered_writer import BackgroundWriter


class Blocked:
    """A writer whose destination takes a piece only when the test says so."""

    def __init__(self, max_pending_bytes: int) -> None:
        self.got: list[bytes] = []
        self.offered = 0  # pieces
        self._allowed = threading.Semaphore(0)
        self.writer = BackgroundWriter(
            self._write,
            gap_line=lambda count: b"[%d missing]" % count,
            max_pending_bytes=max_pending_bytes,
            stuck_after_s=0.05,
        )

    def _write(self, data: bytes) -> None:
        self.offered += 1
        self._allowed.acquire()
        self.got.append(data)

    def take(self, pieces: int) -> None:
        self._allowed.release(pieces)


def test_output_is_written_in_order() -> None:
    got: list[bytes] = []
    writer = BackgroundWriter(got.append, gap_line=lambda count: b"")
    for number in range(100):
        writer.put(b"%d " % number)
    writer.finish(timeout_s=PATIENCE_S)
    assert b"".join(got) == b"".join(b"%d " % number for number in range(100))


def test_a_blocked_destination_does_not_block_the_others_and_reports_what_is_missing() -> None:
    blocked = Blocked(max_pending_bytes=10)
    writer = blocked.writer
    for _ in range(5):
        writer.put(b"12345678")
    assert writer.lost_bytes == 32
    blocked.take(2)
    until(lambda: writer.empty, "what was pending to be written")
    writer.put(b"after")
    writer.finish(timeout_s=PATIENCE_S)
    assert blocked.got == [b"12345678", b"[32 missing]after"]


def test_what_is_missing_at_the_end_is_reported_too() -> None:
    """Nothing comes after it."""
    blocked = Blocked(max_pending_bytes=16)
    writer = blocked.writer
    for number in range(4):
        writer.put(b"%08d" % number)
    blocked.take(3)
    writer.finish(timeout_s=PATIENCE_S)
    assert blocked.got == [b"00000000", b"00000001", b"[16 missing]"]


def test_the_line_is_where_the_bytes_are_missing() -> None:
    """Behind what was waiting when there was no room, and before what came when there was."""
    blocked = Blocked(max_pending_bytes=16)
    writer = blocked.writer
    for number in range(3):
        writer.put(b"%08d" % number)
    blocked.take(1)
    until(lambda: blocked.offered == 2, "room for another piece")
    writer.put(b"00000003")
    blocked.take(2)
    writer.finish(timeout_s=PATIENCE_S)
    assert blocked.got == [b"00000000", b"00000001", b"[8 missing]00000003"]


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
        until(lambda: writer.empty, "the write to be tried")
    writer.finish(timeout_s=PATIENCE_S)
    assert got == [b"[8 missing]after"]
    assert writer.lost_bytes == 8


def test_what_a_terminal_does_not_accept_in_time_is_dropped_with_a_line() -> None:
    blocked = Blocked(max_pending_bytes=1 << 20)
    writer = blocked.writer
    for number in range(3):
        writer.put(b"%08d" % number)
    until(lambda: blocked.offered, "the first piece to be on its way")
    assert not writer.finish(timeout_s=0.05)
    writer.drop_pending()
    blocked.take(2)
    writer.finish(timeout_s=PATIENCE_S)
    assert blocked.got == [b"00000000", b"[16 missing]"]
