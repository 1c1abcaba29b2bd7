"""A closer look at a process that seems not to move: does it compile, wait for a person, or is it deadlocked?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.host import descriptors, procfs
from holdfast.host.file_locks import owner_of
from holdfast.host.threads import BackgroundCall
from holdfast.journal.beats import Beat, Phase
from holdfast.journal.folder import RunFolder
from holdfast.journal.stack_files import Frame, Thread
from holdfast.supervise.stack_capture import pyspy, syscalls
from holdfast.supervise.stack_capture.capture import looks_like_python, python_threads
from holdfast.supervise.stack_capture.stack_phase import COMPILERS, read_phase
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall.judgement import CloserLook
from holdfast.supervise.stall.phase_limits import PhaseGroup, StackActivity
from holdfast.supervise.stall.thread_waits import python_locked, read_tree
from holdfast.supervise.stall.wait_kinds import TreeWait, Wait

#: Python code that never waits by itself. Innermost there, the thread is inside a destructor: at the end of an epoch
#: tf.data joins its autotuning thread, which sleeps for up to a minute (3 to 40 s were measured without Holdfast).
_NEVER_WAIT = (
    "keras/src/utils/traceback_utils.py", "keras/src/backend/tensorflow/trainer.py", "keras/src/backend/jax/trainer.py",
    "keras/src/trainers/epoch_iterator.py", "tensorflow/python/data/ops/iterator_ops.py",
    "tensorflow/python/data/ops/dataset_ops.py", "holdfast/probe/runtime/wrapping.py",
)  # fmt: skip
#: Threads that only look whether a bar should be drawn again, and the probe's own.
_HELPERS = ("tqdm/_monitor.py", "holdfast/probe/runtime/hidden_thread.py")
#: Below these a call may wait for what native threads do: the network, a device.
_NATIVE_LIBRARIES = ("/site-packages/", "/dist-packages/")
_LOCK_SYSCALLS = frozenset({"futex", "wait4", "waitid"})
_MAX_PROCESSES = 8
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_EVERY_S = 15.0  # between two looks at the same beat
_TIMEOUT_S = 3.0
#: Code that waits for the answer to a request over HTTP.
_DOWNLOADS = ("/http/client.py:", "/urllib/request.py:", "/urllib3/", "/requests/", "/httpx/", "/httpcore/")
_OWNER_IDLE_S = 5.0  # of a process that has locked a file
_SAME_END_S = 2.0  # two looks at the same sleep find the same end, as exactly as a busy machine reads clocks
#: Where the stack distinguishes compiling and importing from a stall, or shows that threads wait for each other.
_WITH_STACK = frozenset(PhaseGroup) - {PhaseGroup.START, PhaseGroup.EXIT}


class CloserLooks:
    """Takes closer looks in a thread, a few a minute. A look is valid for the beat at which it was taken."""

    def __init__(self, folder: RunFolder, *, gentle: bool = False) -> None:
        self._folder = folder
        self._gentle = gentle
        self.latest = CloserLook()
        self.any_taken = False
        self._call: BackgroundCall[CloserLook] | None = None
        self._taken_at = float("-inf")
        self._sequence = -1  # of the beat
        self._stacks_read_at: float | None = None
        self._helpers: frozenset[int] = frozenset()

    def valid_for(self, beat: Beat | None) -> CloserLook:
        return CloserLook() if beat is not None and beat.sequence != self._sequence else self.latest

    def start(
        self, beat: Beat | None, pids: Sequence[int], trainer: int, group: PhaseGroup, *, now: float
    ) -> None:
        """Unless one is running, or the last one at this beat was moments ago."""
        sequence = beat.sequence if beat is not None else -1
        if self._call is not None or (sequence == self._sequence and now - self._taken_at < _EVERY_S):
            return
        if sequence != self._sequence:  # the last look was at another phase or step
            self.latest = CloserLook()
        self._taken_at, self._sequence, self.any_taken = now, sequence, True
        self._call = BackgroundCall(
            lambda: look(
                trainer,
                list(pids),
                self._folder,
                with_stack=group in _WITH_STACK,
                gentle=self._gentle,
                helpers=self._helpers,
                stacks_read_at=self._stacks_read_at,
            )
        )

    def collect(self) -> None:
        """Stores the result of a look that is done. A stack that could not be read keeps the last activity."""
        if self._call is not None and self._call.done:
            result = self._call.result or CloserLook()
            result = replace(
                result,
                sleeps_until=long_sleep(result, self.latest, self._taken_at),
                same_stack=bool(result.stack) and result.stack == self.latest.stack,
            )
            self._stacks_read_at, self._helpers = result.stacks_read_at, result.helpers or self._helpers
            unread = result.activity is StackActivity.UNKNOWN
            self.latest = replace(result, activity=self.latest.activity) if unread else result
            self._call = None

    @property
    def reading(self) -> bool:
        return self._call is not None

    def running(self, now: float) -> bool:
        """A look that has just started may still explain the silence."""
        return self._call is not None and now - self._call.started_at < _TIMEOUT_S


def look(
    trainer: int,
    pids: Sequence[int],
    folder: RunFolder,
    *,
    with_stack: bool,
    gentle: bool = False,
    helpers: frozenset[int] = frozenset(),
    stacks_read_at: float | None = None,
) -> CloserLook:
    """Reading the stack pauses the process for some milliseconds, and wakes its threads: they are read before.

    The command's own process comes first among `pids`. `stacks_read_at`: when the last look woke the threads.
    """
    calls = {
        (pid, thread): syscalls.current_syscall(pid, thread)
        for pid in pids[:_MAX_PROCESSES]
        for thread in procfs.threads(pid)
    }
    tree, read_at = read_tree(pids, helpers=helpers), time.monotonic()
    root = pids[0] if pids else trainer
    reads_terminal = _waits_for_user_input(trainer, calls.get((trainer, trainer)), root=root)
    blocked_on_fifo = any(
        call is not None and blocked_opening_fifo(pid, call, _state(pid, thread))
        for (pid, thread), call in calls.items()
    )
    python = _read_stack(trainer, folder, gentle) if with_stack else _PythonStack()
    return CloserLook(
        activity=python.activity,
        phase=python.phase,
        reads_terminal=reads_terminal or tree.wait is Wait.PERSON,
        all_locked=len(pids) <= _MAX_PROCESSES and all_blocked_on_locks(calls.values()),
        python_locked=len(pids) <= _MAX_PROCESSES and _python_locked(trainer, python, calls, root),
        stack=python.stack,
        blocked_on_fifo=blocked_on_fifo,
        locked_out=_locked_out(trainer, calls.get((trainer, trainer))),
        sleeps_until=_sleeps_until(trainer, calls.get((trainer, trainer))),
        downloads=any(mark in frame for frame in python.stack for mark in _DOWNLOADS)
        and tree.wait is Wait.REMOTE,
        tree=tree,
        ran_at=_ran_at(tree, read_at, stacks_read_at),
        stacks_read_at=time.monotonic() if with_stack else stacks_read_at,
        helpers=python.helpers,
    )


def _python_locked(
    trainer: int, python: _PythonStack, calls: Mapping[tuple[int, int], SystemCall | None], root: int
) -> bool:
    """By the calls that were read before the stacks: reading those wakes the threads."""
    if not python.innermost or any(mark in python.innermost for mark in _NATIVE_LIBRARIES):
        return False
    known = {key: call for key, call in calls.items() if key[1] not in python.helpers}
    return python_locked(python.threads, trainer, known, root=root)


def _locked_out(trainer: int, call: SystemCall | None) -> bool:
    """The main thread waits for a file that another process has locked and does nothing with. One that works on the
    file will give it back."""
    if call is None or not syscalls.waits_for_file_lock(call):
        return False
    owner = owner_of(trainer, call.arguments[0])
    idle_s = owner.idle_s if owner is not None else None
    return idle_s is not None and idle_s > _OWNER_IDLE_S


def _sleeps_until(trainer: int, call: SystemCall | None) -> float | None:
    """When the sleep of the trainer's main thread ends, by the monotonic clock."""
    left_s = syscalls.sleep_left_s(trainer, call)
    return time.monotonic() + left_s if left_s is not None else None


