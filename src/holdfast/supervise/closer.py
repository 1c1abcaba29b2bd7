"""A closer look at a process that seems not to move: does it compile, wait for a person, or for itself?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from holdfast.journal.stacks import Frame
from holdfast.supervise import procfs, pyspy, waits
from holdfast.supervise.errand import Errand
from holdfast.supervise.phases import Doing
from holdfast.supervise.stall import Closer
from holdfast.supervise.waits import Call

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
    "tensorflow/python/data/ops/dataset_ops.py", "holdfast/probe/patch.py",
)  # fmt: skip
_LOCKS = frozenset({"futex", "wait4", "waitid"})
_LOOKED_AT = 8  # processes
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_FILE_ANSWERS_S = 0.5  # within which a file says what it is; one on a dead mount never does


def look(trainer: int, pids: Sequence[int], *, with_stack: bool) -> Closer:
    """Costs a pause of some milliseconds where the stack is asked for. That wakes the threads: they are read before.

    The command's own process comes first among `pids`.
    """
    calls = {
        (pid, thread): waits.call(pid, thread) for pid in pids[:_LOOKED_AT] for thread in procfs.threads(pid)
    }
    person = _waits_for_a_person(trainer, calls.get((trainer, trainer)), root=pids[0] if pids else trainer)
    in_vain = any(
        call is not None and opens_in_vain(pid, call, _state(pid, thread))
        for (pid, thread), call in calls.items()
    )
    return Closer(
        doing=_doing(trainer) if with_stack else Doing.UNKNOWN,
        reads_terminal=person,
        locked=len(pids) <= _LOOKED_AT and all_locked(calls.values()),
        opens_in_vain=in_vain,
    )


def _doing(trainer: int) -> Doing:
    try:
        return doing_of(_main(trainer, pyspy.dump(trainer)))
    except pyspy.NoStacks:
        return Doing.UNKNOWN


def doing_of(frames: Sequence[Frame]) -> Doing:
    """By the frames of the main thread, innermost first."""
    for frame in frames:
        function = frame.function.rpartition(".")[2]
        for path, functions in _COMPILERS:
            if path in frame.file and function.startswith(functions):
                return Doing.COMPILING
        if "importlib._bootstrap" in frame.file:
            return Doing.IMPORTING
    if frames and frames[0].file.endswith(_NEVER_WAIT):
        return Doing.FREEING
    return Doing.EXECUTING if frames else Doing.UNKNOWN


def all_locked(calls: Iterable[Call | None]) -> bool:
    """Whether every thread waits for another one, with no time limit on any: nobody is left to wake anybody."""
    known = list(calls)
    if not known or any(call is None or call.timed or call.name not in _LOCKS for call in known):
        return False
    return any(call is not None and call.name == "futex" for call in known)


def opens_in_vain(pid: int, call: Call, state: str) -> bool:
    """Opening sleeps, and can be interrupted, at a FIFO without a partner. A dead disk or mount is state D; one that a
    program serves (gcsfuse, sshfs) sleeps in the same way for as long as its network takes, so the file is asked."""
    return call.name in ("open", "openat") and state == "S" and _is_fifo(waits.opened(pid, call))


def _is_fifo(path: str) -> bool:
    asked = Errand(lambda: stat.S_ISFIFO(os.stat(path).st_mode))
    return asked.wait(_FILE_ANSWERS_S) and asked.result is True


def _state(pid: int, thread: int) -> str:
    one = procfs.stat(pid, thread)
    return one.state if one is not None else ""


def _waits_for_a_person(trainer: int, call: Call | None, *, root: int) -> bool:
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
    path = waits.path_of(trainer, number)
    return path.startswith(_TERMINALS) or (number == 0 and path == waits.path_of(root, 0))


def _main(pid: int, threads: Sequence[pyspy.PyThread]) -> tuple[Frame, ...]:
    for thread in threads:
        if thread.tid == pid or thread.name == "MainThread":
            return thread.frames
    return ()
