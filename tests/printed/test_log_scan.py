from __future__ import annotations

import io
import tracemalloc

import pytest

from holdfast.printed.log_scan import ScannedLog, is_text, scan

LINE = b"2024-01-01 10:00:00 INFO step %07d loss 0.1234 lr 0.001\n"


def scanned(data: bytes) -> ScannedLog:
    return scan(io.BytesIO(data[1000:]), data[:1000])


def test_a_short_log_is_read_whole() -> None:
    log = scanned(b"a\n\nb\r\nc")
    assert [(line.number, line.text) for line in log.lines] == [(1, "a"), (3, "b"), (4, "c")]
    assert log.complete


def test_of_a_long_one_the_head_the_tail_and_samples() -> None:
    data = b"".join(LINE % number for number in range(1, 400_001))
    log = scanned(data)
    assert not log.complete
    assert len(log.lines) < 20_000
    assert log.lines[0].number == 1
    assert log.lines[-1].number == 400_000
    assert all(line.text == (LINE % line.number).decode().rstrip() for line in log.lines)
    assert any(100_000 < line.number < 300_000 for line in log.lines)


def test_a_telling_line_in_the_middle_is_kept() -> None:
    lines = [LINE % number for number in range(1, 400_001)]
    lines[200_000] = b"step 200001 loss nan\n"
    assert (200_001, "step 200001 loss nan") in [
        (one.number, one.text) for one in scanned(b"".join(lines)).lines
    ]


def test_a_bar_without_line_ends_is_cut() -> None:
    log = scanned(b"\r".join(b"%d/900000 - loss: 0.1" % number for number in range(900_000)))
    assert len(log.lines) == 1
    assert log.lines[0].text.startswith("0/900000")
    assert log.lines[0].text.endswith("899999/900000 - loss: 0.1")
    assert len(log.lines[0].text) < 10_000


def test_the_memory_is_bounded() -> None:
    class Endless(io.RawIOBase):
        left = 60

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return (LINE % 5) * (4 << 20 >> 6) if self.left else b""

    tracemalloc.start()
    log = scan(Endless(), LINE % 1)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.size > 200 << 20
    assert peak < 64 << 20


def test_utf_16_as_powershell_writes_it() -> None:
    log = scanned("Epoch 1/2\r\nloss: 0.5\r\n".encode("utf-16"))
    assert [line.text for line in log.lines] == ["Epoch 1/2", "loss: 0.5"]


@pytest.mark.parametrize(
    ("head", "text"),
    [(b"Epoch 1/2\n", True), (b"\x1b[1m5/5\x1b[0m \r\x08 ok", True), (b"\x7fELF\x02\x01\x01\0\0\0\0", False),
     (bytes(range(32)) * 4, False), ("épais ✓".encode(), True)],
)  # fmt: skip
def test_what_is_text(head: bytes, text: bool) -> None:
    assert is_text(head) == text
