"""The heartbeat ring: values, wrap-around, restarts, SIGKILL, and a reader beside a writer."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
from pathlib import Path

from holdfast.journal.beats import SIZE, BeatReader, BeatWriter, Phase


def test_a_beat_comes_back_with_every_value(tmp_path: Path) -> None:
    writer = BeatWriter(tmp_path / "beats", attempt=2)
    writer.write(Phase.VALIDATION, callback_index=3, fit=1, epoch=4, step=2**40, train_batches=15, test_batches=6,
                data_wait_ns=7 * 10**9, compute_ns=8 * 10**9, loss=0.125, step_ns=5_000_000, mono=12.5)  # fmt: skip
    beat = BeatReader(tmp_path / "beats").newest()
    assert beat is not None
    assert (beat.sequence, beat.mono, beat.phase, beat.attempt, beat.pid) == (
        1,
        12.5,
        Phase.VALIDATION,
        2,
        os.getpid(),
    )
    assert (beat.callback_index, beat.fit, beat.epoch, beat.step) == (3, 1, 4, 2**40)
    assert (beat.train_batches, beat.test_batches) == (15, 6)
    assert (beat.data_wait_ns, beat.compute_ns, beat.step_ns) == (7 * 10**9, 8 * 10**9, 5_000_000)
    assert beat.has_loss
    assert beat.loss == 0.125


def test_a_loss_that_is_not_known_differs_from_one_that_is_nan(tmp_path: Path) -> None:
    writer = BeatWriter(tmp_path / "beats")
    writer.write(Phase.STEP)
    writer.write(Phase.STEP, loss=math.nan)
    unknown, nan = BeatReader(tmp_path / "beats").beats_since(0)
    assert not unknown.has_loss
    assert nan.has_loss
    assert math.isnan(nan.loss)


def test_the_ring_keeps_the_newest(tmp_path: Path) -> None:
    writer = BeatWriter(tmp_path / "beats")
    for step in range(10_000):
        writer.write(Phase.STEP, step=step)
    reader = BeatReader(tmp_path / "beats")
    kept = reader.beats_since(0)
    assert [beat.step for beat in kept] == list(range(10_000 - 4096, 10_000))
    assert [beat.step for beat in reader.beats_since(9_998)] == [9_998, 9_999]


def test_the_newest_beat_is_updated_until_the_next_one(tmp_path: Path) -> None:
    writer, reader = BeatWriter(tmp_path / "beats"), BeatReader(tmp_path / "beats")
    writer.write(Phase.STEP, step=300, train_batches=20, loss=0.5, mono=1.0)
    writer.update_counters(Phase.CALLBACK, 7, 3, 2_500_000_000)
    moved = reader.newest()
    assert moved is not None
    assert (moved.sequence, moved.phase, moved.callback_index, moved.step, moved.train_batches, moved.loss) == (
        1, Phase.CALLBACK, 7, 303, 23, 0.5,
    )  # fmt: skip
    assert moved.mono == 2.5
    assert reader.beats_since(0) == [moved]
    writer.update_phase(Phase.BETWEEN)
    turned = reader.newest()
    assert turned is not None
    assert (turned.phase, turned.callback_index, turned.step, turned.mono) == (Phase.BETWEEN, 0, 303, 2.5)
    writer.write(Phase.BETWEEN, step=304, mono=5.0)
    first, second = reader.beats_since(0)
    assert (first.phase, first.step, first.mono) == (Phase.STEP, 300, 1.0)
    assert (second.phase, second.step, second.mono) == (Phase.BETWEEN, 304, 5.0)


def test_a_restart_continues_where_the_ring_ended(tmp_path: Path) -> None:
    BeatWriter(tmp_path / "beats", attempt=1).write(Phase.STEP, step=1)
    BeatWriter(tmp_path / "beats", attempt=2).write(Phase.STEP, step=2)
    assert [(b.sequence, b.attempt, b.step) for b in BeatReader(tmp_path / "beats").beats_since(0)] == [
        (1, 1, 1),
        (2, 2, 2),
    ]


def test_a_ring_that_is_missing_short_or_something_else(tmp_path: Path) -> None:
    assert BeatReader(tmp_path / "none").newest() is None
    (tmp_path / "short").write_bytes(b"HFBEATS1")
    assert BeatReader(tmp_path / "short").newest() is None
    (tmp_path / "other").write_bytes(b"x" * SIZE)
    assert BeatReader(tmp_path / "other").beats_since(0) == []
    BeatWriter(tmp_path / "empty")
    assert BeatReader(tmp_path / "empty").newest() is None
    BeatWriter(tmp_path / "short").write(Phase.STEP, step=5)
    newest = BeatReader(tmp_path / "short").newest()
    assert newest is not None
    assert newest.step == 5


def _beat_then_die(path: Path) -> None:
    writer = BeatWriter(path)
    for step in range(1000):
        writer.write(Phase.STEP, step=step)
    os.kill(os.getpid(), signal.SIGKILL)


def test_beats_survive_sigkill(tmp_path: Path) -> None:
    child = multiprocessing.get_context("spawn").Process(target=_beat_then_die, args=(tmp_path / "beats",))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    newest = BeatReader(tmp_path / "beats").newest()
    assert newest is not None
    assert newest.step == 999


def _beat_for_ever(path: Path) -> None:
    writer = BeatWriter(path)
    number = 0
    while True:
        number += 1
        writer.write(
            Phase.STEP, step=number, train_batches=number & 0xFFFF, data_wait_ns=number, loss=float(number)
        )


def test_a_reader_never_sees_a_half_written_record(tmp_path: Path) -> None:
    path = tmp_path / "beats"
    child = multiprocessing.get_context("spawn").Process(target=_beat_for_ever, args=(path,))
    child.start()
    try:
        reader, seen, last = BeatReader(path), 0, 0
        while seen < 20_000:
            for beat in reader.beats_since(last):
                assert beat.step == beat.sequence == beat.data_wait_ns == beat.loss
                assert beat.train_batches == beat.step & 0xFFFF
                assert beat.sequence > last
                last = beat.sequence
                seen += 1
    finally:
        child.kill()
        child.join()


def _leads_to(descriptor: str, path: Path) -> bool:
    try:
        return Path(f"/proc/self/fd/{descriptor}").samefile(path)
    except OSError:
        return False


def test_the_ring_keeps_no_descriptor_that_could_become_another_file(tmp_path: Path) -> None:
    writer = BeatWriter(tmp_path / "beats")
    assert not any(_leads_to(name, tmp_path / "beats") for name in os.listdir("/proc/self/fd"))
    with (
        (tmp_path / "data.bin").open("w+b", buffering=0) as data,
        (tmp_path / "more.bin").open("w+b") as more,
    ):
        writer.write(Phase.STEP, step=7)
        del writer  # as a forked child does
        data.write(b"precious\n")
        more.write(b"precious\n")
        more.flush()
    beat = BeatReader(tmp_path / "beats").newest()
    assert beat is not None
    assert beat.step == 7