def long_sleep(look: CloserLook, before: CloserLook, taken_at: float) -> float | None:
    """The end of a sleep that is long, or that was when it was first seen. Short ones, one after the other, are a loop
    that waits for something."""
    until = look.sleeps_until
    if until is None or until - taken_at > _EVERY_S:
        return until
    same = before.sleeps_until is not None and abs(until - before.sleeps_until) < _SAME_END_S
    return until if same else None


def _ran_at(tree: TreeWait, read_at: float, stacks_read_at: float | None) -> float | None:
    """When one of the waiting threads last ran by itself; None if it was our own last look that woke them."""
    if tree.blocked_for_s is None:
        return None
    ran_at = read_at - tree.blocked_for_s
    woken_by_us = stacks_read_at is not None and abs(ran_at - stacks_read_at) < _TIMEOUT_S
    return None if woken_by_us else ran_at


@dataclass(frozen=True, slots=True)
class _PythonStack:
    activity: StackActivity = StackActivity.UNKNOWN
    phase: Phase | None = None
    helpers: frozenset[int] = frozenset()  # threads that never do anything but wake up
    threads: tuple[int, ...] = ()  # the others
    innermost: str = ""  # the file of the main thread's innermost frame
    stack: tuple[str, ...] = ()


def _read_stack(trainer: int, folder: RunFolder, gentle: bool) -> _PythonStack:
    threads = python_threads(trainer, folder, gentle=gentle).threads if looks_like_python(trainer) else ()
    if not threads:
        return _PythonStack()
    main = _main_thread_frames(trainer, threads)
    states = [Thread(state="S", frames=list(one.frames), main=one.tid == trainer) for one in threads]
    if not any(state.main for state in states):  # it has no Python frames any more
        states.append(Thread(state="S", main=True))
    helpers = {one.tid for one in threads if any(frame.file.endswith(_HELPERS) for frame in one.frames)}
    return _PythonStack(
        activity_of_frames(main),
        read_phase(states, from_python=True).phase,
        frozenset(helpers),
        tuple(one.tid for one in threads if one.tid not in helpers),
        main[0].file if main else "",
        tuple(f"{frame.file}:{frame.line} {frame.function}" for frame in main),
    )


