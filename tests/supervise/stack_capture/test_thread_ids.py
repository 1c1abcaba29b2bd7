"""The kernel's numbers of threads, read from the C library's records of them."""

import json
import os
import struct
import subprocess
import sys

from holdfast.host import procfs
from holdfast.journal.stack_files import Frame
from holdfast.supervise.stack_capture.pyspy import PyThread, with_kernel_ids
from holdfast.supervise.stack_capture.thread_ids import kernel_ids, match

THREADS = """
import json, queue, sys, threading
numbers, started = {}, threading.Barrier(4)
def wait():
    numbers[threading.get_ident()] = threading.get_native_id()
    started.wait()
    queue.Queue().get()
for _ in range(3):
    threading.Thread(target=wait, daemon=True).start()
started.wait()
numbers[threading.get_ident()] = threading.get_native_id()
print(json.dumps(numbers), flush=True)
sys.stdin.read()
"""


def record(*values: int) -> bytes:
    return struct.pack(f"{len(values)}i", *values)


def test_the_offset_is_the_one_where_every_record_has_a_thread_of_its_own():
    records = {0x1000: record(7, 100, 41), 0x2000: record(7, 100, 42)}

    assert match(records, {41, 42, 100}) == {0x1000: 41, 0x2000: 42}


def test_a_field_that_is_the_same_in_every_record_is_the_process_and_not_the_thread():
    assert match({0x1000: record(100), 0x2000: record(100)}, {100, 101}) == {}


def test_two_offsets_that_disagree_decide_nothing():
    assert match({0x1000: record(41, 42), 0x2000: record(42, 41)}, {41, 42}) == {}


def test_two_offsets_that_agree_decide():
    assert match({0x1000: record(41, 0, 41)}, {41, 42}) == {0x1000: 41}


def test_unreadable_memory_decides_nothing():
    assert match({0x1000: b"", 0x2000: record(41)}, {41}) == {}
    assert kernel_ids(os.getpid(), [16], [os.getpid()]) == {}
    assert kernel_ids(2**30, [16], [1]) == {}


def test_the_threads_of_a_real_process():
    with subprocess.Popen(
        [sys.executable, "-c", THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        numbers = {int(address): tid for address, tid in json.loads(child.stdout.readline()).items()}

        found = kernel_ids(child.pid, numbers, procfs.threads(child.pid))
        dumped = [PyThread(0, "", (Frame("a.py", 1, "f"),), (), False, address) for address in numbers]
        completed = with_kernel_ids(child.pid, dumped)

        child.stdin.close()
    assert len(numbers) == 4
    assert found == numbers
    assert {thread.address: thread.tid for thread in completed} == numbers


def test_numbers_that_are_known_stay():
    dumped = [PyThread(5, "MainThread", (), (), False, 16)]

    assert with_kernel_ids(os.getpid(), dumped) == dumped
