"""Threads of a stalled run that may be waiting for input: which of them the next batch depends on."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import (
    StalledThread,
    ThreadState,
    first_named,
    plain_name,
    stalled_threads,
)
from holdfast.user_code import is_user_file

#: Frames of a framework that ask the user's code for data.
_FEEDS = ("script_ops.py", "from_generator", "py_dataset_adapter", "generator_data_adapter")
_DATASETS = (*_FEEDS, "torch/utils/data/")
#: Frames of a framework that train, or ask a pipeline for its next batch.
_TRAINS = (
    "quick_execute", "pywrap", "eager/execute.py", "iterator_ops.py", "trainer.py", "epoch_iterator",
    "keras/src/utils/traceback_utils.py", "torch/distributed/distributed_c10d.py",
)  # fmt: skip
#: Functions of a class that gives data.
_GIVES_DATA = ("__iter__", "__next__", "__getitem__", "__getitems__")
_READ_WAITS = re.compile(r"wait_for_partner|fifo|pipe_read|sk_wait|tcp_recv|unix_stream|inet_csk|skb_wait")
_READ_CALLS = re.compile(r"(read|pread64|readv|preadv|recvfrom|recvmsg|accept4?|connect)\b")
#: A timed select or epoll_wait may be a sleep, of asyncio or of an old Python.
_POLL_CALLS = re.compile(r"p?poll\b|(p?select6?|epoll_p?wait2?) for ?ever")
_POLL_WAITS = re.compile(r"do_poll|do_sys_poll")
_OPEN_CALLS = re.compile(r"(openat|open)\b")
_FIFO_WAITS = re.compile(r"wait_for_partner|fifo")
_ASLEEP = re.compile(
    r"nanosleep|do_select|do_poll|poll_schedule|ep_poll|futex|select|poll|wait4|waitid|do_wait"
)
_EVENTFD = re.compile(r"eventfd|\[event")
#: A SimpleQueue has no frame of its own: it is known by the name of the variable.
_QUEUE_BY_NAME = re.compile(r"\b(q|\w*queue\w*|\w+_q)\.get\(", re.IGNORECASE)
_QUEUE_FILES = re.compile(r"/(queue|threading)\.py$|/multiprocessing/")


class Awaits(enum.StrEnum):
    """What a thread waits for."""

    QUEUE = "queue"
    PROCESS_QUEUE = "process-queue"
    PROGRAM = "program"  # that it started
    FILE = "file"  # to be opened
    INPUT = "input"  # from a file, a pipe or a socket
    OTHER = "other"  # a sleep, a lock, an event: no sign of input


class Nearness(enum.IntEnum):
    """To the next batch. A script has threads of its own for heartbeats, logs and servers, which sleep most of the
    time."""

    FEEDS = 0  # called by the pipeline
    MAIN = 1  # the main thread of the process that trains
    READS = 2
    NATIVE = 3  # a reader without Python frames
    ASIDE = 4  # a thread that only sleeps


@dataclass(frozen=True, slots=True)
class Reader:
    stalled: StalledThread
    awaits: Awaits
    nearness: Nearness

    @property
    def reads_input(self) -> bool:
        """There is evidence of reading: a system call, a queue, or a frame of a dataset."""
        reads = self.awaits in (Awaits.QUEUE, Awaits.PROCESS_QUEUE, Awaits.FILE, Awaits.INPUT)
        return reads or self.stalled.thread.within(*_DATASETS) is not None


def nearest_reader(evidence: Evidence) -> Reader | None:
    """The waiting thread that the next batch most likely depends on."""
    found = [_reader(one) for one in stalled_threads(evidence, _waits)]
    return min(found, key=lambda reader: reader.nearness, default=None)


def only_trains(thread: ThreadState) -> bool:
    """The user's frame merely called fit or asked for the next batch, and the wait is below it in the framework."""
    below = thread.below_users
    in_framework = first_named(below, *_TRAINS) is not None and first_named(below, *_FEEDS) is None
    return thread.main and in_framework


def reads_data(thread: ThreadState) -> bool:
    """Below a dataset, a generator or an iterator: of the framework or of the user's own."""
    own = [frame for frame in thread.frames if is_user_file(frame.file)]
    gives = any(frame.yields or plain_name(frame) in _GIVES_DATA for frame in own)
    return gives or thread.within(*_DATASETS) is not None


def _waits(thread: ThreadState) -> bool:
    if thread.busy or thread.joins_processes:
        return False
    if not thread.python:
        return _reads_itself(thread) and not _EVENTFD.search(thread.syscall)
    asleep = _ASLEEP.search(f"{thread.wait} {thread.syscall}") is not None
    return thread.users is not None and (asleep or _reads_itself(thread)) and not only_trains(thread)


def _reader(stalled: StalledThread) -> Reader:
    thread = stalled.thread
    awaits = _awaits(thread)
    if not thread.python:
        nearness = Nearness.NATIVE
    elif thread.within(*_FEEDS) is not None:
        nearness = Nearness.FEEDS
    elif stalled.trains and thread.main:
        nearness = Nearness.MAIN
    elif not stalled.trains or _reads_itself(thread) or awaits in (Awaits.QUEUE, Awaits.PROCESS_QUEUE):
        nearness = Nearness.READS
    else:
        nearness = Nearness.ASIDE
    return Reader(stalled, awaits, nearness)


def _awaits(thread: ThreadState) -> Awaits:
    if (queue := _queue(thread)) is not None:
        return queue
    if re.match(r"(wait4|waitid)\b", thread.syscall) or thread.wait == "do_wait":
        return Awaits.PROGRAM
    if thread.state != "D" and (_FIFO_WAITS.search(thread.wait) or _OPEN_CALLS.match(thread.syscall)):
        return Awaits.FILE
    polls = _POLL_CALLS.match(thread.syscall) or _POLL_WAITS.search(thread.wait)
    return Awaits.INPUT if polls or _reads_itself(thread) else Awaits.OTHER


def _reads_itself(thread: ThreadState) -> bool:
    """In a system call that reads, opens or connects."""
    opens = _OPEN_CALLS.match(thread.syscall) is not None and thread.state != "R"
    reads = _READ_CALLS.match(thread.syscall) or _READ_WAITS.search(thread.wait)
    return thread.in_storage or opens or reads is not None


def _queue(thread: ThreadState) -> Awaits | None:
    """The kind of queue that the thread asked for its next element."""
    own, below = thread.users, thread.below_users
    if own is None or not all(_QUEUE_FILES.search(frame.file) for frame in below):
        return None  # a library's own queue, further down
    if first_named(below, "multiprocessing/queues.py"):
        return Awaits.PROCESS_QUEUE
    by_name = not below and _QUEUE_BY_NAME.search(own.code) is not None and thread.on_lock
    return Awaits.QUEUE if first_named(below, "/queue.py") or by_name else None