def activity_of_frames(frames: Sequence[Frame]) -> StackActivity:
    """By the frames of the main thread, innermost first."""
    for frame in frames:
        function = frame.function.rpartition(".")[2]
        for path, functions in COMPILERS:
            if path in frame.file and function.startswith(functions):
                return StackActivity.COMPILING
        if "importlib._bootstrap" in frame.file:
            return StackActivity.IMPORTING
    if frames and frames[0].file.endswith(_NEVER_WAIT):
        return StackActivity.FREEING
    return StackActivity.EXECUTING if frames else StackActivity.UNKNOWN


def all_blocked_on_locks(calls: Iterable[SystemCall | None]) -> bool:
    """Whether every thread waits for another one, without a timeout: none is left to wake the others."""
    known = list(calls)
    if not known or any(call is None or call.timed or call.name not in _LOCK_SYSCALLS for call in known):
        return False
    return any(call is not None and call.name == "futex" for call in known)


def blocked_opening_fifo(pid: int, call: SystemCall, state: str) -> bool:
    """Opening sleeps, and can be interrupted, at a FIFO without a partner. A dead disk or mount is state D; one that a
    program serves (gcsfuse, sshfs) sleeps in the same way for as long as its network takes, so the file is checked."""
    return (
        call.name in ("open", "openat")
        and state == "S"
        and descriptors.is_fifo(syscalls.path_being_opened(pid, call))
    )


def _state(pid: int, thread: int) -> str:
    thread_stat = procfs.stat(pid, thread)
    return thread_stat.state if thread_stat is not None else ""


def _waits_for_user_input(trainer: int, call: SystemCall | None, *, root: int) -> bool:
    """Whether the main thread of the trainer, in this call, waits at a terminal or at the command's own input.

    A helper that reads its work from a pipe (ffmpeg, a language server) and a thread that listens for a key are in
    the same call all day long.
    """
    if call is None:
        return False
    if call.name in ("select", "pselect6") and call.arguments[0] == 1:  # readline, for standard input alone
        number = 0
    elif call.name == "read":
        number = call.arguments[0]
    else:
        return False
    path = syscalls.fd_path(trainer, number)
    if path.startswith(_TERMINALS):
        return True
    # Not a file that it opened itself:
    given = path.startswith("pipe:") or path == syscalls.fd_path(os.getpid(), 0)
    return number == 0 and path == syscalls.fd_path(root, 0) and (given or trainer != root)


def _main_thread_frames(pid: int, threads: Sequence[pyspy.PyThread]) -> tuple[Frame, ...]:
    for thread in threads:
        if thread.tid == pid or thread.name == "MainThread":
            return thread.frames
    return ()
