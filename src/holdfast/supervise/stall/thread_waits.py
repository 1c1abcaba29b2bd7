"""What the threads of a process tree wait for, and whether that wait has an end.

Read from /proc alone, so it holds for every language. A tree in which every thread waits without a time limit, for
another thread or for something in the tree, cannot continue by itself. One that sleeps, serves clients or waits for
another machine can.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence

from holdfast.host import descriptors, procfs
from holdfast.host.descriptors import FileKind
from holdfast.host.last_run import seconds_since_run
from holdfast.supervise.stack_capture import syscalls
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall.wait_kinds import TreeWait, Wait

MAX_PROCESSES = 64
#: Programs that wait for what another machine or a daemon does, which is not below them in the tree.
_REMOTE_CLIENTS = frozenset(
    {"docker", "podman", "nerdctl", "ssh", "srun", "salloc", "kubectl", "gcloud", "aws", "mosh-client"}
)
_SLEEPS = frozenset({"nanosleep", "clock_nanosleep", "restart_syscall"})
_POLLS = frozenset({"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"})
_ON_FILE = frozenset(
    {"read", "readv", "write", "writev", "recvfrom", "recvmsg", "sendto", "sendmsg", "accept", "accept4"}
)
_FOR_CHILD = frozenset({"wait4", "waitid"})
#: Waits for a lock, whoever has it: not for a child to do something.
_FOR_LOCK = frozenset({"futex", "flock", "fcntl", "semop", "open", "openat"})
_FOR_SIGNAL = frozenset({"pause", "rt_sigsuspend"})
_FUTEX_RELATIVE = 0  # FUTEX_WAIT; the others take a point in time
_COMMAND_BITS, _FUTEX_CLOCK_REALTIME = 0x7F, 0x100
_TIMESPEC = struct.Struct("<qq")


_BY_KIND = {
    FileKind.TERMINAL: Wait.PERSON,
    FileKind.PIPE: Wait.OPEN_ENDED,
    FileKind.FIFO: Wait.OPEN_ENDED,
    FileKind.EVENT: Wait.OPEN_ENDED,
    FileKind.LOCAL_SOCKET: Wait.OPEN_ENDED,
    FileKind.TIMER: Wait.TIMED,
    FileKind.LISTENER: Wait.CLIENT,
    FileKind.REMOTE_SOCKET: Wait.REMOTE,
}
#: Of several files that one call waits for, which decides: any of them can wake the thread.
_DECIDES = (Wait.UNKNOWN, Wait.TIMED, Wait.REMOTE, Wait.CLIENT, Wait.PERSON)


ThreadKey = tuple[int, int]  # process, thread


def read_tree(pids: Sequence[int], *, helpers: frozenset[int] = frozenset()) -> TreeWait:
    """The command's own process comes first among `pids`. `helpers`: threads that never do anything but wake up."""
    if not pids or len(pids) > MAX_PROCESSES:
        return TreeWait()
    stats = {pid: stat for pid in pids if (stat := procfs.stat(pid)) is not None and stat.state not in "ZX"}
    keys = [(pid, thread) for pid in stats for thread in procfs.threads(pid) if thread not in helpers]
    calls = {key: _sleeping_call(*key) for key in keys}
    waits = {key: classify(*key, calls[key], root=pids[0]) for key in keys}
    leaders = _leaders(pids[0], {pid: stat.parent for pid, stat in stats.items()}, waits, calls)
    wait, mains = judge_tree(waits, leaders), {(pid, pid) for pid in leaders}
    if wait is not Wait.UNKNOWN and any(stats[pid].name in _REMOTE_CLIENTS for pid in leaders):
        wait = Wait.CLIENT
    limits = [_time_limit_s(pid, calls[pid, pid]) for pid in leaders]
    first = calls[leaders[0], leaders[0]] if leaders else None
    return TreeWait(
        wait,
        max((limit for limit in limits if limit is not None), default=None),
        _blocked_for_s([key for key, one in waits.items() if one is Wait.REMOTE or key in mains]),
        syscalls.describe_syscall(leaders[0], first) if first is not None else "",
    )


