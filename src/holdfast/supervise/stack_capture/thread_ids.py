"""The kernel's number of a thread, from the address that the C library knows it by.

Python knows a thread by `pthread_self`, the address of the C library's record of it; since 3.11 it keeps the kernel's
number as well. For older versions py-spy finds it by unwinding the native stack, which fails below TensorFlow's own
libraries. The record itself holds the number: at the one offset where every thread's record has a number of a thread
of this process, and no two the same. So the offset is not assumed; it differs between C libraries.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection

_RECORD_BYTES = 2304  # glibc's `struct pthread` on x86-64; the number is in its first half
_STEP = 4


def kernel_ids(pid: int, addresses: Collection[int], threads: Collection[int]) -> dict[int, int]:
    """The number of each thread by its address; empty where the memory may not be read, or does not decide."""
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except OSError:
        return {}
    try:
        records = {address: _read(memory, address) for address in addresses}
    finally:
        os.close(memory)
    return match(records, set(threads))


def match(records: dict[int, bytes], threads: set[int]) -> dict[int, int]:
    """From the bytes at each address; empty when no offset fits, or two that disagree."""
    if not records:
        return {}
    length = min(len(record) for record in records.values())
    answers: list[dict[int, int]] = []
    for offset in range(0, length - _STEP + 1, _STEP):
        numbers = {address: struct.unpack_from("i", record, offset)[0] for address, record in records.items()}
        if len(set(numbers.values())) == len(numbers) and threads.issuperset(numbers.values()):
            answers.append(numbers)
    return answers[0] if answers and all(answer == answers[0] for answer in answers) else {}


def _read(memory: int, address: int) -> bytes:
    try:
        return os.pread(memory, _RECORD_BYTES, address)
    except (OSError, OverflowError, ValueError):
        return b""
