"""The next batch never comes: a reader waits for ever."""

from __future__ import annotations

import re
from itertools import takewhile

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ProcessState, StackReading, ThreadState, first_named, is_users
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, span
from holdfast.journal.beats import Phase


@cause("input-blocked", Group.DATA)
def input_blocked(evidence: Evidence) -> Finding | None:
    stall, standing = evidence.stall, evidence.stacks
    if stall is None or evidence.phase in (
        Phase.CALLBACK,
        Phase.SAVE,
        Phase.EXIT,
        Phase.AFTER,
        Phase.IMPORT,
        Phase.START,
    ):
        return None
    if standing is None:
        waits = evidence.phase in (Phase.FILL, Phase.DATA_WAIT)
        return (
            Finding(
                "input-blocked",
                Strength.POSSIBLE,
                "it waits for a batch that does not come",
                (Fact(f"no batch for {span(evidence.silent_for_s)}", stall.source),),
                (),
                _REMEDIES,
            )
            if waits
            else None
        )
    readers = [
        (process, thread)
        for process in (standing.process, *standing.others)
        for thread in process.threads
        if _reads(thread)
    ]
    own = [
        (process, thread)
        for process, thread in readers
        if thread.users is not None and not _only_trains(thread)
    ]
    near = sorted(own, key=lambda pair: _distance(pair[0], pair[1], standing))
    beside = [pair for pair in near if _distance(pair[0], pair[1], standing) == _BESIDE]
    unseen = [pair for pair in readers if not pair[1].python]
    chosen = ([pair for pair in near if pair not in beside] or unseen or beside)[:1]
    if not chosen:
        return None
    process, thread = chosen[0]
    where = thread.where
    what = _what(thread)
    program = _program(process, thread, standing)
    if program:
        what = f"waits for a program that it started ({program})"
    facts = [
        Fact(
            f"no batch for {span(evidence.silent_for_s)}; the run is in phase {stall.event.phase}"
            if stall.event.phase
            else f"nothing moved for {span(evidence.silent_for_s)}; no framework was seen in it",
            stall.source,
        ),
        Fact(
            f"{'the main thread' if thread.main else 'thread ' + (thread.name or str(thread.tid))} of process "
            f"{process.pid} {what}{f', at {where}' if where else ''}",
            standing.source,
        ),
    ]
    if not standing.busy:
        facts.append(Fact("no thread computes", standing.source))
    queue = _queue(thread)
    if queue:
        facts += _producers(queue, thread, process, standing)
    data = evidence.data()
    nodes = [node for node in evidence.nodes if node.op in ("generator", "map", "interleave", "tfrecord")]
    own_nodes = [node for node in nodes if node.where and not _FRAMEWORK.match(node.where)]
    if own_nodes and not where:
        facts.append(Fact(f"the pipeline reads at {own_nodes[0].where}", own_nodes[0].source))
    file = re.search(r"\((/[^)]+)\)", thread.syscall)
    named = file[1] if file and not file[1].startswith("/dev/") else ""
    opens = "openat" in thread.syscall or bool(re.search(r"wait_for_partner|fifo", thread.wait))
    if not named and opens and data is not None and len(data.event.files) == 1 and not thread.python:
        named = data.event.files[0]
        facts.append(Fact(f"the only file of the dataset is {named}", data.source))
    sure = bool(re.search(r"wait_for_partner|fifo|rpc_|nfs|fuse", thread.wait)) or (
        thread.users is not None and not standing.busy
    )
    place = (
        f": {named}"
        if named
        else f" at {thread.users.file}:{thread.users.line}"
        if thread.users is not None
        else ""
    )
    return Finding(
        "input-blocked",
        Strength.POSSIBLE
        if chosen[0] in beside
        else Strength.ESTABLISHED
        if sure and (thread.users is not None or thread.wait)
        else Strength.SUPPORTED,
        ("the next batch never comes: " if stall.event.phase else "")
        + f"a reader waits for ever{f' for {queue or program}' if queue or program else ''}{place}",
        tuple(facts),
        () if data is not None or evidence.fits else (Fact("no dataset was seen from inside the process"),),
        _FOR_QUEUES if queue else _FOR_PROGRAMS if program else _REMEDIES,
    )


_FRAMEWORK = re.compile(r"(tensorflow|keras|tf_keras|jax|torch)/")
_FEEDS_IT = ("script_ops.py", "from_generator", "py_dataset_adapter", "generator_data_adapter")
_BESIDE = 3


def _distance(process: ProcessState, thread: ThreadState, standing: StackReading) -> int:
    """How near it stands to the batch: what the pipeline called, the main thread, another reader, one that naps.

    A script has threads of its own for its heart beat, its logs and its servers, and they sleep most of the time.
    """
    if thread.within(*_FEEDS_IT) is not None:
        return 0
    if process.pid == standing.process.pid and thread.main:
        return 1
    return 2 if process.pid != standing.process.pid or _reads_itself(thread) or _queue(thread) else _BESIDE


