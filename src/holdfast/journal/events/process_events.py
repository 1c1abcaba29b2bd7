"""A process of the run, as it reports itself: its frameworks, its errors, its end."""

from __future__ import annotations

from ...typing_names import Literal
from .event import Event, Json, field

Left = Literal["fit", "callback", "script", "thread", "loader", "evaluate", "save", "exit"]


class ProcessJoined(Event):
    """A Python process that imported a framework started reporting."""

    python: str = ""
    executable: str = ""
    argv: list[str] = field(default_factory=list)
    script: str = ""
    role: str = "main"  # main: the one that trains; worker: another Python process below it


class ProbeLeftOut(Event):
    """A Python process that the probe cannot enter: it is too old, or not CPython. Written by `sitecustomize.py`."""

    python: str = ""
    implementation: str = ""  # as `sys.implementation` names it


class ProbeFailed(Event):
    """A part of the probe did not work and was switched off; training continues."""

    part: str = ""
    error: str = ""


class FrameworkSeen(Event):
    name: str = ""  # keras | tf_keras | tensorflow | jax | torch
    version: str = ""
    backend: str = ""
    devices: list[str] = field(default_factory=list)
    # of each device, as the framework calls it: cpu, cuda, gpu
    device_kinds: list[str] = field(default_factory=list)
    # kinds of the devices that had the parameters at torch's first optimizer step
    parameters_on: list[str] = field(default_factory=list)
    # of every package that matters, incl. cuda/cudnn builds
    versions: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)  # TF_*, XLA_*, KERAS_*, JAX_*, CUDA_*, OMP_*
    # choices of a device that an imported file of the user's made, by the line that names the variable
    environment_set: dict[str, str] = field(default_factory=dict)
    built_with_cuda: bool | None = None
    threads: Json = field(default_factory=dict)  # {"inter_op", "intra_op"} as set


class SeedSet(Event):
    by: str = ""  # the function
    seed: int | None = None
    where: str = ""


class WarningSeen(Event):
    category: str = ""
    text: str = ""
    where: str = ""
    count: int = 1


class ExceptionRaised(Event):
    """An exception left `fit` (caught or not), a callback, or the script."""

    type: str = ""
    message: str = ""
    errno: int | None = None
    left: Left = "script"  # "evaluate": or predict, outside of a fit; "exit": caught, and sys.exit called
    caught: bool | None = None  # by the user's own code; None when not known yet
    user_line: str = ""  # the last line of the user's own code: "train.py:41"
    user_code: str = ""  # its text
    frames: list[str] = field(default_factory=list)  # "file:line function", outermost first
    chain: list[str] = field(default_factory=list)  # "Type: message" of causes and contexts
    callback: str = ""
    phase: str = ""
    process: str = "main"
    paths: list[str] = field(
        default_factory=list
    )  # files named by the message or by variables in the user's frames
    paths_there: list[str] | None = None  # those of them that were there at that moment


class AtHandSeen(Event):
    """Files and arrays in the user's frames when an exception left the script."""

    # {"path", "bytes", "missing": what the file lacks by its own format, "" if it is complete}
    files: list[Json] = field(default_factory=list)
    # {"name", "shape", "dtype", "min", "max"}; innermost frames first
    arrays: list[Json] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # names of lists and dictionaries without entries
    # attributes that the code reads, and that are None, of callbacks: {"monitor", "attribute"}
    unset: list[Json] = field(default_factory=list)


class SignalSeen(Event):
    """A Python signal handler of the child was about to run, or the default action of SIGTERM."""

    signal: str = ""


class WorkersStarted(Event):
    """Loader processes or threads were started by the script."""

    by: str = ""  # PyDataset | multiprocessing.Pool | Process | ThreadPool
    method: str = ""  # fork | spawn | thread
    count: int = 0
    after_framework: bool | None = None  # forked after TensorFlow or JAX had started its threads
    where: str = ""


class ExitStarted(Event):
    """The script has ended; the interpreter is shutting down."""

    raised: str = ""
    exit_code: int | None = None
    steps: int = 0


class ExitCalled(Event):
    """The script called `sys.exit` or `os._exit`, in its main process."""

    by: str = ""  # "sys.exit" | "os._exit"
    code: int = 0
    message: str = ""
    where: str = ""
    phase: str = ""


class SelfSignalled(Event):
    """The script sent its own process a signal with `os.kill`."""

    signal: str = ""  # "SIGKILL"
    where: str = ""


class WorkerExitCalled(Event):
    """A worker process called `os._exit` in the user's code."""

    worker_pid: int = 0
    code: int = 0
    where: str = ""


class WorkerCrashed(Event):
    """A worker process crashed in native code and left the stack of its fault handler."""

    worker_pid: int = 0
    what: str = ""  # "Segmentation fault"
    where: str = ""  # "train.py:41 in load"; "" where no frame is the user's


class ErrorReported(Event):
    """Holdfast's own trainer stopped on a `HoldfastError`: the error as data."""

    slug: str = ""
    what: str = ""
    where: str = ""
    found: list[str] = field(default_factory=list)
    change: list[str] = field(default_factory=list)
    more: str = ""
