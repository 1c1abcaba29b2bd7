"""The next batch never comes: which thread reads it, what that waits for, and what is no reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import Run, facts, main_in_fit, native, python_thread, remedies, user

_QUEUE = Frame("/usr/lib/python3.11/queue.py", 171, "Queue.get")
_PROCESS_QUEUE = Frame("/usr/lib/python3.11/multiprocessing/queues.py", 103, "Queue.get")
_LOCK = Frame("/usr/lib/python3.11/threading.py", 327, "Condition.wait")
_FEEDS = (
    Frame(
        "/venv/site-packages/keras/src/trainers/data_adapters/generator_data_adapter.py",
        60,
        "get_tf_iterator",
    ),
    Frame("/venv/site-packages/tensorflow/python/ops/script_ops.py", 269, "__call__"),
)
_FIFO = native(4003, wait="wait_for_partner", syscall="openat", name="python")
_SLEEP = {"wait": "hrtimer_nanosleep", "syscall": "clock_nanosleep"}
_SLEEPS = python_thread(4002, user(15, "beat"), name="heartbeat", **_SLEEP)
_READS_QUEUE = python_thread(4002, _LOCK, _QUEUE, user(15, "gen", "yield q.get()"))


def example(run: Run) -> None:
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner", syscall="openat", name="python"))
    run.stopped()


def near_miss(run: Run) -> None:
    """It continued by itself."""
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"))
    run.supervisor(ev.StallEnded(silent_for_s=95.0))
    run.epochs([100, 100, 100])
    run.ended(0)


def _stalled(path: Path, *threads: Thread, others: tuple[ProcessStacks, ...] = ()) -> Run:
    run = Run(path)
    run.fit()
    run.stalled("step", main_in_fit(), *threads, others=others)
    run.stopped()
    return run


def _plain_script(path: Path, *threads: Thread, others: tuple[ProcessStacks, ...] = ()) -> Run:
    """A script in which no framework, and so no dataset, was seen."""
    run = Run(path)
    run.stalled("", *threads, others=others)
    run.stopped()
    return run


# -- which thread -------------------------------------------------------------------------------------


def test_a_thread_that_sleeps_is_not_the_reader(tmp_path: Path) -> None:
    reader = python_thread(
        4003, user(21, "gen"), *_FEEDS, name="python", wait="wait_woken", syscall="recvfrom fd=7 (socket:[1])"
    )
    first = _stalled(tmp_path / "run", _SLEEPS, reader).first()
    assert (first.cause, first.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert first.title.values["where"] == "/home/me/train.py:21"
    assert facts(first)["thread.stalled"]["syscall"] == "recvfrom fd=7 (socket:[1])"
    assert remedies(first)[0] == "read.with-timeout"


def test_a_reader_in_native_code_comes_before_a_thread_that_sleeps(tmp_path: Path) -> None:
    first = _stalled(tmp_path / "run", _SLEEPS, _FIFO).first()
    assert (first.cause, first.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert first.title.values["where"] == ""


def test_a_thread_that_sleeps_alone_is_not_blamed(tmp_path: Path) -> None:
    assert _stalled(tmp_path / "run", _SLEEPS).blamed() == []


def test_a_generator_that_waits_below_fit_on_jax(tmp_path: Path) -> None:
    """On JAX Keras asks the generator within the step; jax reported a missing cuDNN with a traceback before."""
    run = Run(tmp_path / "run")
    run.output(
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/jax_plugins/xla_cuda13/__init__.py", line 205, in _version_check\n'
        "    raise RuntimeError(err_msg) from e\n"
        "RuntimeError: Unable to load cuDNN. Is it installed?\n"
        "Epoch 1/2\n"
    )
    run.fit()
    frames = [
        Frame("/usr/lib/python3.11/threading.py", 629, "Event.wait"),
        user(7, "gen"),
        Frame("/v/lib/python3.11/site-packages/keras/src/backend/jax/trainer.py", 462, "JAXTrainer.fit"),
        user(10, "<module>"),
    ]
    run.stalled("step", python_thread(4000, *frames, main=True, syscall="futex for ever"))
    run.stopped()
    assert run.slugs() == ["input-blocked"]
    assert run.first().title.values["where"] == "/home/me/train.py:7"


# -- what is no reader --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "syscall"),
    [
        ("hrtimer_nanosleep", "clock_nanosleep"),  # time.sleep(100)
        ("do_wait", "wait4"),  # os.wait()
        ("futex_do_wait", "futex"),  # threading.Event().wait(100)
        ("ep_poll", "epoll_wait"),  # asyncio.sleep(100)
    ],
)
def test_a_sleep_without_a_reader_and_a_dataset_is_not_blamed_on_input(
    tmp_path: Path, wait: str, syscall: str
) -> None:
    child = ProcessStacks(pid=4100, parent=4000, name="python", command="python child.py", state="S")
    main = python_thread(4000, user(2, "<module>"), main=True, wait=wait, syscall=syscall)
    assert _plain_script(tmp_path / "run", main, others=(child,)).slugs() == ["unknown"]


@pytest.mark.parametrize("phase", ["", "build"])
def test_a_sleep_in_the_setup_of_a_script_is_not_blamed_on_input(tmp_path: Path, phase: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(name="keras", backend="tensorflow"))
    run.stalled(phase, python_thread(4000, user(2, "<module>"), main=True, **_SLEEP), step=0)
    run.stopped()
    assert run.slugs() == ["unknown"]


@pytest.mark.parametrize(
    ("wait", "syscall"),
    [
        ("wait_woken", "recvfrom fd=7 (socket:[1])"),
        ("pipe_read", "read fd=5 (pipe:[9])"),
        ("poll_schedule_timeout", "poll"),
        ("ep_poll", "epoll_wait for ever"),
    ],
)
def test_a_read_is_a_reader_without_a_dataset_too(tmp_path: Path, wait: str, syscall: str) -> None:
    main = python_thread(4000, user(2, "<module>"), main=True, wait=wait, syscall=syscall)
    first = _plain_script(tmp_path / "run", main).first()
    assert (first.cause, first.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert [fact.kind for fact in first.against] == ["data.not-seen"]
    assert first.title.values["next_batch"] is False


def test_a_sleep_in_a_training_with_data_is_its_reader(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="generator", where="train.py:20"))
    run.stalled("data-wait", python_thread(4000, user(7, "gen"), main=True, **_SLEEP))
    run.stopped()
    assert (run.first().cause, run.first().strength) == ("input-blocked", Strength.ESTABLISHED)


# -- what it waits for --------------------------------------------------------------------------------


def test_a_queue_without_a_producer(tmp_path: Path) -> None:
    first = _stalled(tmp_path / "run", _READS_QUEUE).first()
    assert (first.cause, first.title.values["awaits"]) == ("input-blocked", "queue")
    assert facts(first)["thread.stalled"]["code"] == "yield q.get()"
    assert facts(first)["queue.no-producer"] == {"between_processes": False}
    assert remedies(first) == ["queue.get-with-timeout", "queue.end-mark"]


def test_a_queue_of_a_script_without_training(tmp_path: Path) -> None:
    main = python_thread(4000, _LOCK, _QUEUE, user(4, "<module>", "q.get()"), main=True)
    values = _plain_script(tmp_path / "run", main).first().title.values
    assert (values["next_batch"], values["where"]) == (False, "/home/me/train.py:4")


def test_what_the_producer_of_a_queue_does(tmp_path: Path) -> None:
    produce = python_thread(4003, user(40, "produce", "time.sleep(3600)"), wait="hrtimer_nanosleep")
    first = _stalled(tmp_path / "run", _READS_QUEUE, produce).first()
    assert facts(first)["queue.producer"] == {
        "pid": None,
        "thread": "Thread-1",
        "where": "/home/me/train.py:40 in produce",
        "queue_full": False,
    }


def test_a_queue_between_processes_is_filled_by_a_process(tmp_path: Path) -> None:
    reader = python_thread(4002, _PROCESS_QUEUE, user(15, "gen"), wait="pipe_read")
    writes = python_thread(4100, user(50, "work"), main=True, wait="hrtimer_nanosleep")
    worker = ProcessStacks(pid=4100, parent=4000, name="python", state="S", threads=[writes])
    first = _stalled(tmp_path / "run", reader, others=(worker,)).first()
    assert first.title.values["awaits"] == "process-queue"
    assert facts(first)["queue.producer"]["pid"] == 4100


def test_a_program_that_does_not_end_is_named(tmp_path: Path) -> None:
    reader = python_thread(
        4003, Frame("/usr/lib/python3.11/subprocess.py", 2046, "_wait"), user(14, "decode"), *_FEEDS,
        wait="do_wait", syscall="wait4",
    )  # fmt: skip
    program = ProcessStacks(pid=4100, parent=4000, name="ffmpeg", command="ffmpeg -i a.mp4", state="S")
    first = _stalled(tmp_path / "run", reader, others=(program,)).first()
    assert (first.cause, first.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert (first.title.values["program"], first.title.values["where"]) == (
        "ffmpeg -i a.mp4",
        "/home/me/train.py:14",
    )
    assert remedies(first) == ["program.run-with-timeout"]


def test_the_only_file_of_a_dataset_is_the_one_that_cannot_be_opened(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nodes = [{"op": "map", "function": "read_one_file", "where": "tensorflow/python/data/ops/readers.py:102"}]
    run.fit(data=ev.DatasetSeen(type="tf.data", nodes=nodes, files=["labels.csv"], where="train.py:18"))
    run.stalled("fill", main_in_fit(), _FIFO)
    run.stopped()
    first = run.first()
    assert first.title.values["file"] == "labels.csv"
    assert facts(first)["data.only-file"] == {"file": "labels.csv"}
    assert "file.not-opened" in facts(first) and "pipeline.reads-at" not in facts(first)


def test_without_stacks_only_the_phase_speaks(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.supervisor(ev.Stalled(phase="fill", step=0, silent_for_s=90.0, limit_s=60.0))
    run.stopped()
    assert (run.first().title.kind, run.first().strength) == ("input-blocked.no-stacks", Strength.POSSIBLE)


def test_fit_that_frees_its_iterator_reads_nothing(tmp_path: Path) -> None:
    """Innermost is code of Keras that never waits: tf.data's destructor runs below it, after the last step."""
    run = Run(tmp_path)
    run.fit()
    run.epochs([100, 100, 100])
    frees = Frame("/venv/site-packages/keras/src/utils/traceback_utils.py", 117, "error_handler")
    run.stalled("between", python_thread(4000, frees, user(16, "<module>", "model.fit(data)"), main=True))
    run.stopped()
    assert "input-blocked" not in [one.cause for one in run.verdict().findings]


@pytest.mark.parametrize(("writes", "own"), [(["/data/frames.fifo"], True), (["/data/other.fifo"], False)])
def test_a_fifo_that_its_reader_has_open_for_writing(tmp_path: Path, writes: list[str], own: bool) -> None:
    """Its end never comes, whoever else has left."""
    reads = user(28, "frames", "head = stream.read(4)")
    fifo = {"wait": "anon_pipe_read", "syscall": "read fd=5 (/data/frames.fifo)"}
    run = _stalled(tmp_path / "run", python_thread(4003, reads, *_FEEDS, **fifo))
    for file in (run.path / "stacks").iterdir():
        text = file.read_text().replace('"writes": []', f'"writes": {json.dumps(writes)}')
        file.write_text(text)
    first = run.first()
    assert (first.cause, first.strength) == ("input-blocked", Strength.ESTABLISHED)
    assert ("pipe.own-writer" in facts(first)) is own
    assert remedies(first)[0] == ("pipe.close-own-end" if own else "read.with-timeout")