def _reads_itself(thread: ThreadState) -> bool:
    """In a system call that reads, opens or connects."""
    opening = re.match(r"(openat|open)\b", thread.syscall) is not None and thread.state != "R"
    return (
        thread.in_storage
        or opening
        or bool(
            re.search(
                r"wait_for_partner|fifo|pipe_read|sk_wait|tcp_recv|unix_stream|inet_csk|skb_wait", thread.wait
            )
        )
        or bool(re.match(r"(read|pread64|readv|preadv|recvfrom|recvmsg|accept4?|connect)\b", thread.syscall))
    )


def _reads(thread: ThreadState) -> bool:
    if thread.busy:
        return False
    native = _reads_itself(thread)
    if not thread.python:
        return native and not re.search(r"eventfd|\[event", thread.syscall)
    asleep = bool(
        re.search(
            r"nanosleep|do_select|do_poll|poll_schedule|ep_poll|futex|select|poll|wait4|waitid|do_wait",
            thread.wait + " " + thread.syscall,
        )
    )
    return thread.users is not None and (native or asleep)


def _only_trains(thread: ThreadState) -> bool:
    """The user's frame merely called fit or asked for the next batch, and the wait is below it in the framework."""
    below = list(takewhile(lambda frame: not is_users(frame.file), thread.frames))
    return (
        thread.main
        and first_named(
            below,
            "quick_execute", "pywrap", "eager/execute.py", "iterator_ops.py", "trainer.py", "epoch_iterator",
        )
        is not None
        and first_named(below, *_FEEDS_IT) is None
    )  # fmt: skip


def _queue(thread: ThreadState) -> str:
    """The kind of queue that the thread asked for its next element; "" when it stands in none."""
    own = thread.users
    if own is None:
        return ""
    below = list(takewhile(lambda frame: not is_users(frame.file), thread.frames))
    if not all(re.search(r"/(queue|threading)\.py$|/multiprocessing/", frame.file) for frame in below):
        return ""  # a library's own queue, further down
    if first_named(below, "multiprocessing/queues.py"):
        return "a queue between processes"
    by_name = not below and re.search(
        r"(?i)\b(q|\w*queue\w*|\w+_q)\.get\(", own.code
    )  # SimpleQueue has no frame
    return "a queue" if first_named(below, "/queue.py") or (by_name and thread.on_lock) else ""


def _producers(queue: str, reader: ThreadState, process: ProcessState, standing: StackReading) -> list[Fact]:
    """Who could put something into it: what the other threads, or the other processes, with lines of the script do."""
    line = reader.users.code if reader.users is not None else ""
    facts = [Fact(f"its line: `{clipped(line, 90)}`", standing.source)] if line else []
    between = "processes" in queue
    others = [
        (f"process {other.pid}", thread)
        for other in standing.others
        for thread in other.threads
        if between and thread.main and other.state != "Z"
    ]
    others += [
        ("the main thread" if thread.main else f"thread {thread.name or thread.tid}", thread)
        for thread in process.threads
        if thread.tid != reader.tid and thread.users is not None and not _only_trains(thread)
    ]
    for who, thread in others[:3]:
        put = any(frame.function.endswith("put") and "queue" in frame.file for frame in thread.frames)
        full = " and waits for room in a queue that is full" if put else ""
        at = f" stands at {thread.where}" if thread.where else " lives"
        facts.append(Fact(f"{who}{at}{full}", standing.source))
    if not others:
        who = "no other process of it lives, and no other thread" if between else "no other thread"
        facts.append(
            Fact(f"{who} of the script is alive: nobody is left to put anything into it", standing.source)
        )
    return facts


def _what(thread: ThreadState) -> str:
    if queue := _queue(thread):
        return f"waits for the next element of {queue}"
    if thread.state == "D":
        return f"stands in uninterruptible sleep in {thread.wait or thread.syscall or 'the kernel'}"
    if re.search(r"wait_for_partner|fifo", thread.wait) or re.match(r"(openat|open)\b", thread.syscall):
        return "waits in opening a file that nobody writes (a FIFO or a dead mount)"
    if "nanosleep" in thread.wait + thread.syscall:
        return "sleeps"
    return f"waits in {thread.syscall or thread.wait or 'an unknown call'}"


def _program(process: ProcessState, thread: ThreadState, standing: StackReading) -> str:
    """What it waits for the end of: the only program that its process has started; "a program" where there are more."""
    if not re.match(r"(wait4|waitid)\b", thread.syscall) and thread.wait != "do_wait":
        return ""
    started = [other.command or other.name for other in standing.others if other.parent == process.pid]
    return f"`{clipped(started[0], 80)}`" if len(started) == 1 else "a program"


_FOR_PROGRAMS = (
    Remedy(
        "give the program a time limit, and raise when it is over",
        "your-choice",
        "subprocess.run([…], timeout=60, check=True)",
    ),
)
_FOR_QUEUES = (
    Remedy(
        "give the get a time limit, and raise when it is over",
        "your-choice",
        "item = queue.get(timeout=60)   # raises queue.Empty",
    ),
    Remedy(
        "let whoever fills the queue end it: put an end mark last, in a `finally`, and stop at it",
        "your-choice",
        "finally: queue.put(None)",
    ),
)
_REMEDIES = (
    Remedy(
        "give reads a time limit, and raise when it is over", "your-choice", "socket.setdefaulttimeout(30)"
    ),
    Remedy("look whether the file is a FIFO or on a mount that is gone: `ls -l`, `stat`, `mount`", "guess"),
)
