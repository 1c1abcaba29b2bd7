"""Several threads wait: which of them is the one that the next batch hangs on."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Finding, Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import Run, code_of, main_in_fit, native, python_thread, sentence, title_of, user

_FEEDS = (
    Frame(
        "/venv/site-packages/keras/src/trainers/data_adapters/generator_data_adapter.py",
        60,
        "get_tf_iterator",
    ),
    Frame("/venv/site-packages/tensorflow/python/ops/script_ops.py", 269, "__call__"),
)
_NAPS = python_thread(
    4002, user(15, "beat"), name="heartbeat", wait="hrtimer_nanosleep", syscall="clock_nanosleep"
)


def _stalled(path: Path, *threads: Thread, others: tuple[ProcessStacks, ...] = ()) -> Finding:
    run = Run(path)
    run.fit()
    run.stalled("step", main_in_fit(), *threads, others=others)
    run.stopped()
    return run.verdict().findings[0]


def test_a_thread_that_naps_beside_the_reader_is_not_it(tmp_path: Path) -> None:
    reader = python_thread(
        4003, user(21, "gen"), *_FEEDS, name="python", wait="wait_woken", syscall="recvfrom fd=7 (socket:[1])"
    )
    found = _stalled(tmp_path / "run", _NAPS, reader)
    assert (found.cause, found.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert title_of(found) == "the next batch never comes: a reader waits for ever at /home/me/train.py:21"
    assert sentence(found.because[1]).endswith(
        "waits in recvfrom fd=7 (socket:[1]), at /home/me/train.py:21 in gen"
    )


def test_a_reader_in_native_code_comes_before_a_thread_that_naps(tmp_path: Path) -> None:
    found = _stalled(
        tmp_path / "run", _NAPS, native(4003, wait="wait_for_partner", syscall="openat", name="python")
    )
    assert (found.cause, found.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert "train.py:15" not in title_of(found)


def test_a_thread_that_naps_alone_is_blamed_for_nothing(tmp_path: Path) -> None:
    found = _stalled(tmp_path / "run", _NAPS)
    assert found.strength == Strength.POSSIBLE or found.cause == "unknown"


def test_a_program_that_does_not_end_is_named(tmp_path: Path) -> None:
    reader = python_thread(
        4003, Frame("/usr/lib/python3.11/subprocess.py", 2046, "_wait"), user(14, "decode"), *_FEEDS,
        wait="do_wait", syscall="wait4",
    )  # fmt: skip
    program = ProcessStacks(pid=4100, parent=4000, name="ffmpeg", command="ffmpeg -i a.mp4", state="S")
    found = _stalled(tmp_path / "run", reader, others=(program,))
    assert (found.cause, found.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert title_of(found) == (
        "the next batch never comes: a reader waits for ever for `ffmpeg -i a.mp4` at /home/me/train.py:14"
    )
    assert code_of(found.remedies[0]) == "subprocess.run([…], timeout=60, check=True)"


def test_the_only_file_of_a_dataset_is_the_one_that_cannot_be_opened(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nodes = [{"op": "map", "function": "read_one_file", "where": "tensorflow/python/data/ops/readers.py:102"}]
    run.fit(data=ev.DatasetSeen(type="tf.data", nodes=nodes, files=["labels.csv"], where="train.py:18"))
    run.stalled("fill", main_in_fit(), native(4003, wait="wait_for_partner", syscall="openat", name="python"))
    run.stopped()
    found = run.verdict().findings[0]
    assert title_of(found) == "the next batch never comes: a reader waits for ever: labels.csv"
    assert not any("readers.py" in sentence(fact) for fact in found.because)
