"""The next batch never comes: its reader waits for something that does not arrive."""

from __future__ import annotations

import re

from holdfast.explain.readings.readers import Awaits, Nearness, Reader, nearest_reader, only_trains
from holdfast.explain.readings.stacks import StackReading, ThreadState, silence
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause

_NO_DATA_NEEDED = (Phase.CALLBACK, Phase.SAVE, Phase.EXIT, Phase.AFTER, Phase.IMPORT, Phase.START)
_WAITS_FOR_DATA = (Phase.FILL, Phase.DATA_WAIT)
#: Waits in the kernel that nothing but a FIFO or a mount that does not answer explains.
_CERTAIN_WAITS = re.compile(r"wait_for_partner|fifo|rpc_|nfs|fuse")
_FILE_IN_CALL = re.compile(r"\((/[^)]+)\)")
_READING_NODES = ("generator", "map", "interleave", "tfrecord")
_FRAMEWORK = re.compile(r"(tensorflow|keras|tf_keras|jax|torch)/")
_QUEUES = (Awaits.QUEUE, Awaits.PROCESS_QUEUE)
_PRODUCERS_SHOWN = 3


@cause("input-blocked")
def input_blocked(evidence: Evidence) -> Finding | None:
    stacks, reader = evidence.stacks, nearest_reader(evidence)
    if evidence.stall is None or evidence.phase in _NO_DATA_NEEDED:
        return None
    if stacks is None:
        return _by_phase(evidence)
    if reader is None or not (reader.reads_input or _data_seen(evidence)):
        return None  # a sleep is not a reader
    thread = reader.stalled.thread
    file, program = _file(evidence, thread), _program(reader, stacks)
    facts = [*silence(evidence), reader.stalled.fact]
    facts += [Fact("file.not-opened", {}, stacks.source)] if reader.awaits is Awaits.FILE else []
    facts += [] if stacks.busy else [Fact("process.idle", {}, stacks.source)]
    facts += [*_producers(reader, stacks), *_about_data(evidence, thread)]
    values = {
        "next_batch": bool(evidence.stall.event.phase),
        "awaits": reader.awaits,
        "program": program,
        "file": file,
        "where": f"{thread.users.file}:{thread.users.line}" if thread.users is not None and not file else "",
    }
    return Finding(
        _strength(reader, stacks),
        Title("input-blocked", values),
        because=facts,
        against=() if evidence.data() is not None or evidence.fits else [Fact("data.not-seen")],
        remedies=_remedies(reader.awaits),
    )


def _by_phase(evidence: Evidence) -> Finding | None:
    """No stacks: only the phase says what it waits for."""
    if evidence.phase not in _WAITS_FOR_DATA:
        return None
    because, remedies = silence(evidence), _remedies(Awaits.OTHER)
    return Finding(Strength.POSSIBLE, Title("input-blocked.no-stacks"), because, remedies)


def _data_seen(evidence: Evidence) -> bool:
    """The run reads data: a dataset, a fit or a step was seen, or it is in the phase of waiting for a batch."""
    seen = evidence.data() is not None or bool(evidence.fits) or bool(evidence.step)
    return seen or evidence.phase in _WAITS_FOR_DATA


def _strength(reader: Reader, stacks: StackReading) -> Strength:
    thread = reader.stalled.thread
    if reader.nearness is Nearness.ASIDE:
        return Strength.POSSIBLE
    in_users_code = thread.users is not None and not stacks.busy
    certain = in_users_code or _CERTAIN_WAITS.search(thread.wait) is not None
    return Strength.ESTABLISHED if certain else Strength.SUPPORTED


def _remedies(awaits: Awaits) -> tuple[Remedy, ...]:
    if awaits in _QUEUES:
        return Remedy("queue.get-with-timeout"), Remedy("queue.end-mark")
    if awaits is Awaits.PROGRAM:
        return (Remedy("program.run-with-timeout"),)
    return Remedy("read.with-timeout"), Remedy("read.check-the-file", safety="guess")


def _file(evidence: Evidence, thread: ThreadState) -> str:
    """The file of the system call; where that has no name, the only one of the dataset."""
    found = _FILE_IN_CALL.search(thread.syscall)
    if found and not found[1].startswith("/dev/"):
        return found[1]
    return _only_file(evidence) if not thread.python and _opens(thread) else ""


def _opens(thread: ThreadState) -> bool:
    return "openat" in thread.syscall or re.search(r"wait_for_partner|fifo", thread.wait) is not None


def _only_file(evidence: Evidence) -> str:
    data = evidence.data()
    return data.event.files[0] if data is not None and len(data.event.files) == 1 else ""


def _program(reader: Reader, stacks: StackReading) -> str:
    """The only program that its process has started; "" where there are more."""
    if reader.awaits is not Awaits.PROGRAM:
        return ""
    pid = reader.stalled.process.pid
    started = [other.command or other.name for other in stacks.others if other.parent == pid]
    return started[0] if len(started) == 1 else ""


def _about_data(evidence: Evidence, thread: ThreadState) -> list[Fact]:
    """Where the pipeline reads, for a thread whose own line is not known; and the only file that it can be."""
    data = evidence.data()
    nodes = [node for node in evidence.nodes if node.op in _READING_NODES and node.where]
    own = [node for node in nodes if not _FRAMEWORK.match(node.where)]
    facts = [
        Fact("pipeline.reads-at", {"where": node.where}, node.source) for node in own[:1] if not thread.where
    ]
    file = _file(evidence, thread)
    if data is not None and file and file == _only_file(evidence) and file not in thread.syscall:
        facts.append(Fact("data.only-file", {"file": file}, data.source))
    return facts


def _producers(reader: Reader, stacks: StackReading) -> list[Fact]:
    """Who could put something into the queue: the other threads, or processes, with lines of the script."""
    if reader.awaits not in _QUEUES:
        return []
    between, process = reader.awaits is Awaits.PROCESS_QUEUE, reader.stalled.process
    others: list[tuple[int | None, ThreadState]] = [
        (other.pid, thread)
        for other in stacks.others
        for thread in other.threads
        if between and thread.main and other.state != "Z"
    ]
    others += [
        (None, thread)
        for thread in process.threads
        if thread.tid != reader.stalled.thread.tid and thread.users is not None and not only_trains(thread)
    ]
    if not others:
        return [Fact("queue.no-producer", {"between_processes": between}, stacks.source)]
    return [_producer(pid, thread, stacks.source) for pid, thread in others[:_PRODUCERS_SHOWN]]


def _producer(pid: int | None, thread: ThreadState, source: str) -> Fact:
    puts = any(frame.function.endswith("put") and "queue" in frame.file for frame in thread.frames)
    name = "" if thread.main else thread.name or str(thread.tid)
    return Fact(
        "queue.producer", {"pid": pid, "thread": name, "where": thread.where, "queue_full": puts}, source
    )
