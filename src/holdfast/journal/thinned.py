"""Long files of a run, read in part: the beginning and the end complete, the middle at even distances.

A run of a million steps leaves a journal of some thousand lines and a hundred thousand samples.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from holdfast import regular_file
from holdfast.journal import vitals
from holdfast.journal.vitals import LINE_BYTES, Sample

#: Kinds that come once a step or once an epoch; of these the first, the last and some of the middle are enough.
_FREQUENT = frozenset(
    {b"loss_seen", b"epoch_started", b"epoch_done", b"validation_started", b"validation_done", b"save_started",
     b"save_done", b"predict_done", b"batch_seen", b"holdings_seen", b"traces_counted", b"warning_seen", b"note",
     b"note_made", b"group_remark", b"checkpoint_copied", b"copy_failed", b"bad_image_skipped", b"machine_code_counted",
     b"empty_pass_seen", b"exhausted_iterator_used", b"worker_exit_called", b"exit_called", b"micro_batch_set",
     b"fit_started", b"fit_done", b"dataset_seen", b"model_seen", b"pipeline_seen", b"pass_done"}
)  # fmt: skip
_KEEP_OF_A_KIND = 300
_KEEP_OF_ANOTHER = 3000  # more of the others no run writes; a stranger's file may hold a million of them
_KIND = b'{"kind": "'  # as the writer begins each line
_WHOLE_VITALS_BYTES = 192 << 10
_MIDDLE_SAMPLES = 200
_MOST_BYTES = 4 << 30


def journal_lines(lines: list[bytes]) -> list[int]:
    """Numbers of the lines of a journal to decode, from 0."""
    if len(lines) <= 2 * _KEEP_OF_A_KIND:
        return list(range(len(lines)))
    by_kind: dict[bytes, list[int]] = {}
    begin = len(_KIND)
    for number, line in enumerate(lines):
        kind = line[begin : line.find(b'"', begin)] if line.startswith(_KIND) else b""
        by_kind.setdefault(kind, []).append(number)
    return sorted(
        number
        for kind, numbers in by_kind.items()
        for number in _even(numbers, _KEEP_OF_A_KIND if kind in _FREQUENT else _KEEP_OF_ANOTHER)
    )


def _even(numbers: list[int], most: int) -> list[int]:
    """The first third, the last third, and the middle at even distances."""
    if len(numbers) <= most:
        return numbers
    third = most // 3
    middle = numbers[third:-third]
    stride = len(middle) / third
    return numbers[:third] + [middle[int(at * stride)] for at in range(third)] + numbers[-third:]


def samples(path: Path) -> Iterator[tuple[int, Sample]]:
    """Line number and sample."""
    try:
        file = regular_file.open_regular(path, links=False)
    except OSError:
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        if size <= _WHOLE_VITALS_BYTES:
            yield from vitals.read(path)
        elif size <= _MOST_BYTES:
            yield from _some(file, size)


def _some(file: BinaryIO, size: int) -> Iterator[tuple[int, Sample]]:
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as whole:
        line, position = 1, 0
        for start, end in _windows(size):
            start = _line_start(whole, start)
            line += whole[position:start].count(b"\n")
            position = start
            while position < end:
                stop = whole.find(b"\n", position, position + LINE_BYTES)
                if stop < 0:
                    break  # cut off, or no line that a run writes
                sample = vitals.decode(whole[position:stop])
                if sample is not None:
                    yield line, sample
                line, position = line + 1, stop + 1


def _windows(size: int) -> list[tuple[int, int]]:
    """Where to read: the head, single samples of the middle, the tail."""
    edge = _WHOLE_VITALS_BYTES // 3
    stride = (size - 2 * edge) / _MIDDLE_SAMPLES
    middle = [edge + int(at * stride) for at in range(1, _MIDDLE_SAMPLES)] if stride > 4096 else []
    if not middle:
        return [(0, size)]
    return [(0, edge), *((at, at + 1) for at in middle), (size - edge, size)]


def _line_start(whole: mmap.mmap, at: int) -> int:
    return 0 if at == 0 else whole.find(b"\n", at, at + LINE_BYTES) + 1 or at
