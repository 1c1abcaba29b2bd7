"""The log keeps its head and its tail."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.supervise.child.capped_log import CappedLog


def lines(first: int, last: int) -> bytes:
    return b"".join(b"%07d\n" % number for number in range(first, last))


def test_a_short_log_is_complete(tmp_path: Path) -> None:
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


def test_a_second_attempt_appends_to_the_first(tmp_path: Path) -> None:
    CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400).write(lines(0, 300))
    CappedLog(tmp_path / "log", head_bytes=800, tail_bytes=400).write(lines(300, 600))
    text = (tmp_path / "log").read_bytes()
    marker, _, tail = text[801:].partition(b"\n")
    assert text.endswith(lines(550, 600))
    assert int(marker.split()[1]) == 4800 - 800 - len(tail)
