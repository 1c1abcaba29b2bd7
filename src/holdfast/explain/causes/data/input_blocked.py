"""The next batch never comes: its reader waits for something that does not arrive."""

import re

from holdfast.explain.other_end import OtherEnd, awaited
from holdfast.explain.readings.readers import Awaits, Nearness, Reader, nearest_reader, only_trains
from holdfast.explain.readings.stacks import StackReading, ThreadState, silence
from holdfast.explain.readings.workers import workers_finished
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, facts

_NO_DATA_NEEDED = (Phase.CALLBACK, Phase.SAVE, Phase.EXIT, Phase.AFTER, Phase.IMPORT, Phase.START)
_WAITS_FOR_DATA = (Phase.FILL, Phase.DATA_WAIT)
#: Waits in the kernel that nothing but a FIFO or a mount that does not answer explains.
_CERTAIN_WAITS = re.compile(r"wait_for_partner|fifo|rpc_|nfs|fuse")
_FILE_IN_CALL = re.compile(r"\((/[^()]+)\)")
_READING_NODES = ("generator", "map", "interleave", "tfrecord")
_FRAMEWORK = re.compile(r"(tensorflow|keras|tf_keras|jax|torch)/")
_QUEUES = (Awaits.QUEUE, Awaits.PROCESS_QUEUE)
_PRODUCERS_SHOWN = 3


@cause("input-blocked")
def input_blocked(evidence: Evidence) -> Finding | None:
    stacks, reader = evidence.stacks, nearest_reader(evidence)
    if evidence.stall is None or evidence.phase in _NO_DATA_NEEDED:
        return None
    if stacks is None:  # only the phase says what it waits for
        title, remedies = Title("input-blocked.no-stacks"), _remedies(Awaits.OTHER)
        waits = evidence.phase in _WAITS_FOR_DATA
        return Finding(Strength.POSSIBLE, title, silence(evidence), remedies) if waits else None
    if reader is None or not (reader.reads_input or _data_seen(evidence)):
        return None  # a sleep is not a reader
    thread = reader.stalled.thread
    data, file = evidence.data(), _file(evidence, thread)
    inferred = file != "" and file == _only_file(evidence) and file not in thread.syscall
    own_end = _own_write_end(reader)
    values = {
        "next_batch": bool(evidence.stall.event.phase),
        "awaits": reader.awaits,
        "program": _program(reader),
        "file": file,
        "where": "" if file else thread.users_file_line,
    }
    return Finding(
        min(_strength(reader, stacks), _by_other_end(evidence, reader)),
        Title("input-blocked", values),
        facts(
            silence(evidence),
            reader.stalled.fact,
            _other_end(evidence, reader),
            reader.awaits is Awaits.FILE and Fact("file.not-opened", {}, stacks.source),
            not stacks.busy and Fact("process.idle", {}, stacks.source),
            _producers(reader),
            own_end,
            workers_finished(evidence)[-_PRODUCERS_SHOWN:],
            _reads_at(evidence, thread),
            data and inferred and data.fact("data.only-file", file=file),
        ),
        [*([Remedy("pipe.close-own-end", own_end.values)] if own_end else []), *_remedies(reader.awaits)],
        against=() if data or evidence.fits else [Fact("data.not-seen")],
    )


def _data_seen(evidence: Evidence) -> bool:
    """The run reads data: a dataset, a fit or a step was seen, or it is in the phase of waiting for a batch."""
    seen = evidence.data() is not None or bool(evidence.fits) or bool(evidence.step)
    return seen or evidence.phase in _WAITS_FOR_DATA


def _strength(reader: Reader, stacks: StackReading) -> Strength:
    thread = reader.stalled.thread
    if reader.nearness is Nearness.ASIDE:
        return Strength.POSSIBLE
    in_users_code = thread.users is not None and not stacks.busy
    return Strength.established_if(in_users_code or _CERTAIN_WAITS.search(thread.wait) is not None)


def _by_other_end(evidence: Evidence, reader: Reader) -> Strength:
    """Data is not all that a main thread may wait for at a socket."""
    other = awaited(evidence)
    if other is None or other.stalled.thread != reader.stalled.thread or other.end is OtherEnd.DATA:
        return Strength.ESTABLISHED
    return Strength.POSSIBLE if other.end is OtherEnd.CLIENT else Strength.SUPPORTED


def _other_end(evidence: Evidence, reader: Reader) -> Fact | None:
    other = awaited(evidence)
    return other.fact if other is not None and other.stalled.thread == reader.stalled.thread else None


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
    opens = "openat" in thread.syscall or re.search(r"wait_for_partner|fifo", thread.wait)
    return _only_file(evidence) if not thread.python and opens else ""


def _only_file(evidence: Evidence) -> str:
    files = evidence.dataset().files
    return files[0] if len(files) == 1 else ""


def _reads_at(evidence: Evidence, thread: ThreadState) -> list[Fact]:
    """Where the pipeline reads, for a thread whose own line is not known."""
    nodes = [node for node in evidence.nodes if node.op in _READING_NODES and node.where and not thread.where]
    own = [node for node in nodes if not _FRAMEWORK.match(node.where)]
    return [Fact("pipeline.reads-at", {"where": node.where}, node.source) for node in own[:1]]


def _own_write_end(reader: Reader) -> Fact | None:
    """The pipe or FIFO that it reads directly, where the reading process itself has the other end open."""
    own, thread = reader.stalled.process, reader.stalled.thread
    read = re.search(r"^(?:read|readv)\b.*\((.+)\)$", thread.syscall)
    if read is None or read[1] not in own.writes or reader.awaits in _QUEUES:
        return None
    return Fact("pipe.own-writer", {"pipe": read[1]}, reader.stalled.reading.source)


def _program(reader: Reader) -> str:
    """The only program that its process has started; "" where there are more."""
    pid, others = reader.stalled.process.pid, reader.stalled.reading.others
    started = [other.command or other.name for other in others if other.parent == pid]
    return started[0] if len(started) == 1 and reader.awaits is Awaits.PROGRAM else ""


def _producers(reader: Reader) -> list[Fact]:
    """Who could put something into the queue: the other threads, or processes, with lines of the script."""
    if reader.awaits not in _QUEUES:
        return []
    between, own, stacks = reader.awaits is Awaits.PROCESS_QUEUE, reader.stalled, reader.stalled.reading
    processes = [other for other in stacks.others if between and other.state != "Z"]
    others: list[tuple[int | None, ThreadState]] = [
        (other.pid, thread) for other in processes for thread in other.threads if thread.main
    ]
    threads = [one for one in own.process.threads if one.tid != own.thread.tid and one.users is not None]
    others += [(None, thread) for thread in threads if not only_trains(thread)]
    if not others:
        return [Fact("queue.no-producer", {"between_processes": between}, stacks.source)]
    return [_producer(pid, thread, stacks.source) for pid, thread in others[:_PRODUCERS_SHOWN]]


def _producer(pid: int | None, thread: ThreadState, source: str) -> Fact:
    puts = any(frame.function.endswith("put") and "queue" in frame.file for frame in thread.frames)
    values = {"pid": pid, "thread": thread.shown_name, "where": thread.where, "queue_full": puts}
    return Fact("queue.producer", values, source)