def python_locked(
    python_threads: Sequence[int], trainer: int, calls: Mapping[ThreadKey, SystemCall | None], *, root: int
) -> bool:
    """Whether every Python thread of the trainer waits for another one without a time limit, and nothing else can wake
    one: no process that works, no connection. Threads of a framework, without Python code, may wake up now and then.
    """
    own = {(trainer, thread) for thread in python_threads}
    if (trainer, trainer) not in own or not _waits_for_lock(calls.get((trainer, trainer))):
        return False
    # The threads of a pool wait for a lock, for a pipe from a worker, or for one of them to end.
    if any(not _waits_in_tree(key, calls.get(key), root) for key in own):
        return False
    others = {key: classify(*key, call, root=root) for key, call in calls.items() if key not in own}
    endless = (Wait.OPEN_ENDED, Wait.CLIENT)
    native = (*endless, Wait.TIMED, Wait.SLEEP)
    return all(wait in (native if key[0] == trainer else endless) for key, wait in others.items())


def _waits_in_tree(key: ThreadKey, call: SystemCall | None, root: int) -> bool:
    """For another thread, a child or a pipe. The other end of a socket may be anywhere."""
    if call is None or classify(*key, call, root=root) is not Wait.OPEN_ENDED:
        return False
    numbers = descriptors.polled(key[0], call.name, call.arguments) if call.name in _POLLS else None
    if call.name in _ON_FILE:
        numbers = [call.arguments[0]]
    return not any(descriptors.kind_of(key[0], one) is FileKind.LOCAL_SOCKET for one in numbers or ())


def _waits_for_lock(call: SystemCall | None) -> bool:
    return call is not None and not call.timed and (call.name == "futex" or call.name in _FOR_CHILD)


def judge_tree(waits: Mapping[ThreadKey, Wait], leaders: Sequence[int]) -> Wait:
    """By the main threads of the processes that the others wait for; open-ended only if every thread is."""
    leading = {waits.get((pid, pid), Wait.UNKNOWN) for pid in leaders}
    if leading == {Wait.SLEEP}:
        return Wait.SLEEP
    for one in (Wait.PERSON, Wait.CLIENT, Wait.REMOTE, Wait.TIMED):
        if one in leading:
            return one
    every = set(waits.values())
    return Wait.OPEN_ENDED if every <= {Wait.OPEN_ENDED, Wait.CLIENT} and every else Wait.UNKNOWN


def sleeps(pid: int) -> bool:
    """Its main thread."""
    return classify(pid, pid, _sleeping_call(pid, pid), root=pid) is Wait.SLEEP


def classify(pid: int, thread: int, call: SystemCall | None, *, root: int) -> Wait:
    """Of one thread."""
    if call is None:
        return Wait.UNKNOWN
    name = call.name
    if name in _SLEEPS:
        return Wait.SLEEP
    if name in _POLLS:
        return _classify_poll(pid, thread, call, root)
    if call.timed:
        return Wait.TIMED
    if name in _ON_FILE:
        return _classify_file(pid, thread, call.arguments[0], root)
    locks = syscalls.waits_for_file_lock(call)
    endless = name in _FOR_CHILD or name in _FOR_SIGNAL or name in ("futex", "flock", "semop") or locks
    if endless or (name == "rt_sigtimedwait" and not call.arguments[2]):
        return Wait.OPEN_ENDED
    if name == "connect":
        return Wait.REMOTE
    opens_fifo = name in ("open", "openat") and _opens_fifo(pid, call)
    return Wait.OPEN_ENDED if opens_fifo else Wait.UNKNOWN


def _classify_poll(pid: int, thread: int, call: SystemCall, root: int) -> Wait:
    numbers = descriptors.polled(pid, call.name, call.arguments)
    if call.timed:
        return Wait.TIMED if numbers or numbers is None else Wait.SLEEP
    if numbers is None:
        return Wait.UNKNOWN
    kinds = {_classify_file(pid, thread, number, root) for number in numbers}
    return next((one for one in _DECIDES if one in kinds), Wait.OPEN_ENDED)


