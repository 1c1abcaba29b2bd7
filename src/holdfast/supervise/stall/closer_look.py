"""A closer look at a process that seems not to move: does it compile, wait for a person, or for itself?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from holdfast.host import procfs
from holdfast.host.threads import BackgroundCall
from holdfast.journal.stacks import Frame
from holdfast.supervise.stack_capture import pyspy, syscalls
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall.judgement import CloserLook
from holdfast.supervise.stall.phase_limits import StackActivity

#: Functions that stand on the stack while a graph is traced or compiled, and not while it runs.
_COMPILERS = (
    (
        "tensorflow/python/eager/polymorphic_function/",
        ("trace_function", "_maybe_define_function", "_initialize"),
    ),
    ("tensorflow/python/framework/func_graph.py", ("func_graph_from_py_func",)),
    ("tensorflow/python/autograph/impl/api.py", ("converted_call",)),
    ("jax/_src/interpreters/partial_eval.py", ("trace_to_jaxpr", "_trace_to_jaxpr")),
    ("jax/_src/compiler.py", ("backend_compile", "compile_or_get_cached", "_compile_and_write")),
    ("jax/_src/interpreters/pxla.py", ("lower_sharding_computation", "_cached_lowering_to_hlo", "compile")),
    ("jax/_src/interpreters/mlir.py", ("lower_jaxpr_to_module",)),
    ("torch/_dynamo/", ("compile", "_compile", "transform")),
    ("torch/_inductor/", ("compile",)),
)
#: Python code that never waits by itself. Innermost there, the thread is inside a destructor: at the end of an epoch
#: tf.data joins its autotuning thread, which sleeps for up to a minute (3 to 40 s were seen without Holdfast).
_NEVER_WAIT = (
    "keras/src/utils/traceback_utils.py", "keras/src/backend/tensorflow/trainer.py", "keras/src/backend/jax/trainer.py",
    "keras/src/trainers/epoch_iterator.py", "tensorflow/python/data/ops/iterator_ops.py",
    "tensorflow/python/data/ops/dataset_ops.py", "holdfast/probe/runtime/wrapping.py",
)  # fmt: skip
_LOCK_SYSCALLS = frozenset({"futex", "wait4", "waitid"})
_MAX_PROCESSES = 8  # processes
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_STAT_TIMEOUT_S = 0.5  # within which a file says what it is; one on a dead mount never does


def look(trainer: int, pids: Sequence[int], *, with_stack: bool) -> CloserLook:
    """Costs a pause of some milliseconds where the stack is asked for. That wakes the threads: they are read before.

    The command's own process comes first among `pids`.
    """
    calls = {
        (pid, thread): syscalls.current_syscall(pid, thread)
        for pid in pids[:_MAX_PROCESSES]
        for thread in procfs.threads(pid)
    }
    person = _waits_for_user_input(trainer, calls.get((trainer, trainer)), root=pids[0] if pids else trainer)
    in_vain = any(
        call is not None and blocked_opening_fifo(pid, call, _state(pid, thread))
        for (pid, thread), call in calls.items()
    )
    return CloserLook(
        doing=_stack_activity(trainer) if with_stack else StackActivity.UNKNOWN,
        reads_terminal=person,
        locked=len(pids) <= _MAX_PROCESSES and all_blocked_on_locks(calls.values()),
        opens_in_vain=in_vain,
    )


def _stack_activity(trainer: int) -> StackActivity:
    try:
        return activity_of_frames(_main_thread_frames(trainer, pyspy.dump(trainer)))
    except pyspy.NoStacks:
        return StackActivity.UNKNOWN


def activity_of_frames(frames: Sequence[Frame]) -> StackActivity:
    """By the frames of the main thread, innermost first."""
    for frame in frames:
        function = frame.function.rpartition(".")[2]
        for path, functions in _COMPILERS:
            if path in frame.file and function.startswith(functions):
                return StackActivity.COMPILING
        if "importlib._bootstrap" in frame.file:
            return StackActivity.IMPORTING
    if frames and frames[0].file.endswith(_NEVER_WAIT):
        return StackActivity.FREEING
    return StackActivity.EXECUTING if frames else StackActivity.UNKNOWN


def all_blocked_on_locks(calls: Iterable[SystemCall | None]) -> bool:
    """Whether every thread waits for another one, with no time limit on any: nobody is left to wake anybody."""
    known = list(calls)
    if not known or any(call is None or call.timed or call.name not in _LOCK_SYSCALLS for call in known):
        return False
    return any(call is not None and call.name == "futex" for call in known)


def blocked_opening_fifo(pid: int, call: SystemCall, state: str) -> bool:
    """Opening sleeps, and can be interrupted, at a FIFO without a partner. A dead disk or mount is state D; one that a
    program serves (gcsfuse, sshfs) sleeps in the same way for as long as its network takes, so the file is asked."""
    return (
        call.name in ("open", "openat") and state == "S" and _is_fifo(syscalls.path_being_opened(pid, call))
    )


def _is_fifo(path: str) -> bool:
    asked = BackgroundCall(lambda: stat.S_ISFIFO(os.stat(path).st_mode))
    return asked.wait(_STAT_TIMEOUT_S) and asked.result is True


def _state(pid: int, thread: int) -> str:
    one = procfs.stat(pid, thread)
    return one.state if one is not None else ""


def _waits_for_user_input(trainer: int, call: SystemCall | None, *, root: int) -> bool:
    """Whether the main thread of the trainer, in this call, waits at a terminal or at the command's own input.

    A helper that reads its work from a pipe (ffmpeg, a language server) and a thread that listens for a key stand in
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
    return path.startswith(_TERMINALS) or (number == 0 and path == syscalls.fd_path(root, 0))


def _main_thread_frames(pid: int, threads: Sequence[pyspy.PyThread]) -> tuple[Frame, ...]:
    for thread in threads:
        if thread.tid == pid or thread.name == "MainThread":
            return thread.frames
    return ()