def _classify_file(pid: int, thread: int, number: int, root: int) -> Wait:
    kind = descriptors.kind_of(pid, number)
    if kind is FileKind.PIPE and number == 0 and _is_commands_input(pid, root):
        return Wait.PERSON
    if kind is FileKind.DEVICE and thread != pid:  # the driver's own threads wait for the GPU all day long
        return Wait.OPEN_ENDED
    if kind is FileKind.EPOLL:  # an epoll inside of another
        inner = descriptors.polled(pid, "epoll_wait", (number,)) or []
        kinds = {_BY_KIND.get(descriptors.kind_of(pid, one), Wait.UNKNOWN) for one in inner}
        return next((one for one in _DECIDES if one in kinds), Wait.OPEN_ENDED)
    return _BY_KIND.get(kind, Wait.UNKNOWN)


def _is_commands_input(pid: int, root: int) -> bool:
    """Whether standard input is the one that the command was started with: whoever writes there is outside."""
    mine, roots = syscalls.fd_path(pid, 0), syscalls.fd_path(root, 0)
    above = procfs.stat(root)
    return mine == roots and above is not None and mine == syscalls.fd_path(above.parent, 0)


def _opens_fifo(pid: int, call: SystemCall) -> bool:
    path = syscalls.path_being_opened(pid, call)
    return bool(path) and descriptors.is_fifo(path)


def _sleeping_call(pid: int, thread: int) -> SystemCall | None:
    """The call of a thread that sleeps; None of one that runs or waits for a disk."""
    call = syscalls.current_syscall(pid, thread)
    state = procfs.stat(pid, thread)
    return call if state is not None and state.state == "S" else None


def _leaders(
    root: int,
    parents: Mapping[int, int],
    waits: Mapping[ThreadKey, Wait],
    calls: Mapping[ThreadKey, SystemCall | None],
) -> list[int]:
    """The processes that the others wait for: a shell or a launcher waits for its children."""
    leaders, pending = [], [root]
    while pending:
        pid = pending.pop(0)
        if (pid, pid) not in waits:
            continue
        below = [child for child, parent in parents.items() if parent == pid and child != pid]
        call = calls[pid, pid]
        for_children = waits[pid, pid] is Wait.OPEN_ENDED and call is not None and call.name not in _FOR_LOCK
        if below and for_children:
            pending += below
        else:
            leaders.append(pid)
    # `train | tee log`: the one that reads waits for the other.
    return [pid for pid in leaders if not _reads_from_another(calls[pid, pid], pid)] or leaders


def _reads_from_another(call: SystemCall | None, pid: int) -> bool:
    return (
        call is not None
        and call.name == "read"
        and descriptors.kind_of(pid, call.arguments[0]) is FileKind.PIPE
    )


def _time_limit_s(pid: int, call: SystemCall | None) -> float | None:
    """How long a sleep or a timed wait lasts, or what is left of it; None where that cannot be read."""
    left_s = syscalls.sleep_left_s(pid, call)
    if left_s is not None or call is None or not call.timed:
        return left_s
    arguments = call.arguments
    if call.name in ("poll", "epoll_wait", "epoll_pwait"):
        return (arguments[2] if call.name == "poll" else arguments[3]) / 1000
    at = {"futex": 3, "select": 4, "pselect6": 4, "ppoll": 2}.get(call.name)
    memory = descriptors.memory_at(pid, arguments[at], _TIMESPEC.size) if at is not None else b""
    if len(memory) < _TIMESPEC.size:
        return None
    whole, part = _TIMESPEC.unpack(memory)
    seconds: float = whole + part / (1e6 if call.name == "select" else 1e9)
    if call.name == "futex" and arguments[1] & _COMMAND_BITS != _FUTEX_RELATIVE:
        realtime = arguments[1] & _FUTEX_CLOCK_REALTIME
        return max(0.0, seconds - (time.time() if realtime else time.monotonic()))
    return seconds


def _blocked_for_s(keys: Sequence[ThreadKey]) -> float | None:
    """How long none of these threads has run. A thread that gets bytes now and then runs for a moment each time."""
    since = seconds_since_run(keys)
    return min(since.values()) if since else None
