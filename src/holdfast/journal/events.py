"""The vocabulary of the journal: one dataclass an event, named in the past tense.

An event's kind is its class name in snake case. Fields are plain JSON values. Every field has a
default, so that an event written by an older or a newer Holdfast can still be read: a field that is
missing takes its default, one that is not known is dropped. Times stand in the entry around the
event (`reader.Entry`), not in the event.

Source lines are written ``"path/to/train.py:41"``. Sizes are bytes, durations seconds.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

#: Raised when a reader of this version could misread what a newer writer wrote.
FORMAT_VERSION = 1

Json = dict[str, Any]


class Event:
    """The root of all events."""

    __slots__ = ()
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and payload(self) == payload(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in payload(self).items())})"


_Event = TypeVar("_Event", bound=Event)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _record(kind: type[_Event]) -> type[_Event]:
    """A frozen dataclass to the type checker. To freeze fifty of them at run time, each with a comparison and a text of
    its own, would take a third of the time in which `explain` starts."""
    return dataclass(slots=True, eq=False, repr=False)(kind)


# -- said by the supervisor ---------------------------------------------------------------------


@_record
class RunOpened(Event):
    """The first event of every journal."""

    version: int = FORMAT_VERSION
    holdfast: str = ""
    name: str = ""
    command: list[str] = field(default_factory=list)
    cwd: str = ""
    watch: str = (
        "run"  # run: a child of ours; train: our own trainer; beside: `holdfast.watch` in a process not ours
    )
    host: str = ""
    boot_id: str = ""
    system: str = ""  # kernel and release
    cpus: int = 0  # that this process may use
    memory_bytes: int = 0  # of the machine
    stall_after_s: float | None = None  # set by hand
    on_stall: str = "report"
    restarts: int = 0


@_record
class MachineRead(Event):
    """Limits as they stood before an attempt started. None is "no limit", a missing key "not known"."""

    cgroup: int | None = None  # 1 or 2
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    oom_kills: int | None = None  # the kernel's counter for our group
    pids_limit: int | None = None
    pids_refused: int | None = None  # how often the pids limit was hit so far
    rlimits: dict[str, int | None] = field(
        default_factory=dict
    )  # "as", "data", "nofile", "nproc", "stack", "fsize"
    disks: list[Json] = field(
        default_factory=list
    )  # {"what": "run"|"tmp"|"shm"|"cwd", "path", "free_bytes", "total_bytes"}
    gpus: list[Json] = field(
        default_factory=list
    )  # {"name", "total_bytes", "used_bytes", "processes": [{"pid", "name", "bytes"}]}


@_record
class AttemptStarted(Event):
    command: list[str] = field(default_factory=list)
    pid: int = 0
    terminal: bool = False  # the child has a terminal of its own


@_record
class ScriptRead(Event):
    """The script as it stood when an attempt was started."""

    script: str = ""
    digest: str = ""  # checksum and length
    kept: str = ""  # its copy under source/; "" where it is too large, or the disk refused it
    beside: dict[str, str] = field(default_factory=dict)  # other modules of its folder and their digests


@_record
class Stalled(Event):
    """The child is not moving. `progress` holds what was looked at and when each last moved."""

    phase: str = ""
    callback: str = ""
    step: int | None = None
    epoch: int | None = None
    silent_for_s: float = 0.0
    limit_s: float = 0.0
    limit_from: str = ""  # how the limit was chosen, in words
    progress: Json = field(
        default_factory=dict
    )  # {"beat_s", "output_s", "read_s", "cpu_s", ...}: seconds since each moved
    stacks: list[str] = field(default_factory=list)  # files under stacks/


@_record
class StallEnded(Event):
    """It moved again by itself."""

    silent_for_s: float = 0.0


@_record
class EndlessSeen(Event):
    """Counters move, but towards no end: a validation or an epoch that goes on and on."""

    what: str = ""  # validation | epoch
    batches: int = 0  # done in it so far
    for_s: float = 0.0
    planned: int | None = None
    why: str = ""  # against what it was measured, in words
    sure: bool = False  # the plan itself has no end; else only far beyond every one before


@_record
class StacksCaptured(Event):
    reason: str = ""  # stall | before-kill | asked
    file: str = ""  # under stacks/


@_record
class SignalReceived(Event):
    """The supervisor got a signal and passed it on."""

    signal: str = ""  # "SIGTERM"
    from_pid: int | None = None
    from_command: str = ""


@_record
class SignalSent(Event):
    signal: str = ""
    to_pid: int = 0
    why: str = ""


@_record
class ChildStateChanged(Event):
    """The main process was stopped (T) or went on; seen from outside."""

    state: str = ""
    was: str = ""


@_record
class WorkerGone(Event):
    """A descendant ended while the main process lives. How it ended is seldom to be known from outside."""

    worker_pid: int = 0
    name: str = ""
    command: str = ""
    rss_bytes: int | None = None  # when last seen
    lived_s: float = 0.0
    oom_kills_rose: bool = False
    last_state: str = ""


@_record
class OomKillSeen(Event):
    """The kernel's kill counter of our group rose."""

    oom_kills: int = 0
    was: int = 0
    kernel_log: list[str] = field(default_factory=list)
    victim_pid: int | None = None


@_record
class AttemptEnded(Event):
    exit_code: int | None = None  # None when a signal ended it
    signal: str | None = None  # "SIGKILL"
    core_dumped: bool = False
    duration_s: float = 0.0
    max_rss_bytes: int | None = None
    user_s: float | None = None
    system_s: float | None = None
    major_faults: int | None = None
    oom_kills_before: int | None = None
    oom_kills_after: int | None = None
    pids_refused_before: int | None = None
    pids_refused_after: int | None = None
    kernel_log: list[str] = field(default_factory=list)  # lines that name the child or its group
    stopped_by_us: str = ""  # "stall", "interrupt", "terminate": why we ended it, if we did
    left_running: list[Json] = field(default_factory=list)  # descendants that outlived it


@_record
class Restarted(Event):
    why: str = ""
    pause_s: float = 0.0


@_record
class RestartRefused(Event):
    why: str = ""


@_record
class WatchFailed(Event):
    """A part of the watch itself did not work; the child is not touched by it."""

    part: str = ""
    error: str = ""


@_record
class RunClosed(Event):
    outcome: str = ""
    exit_code: int = 0


# -- said from inside the process: by the probe in a user's script, or by our own trainer ----------


@_record
class ProcessJoined(Event):
    """A Python process of the run that uses a framework reports for duty."""

    python: str = ""
    executable: str = ""
    argv: list[str] = field(default_factory=list)
    script: str = ""
    role: str = "main"  # main: the one that trains; worker: another Python process below it


@_record
class ProbeFailed(Event):
    """A part of the probe did not work and was switched off; training goes on."""

    part: str = ""
    error: str = ""


@_record
class FrameworkSeen(Event):
    name: str = ""  # keras | tf_keras | tensorflow | jax | torch
    version: str = ""
    backend: str = ""
    devices: list[str] = field(default_factory=list)
    device_kinds: list[str] = field(
        default_factory=list
    )  # of each device, in the framework's word: cpu, cuda, gpu
    parameters_on: list[str] = field(
        default_factory=list
    )  # kinds that held them at torch's first optimizer step
    versions: dict[str, str] = field(
        default_factory=dict
    )  # of every package that matters, incl. cuda/cudnn builds
    environment: dict[str, str] = field(default_factory=dict)  # TF_*, XLA_*, KERAS_*, JAX_*, CUDA_*, OMP_*
    built_with_cuda: bool | None = None
    threads: Json = field(default_factory=dict)  # {"inter_op", "intra_op"} as set


@_record
class SeedSet(Event):
    by: str = ""  # the function
    seed: int | None = None
    where: str = ""


@_record
class ModelSeen(Event):
    name: str = ""
    parameters: int = 0
    trainable_parameters: int = 0
    trainable_variables: int = 0
    layers: int = 0
    layer_kinds: dict[str, int] = field(default_factory=dict)
    input_shape: Any = None
    output_shape: Any = None
    precision: str = ""
    optimizer: str = ""
    learning_rate: float | None = None
    learning_rate_schedule: str = ""
    optimizer_settings: Json = field(default_factory=dict)
    loss: str = ""
    metrics: list[str] = field(default_factory=list)
    run_eagerly: bool | None = None
    jit_compile: Any = None
    steps_per_execution: int | None = None
    where: str = ""  # the user's line that compiled or built it


@_record
class DatasetSeen(Event):
    """What feeds a fit, an evaluation or a loop, as far as it can be read without drawing from it."""

    role: str = "train"  # train | validation | predict
    type: str = ""  # tf.data | array | generator | py_dataset | torch | iterator
    python_fed: bool | None = None  # elements are made by Python code
    element_spec: Any = None  # [[shape, dtype], ...]
    element_bytes: int | None = None  # of one element as fed (a batch); None when a dimension is not known
    cardinality: int | None = None  # -1 infinite, -2 unknown
    nodes: list[Json] = field(
        default_factory=list
    )  # from the source to the end: {"op": "shuffle", "buffer_size": 2048, "where": …}
    # wanted by explain: each node with "cardinality" (as Dataset.cardinality) and "element_bytes" where its spec is
    # fully known; with ignore_errors in the chain, a NoteMade(facts={"dropped": n}) at the end of the first epoch
    # where the record files can be counted (badfiles walks them already)
    files: list[str] = field(default_factory=list)  # the first few source files, where they can be read
    file_count: int | None = None
    array_bytes: int | None = None
    workers: int | None = None
    multiprocessing: bool | None = None
    max_queue_size: int | None = None
    statistics: Json = field(
        default_factory=dict
    )  # of arrays in memory: {"x": {"min","max","mean","finite"}, "y": …}
    where: str = ""


@_record
class FitStarted(Event):
    fit: int = 1  # counts the fits of the process
    model: str = ""
    epochs: int | None = None
    initial_epoch: int = 0
    steps_per_epoch: int | None = None  # as given by the caller
    planned_steps_per_epoch: int | None = None  # as known at the start: given, or cardinality
    batch_size: int | None = None
    validation: bool = False
    validation_steps: int | None = None
    validation_freq: Any = None
    shuffle: Any = None
    callbacks: list[Json] = field(
        default_factory=list
    )  # {"class", "module", "file", "line", "settings": {"monitor", "patience", …}}
    iterations: int | None = None  # the optimizer's count at the start
    where: str = ""
    data_wait: str = (
        ""  # exact | sampled | none: how waiting for data is told from computing; none: steps contain both
    )


@_record
class EpochStarted(Event):
    fit: int = 1
    epoch: int = 0


@_record
class EpochDone(Event):
    fit: int = 1
    epoch: int = 0
    steps: int = 0  # training batches really run in it
    planned_steps: int | None = None
    logs: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    duration_s: float = 0.0
    first_step_s: float | None = None  # from the epoch's begin to the end of its first step
    rss_bytes: int | None = None


@_record
class ValidationStarted(Event):
    fit: int | None = None  # None: an evaluate of its own
    epoch: int | None = None
    planned_batches: int | None = None


@_record
class ValidationDone(Event):
    fit: int | None = None
    epoch: int | None = None
    batches: int = 0
    logs: dict[str, float] = field(default_factory=dict)
    duration_s: float = 0.0


@_record
class PredictDone(Event):
    batches: int = 0
    duration_s: float = 0.0
    count: int = 0  # how many predicts there were so far


@_record
class StopRequested(Event):
    """Somebody set `model.stop_training = True`."""

    by: str = ""  # class of the callback, or "script"
    where: str = ""  # the line that set it
    epoch: int | None = None
    step: int | None = None
    settings: Json = field(default_factory=dict)  # of the callback: monitor, patience, best, stopped_epoch, …
    logs: dict[str, float] = field(default_factory=dict)


@_record
class FitDone(Event):
    fit: int = 1
    fits: int = 1  # more: it stands for so many quick ones up to this, told together
    steps: int = 0  # training batches of this fit, all epochs
    epochs: int = 0  # begun
    epochs_done: int = 0
    stopped: bool = False  # stop_training stood at the end
    raised: str = ""  # the exception that left fit, if one did
    steps_by_epoch: list[int] = field(default_factory=list)  # the first 200 and the last 200
    iterations: int | None = None
    weights_changed: bool | None = None


@_record
class LoopSeen(Event):
    """Training without `fit`: a tf.function, GradientTape or train_on_batch loop was recognised."""

    by: str = ""  # apply_gradients | train_on_batch | dataset_iterator | tf_function
    where: str = ""


@_record
class PassDone(Event):
    """A loop of the user's own began its dataset anew: how the pass before went."""

    number: int = 0  # among those said
    steps: int = 0
    duration_s: float = 0.0  # from asking for its first batch to the end of its last step
    first_step_s: float = 0.0  # from there to the end of its first step


@_record
class LossSeen(Event):
    """A point of the loss curve with its parts, written now and then, and at each turn for the worse."""

    step: int = 0
    epoch: int | None = None
    logs: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    gradient_norm: float | None = None
    step_loss: float | None = (
        None  # of this step alone, worked out where `logs` holds the mean since the epoch began
    )


@_record
class NonFiniteSeen(Event):
    """The first value that is not finite, and what stood around it."""

    what: str = ""  # loss | loss-part | weights | gradient | input | target
    name: str = ""
    step: int = 0
    epoch: int | None = None
    value: str = ""  # "nan", "inf", "-inf"
    last_finite: float | None = None
    recent: list[float | str] = field(default_factory=list)  # the losses before it, oldest first, as reported
    weights_finite: bool | None = None  # at the time it was seen
    weights_finite_before: bool | None = None  # after the step before; None when not looked at
    input_finite: bool | None = None
    learning_rate: float | None = None
    precision: str = ""
    # wanted by explain: `input_finite` also where the tensors of a tf.data source can be looked at
    # (from_tensor_slices), and for targets whose last dimension is 4, with x1 y1 x2 y2 in most rows,
    # detail["boxes"] = {"inverted": n, "zero_area": n, "not_finite": n, "rows": [first few of the source]}
    detail: Json = field(default_factory=dict)


@_record
class BatchSeen(Event):
    """What was in a batch: the first one, and one that a failure points at."""

    role: str = "train"
    step: int = 0
    parts: list[Json] = field(
        default_factory=list
    )  # {"path": "x", "shape", "dtype", "min", "max", "mean", "finite"}


@_record
class PipelineSeen(Event):
    """What tf.data's own counters say of an iterator, read while it runs."""

    role: str = "train"
    step: int = 0
    nodes: list[Json] = field(default_factory=list)
    # {"name": "Shuffle", "elements": handed on so far, "buffered_elements", "buffered_bytes", "produced_bytes",
    #  "processing_s", "parallelism"}
    between_fetches_s: float | None = None  # mean of late: what the consumer does between two batches
    step_s: float | None = None  # mean of late, waiting and computing
    waiting_share: float | None = None  # of the time of late that was spent waiting for a batch


@_record
class WarningSeen(Event):
    category: str = ""
    text: str = ""
    where: str = ""
    count: int = 1


@_record
class TracesCounted(Event):
    """How often functions were traced or compiled so far; written when the count has grown."""

    function: str = ""
    where: str = ""
    traces: int = 0
    calls: int = 0
    reason: str = ""  # new-shape | python-value | new-object, as far as the signatures tell
    signatures: list[str] = field(default_factory=list)  # the last few


@_record
class HoldingsSeen(Event):
    """Containers and objects that a user's callbacks, modules or closures hold and that have grown."""

    step: int | None = None
    rss_bytes: int | None = None
    items: list[Json] = field(default_factory=list)  # {"name", "type", "length", "bytes", "grew_by", "where"}
    object_counts: Json = field(
        default_factory=dict
    )  # {"Model": 12, "EagerTensor": 5000}: of framework objects alive


@_record
class SaveStarted(Event):
    path: str = ""
    by: str = ""


@_record
class SaveDone(Event):
    path: str = ""
    bytes: int | None = None
    duration_s: float = 0.0
    step: int | None = None


@_record
class SaveFailed(Event):
    path: str = ""
    error: str = ""
    errno: int | None = None
    free_bytes: int | None = None
    where: str = ""  # the user's line that saved


@_record
class Restored(Event):
    path: str = ""
    by: str = ""  # load_weights | BackupAndRestore | tf.train.Checkpoint | load_model
    iterations: int | None = None  # of the optimizer afterwards
    epoch: int | None = None
    optimizer_restored: bool | None = None
    where: str = ""


@_record
class ExceptionRaised(Event):
    """An exception left `fit` (caught or not), a callback, or the script."""

    type: str = ""
    message: str = ""
    errno: int | None = None
    left: str = "script"  # fit | callback | script | thread | loader | evaluate (or predict, outside fit)
    caught: bool | None = None  # by the user's own code; None when not known yet
    user_line: str = ""  # the last line of the user's own code: "train.py:41"
    user_code: str = ""  # its text
    frames: list[str] = field(default_factory=list)  # "file:line function", outermost first
    chain: list[str] = field(default_factory=list)  # "Type: message" of causes and contexts
    callback: str = ""
    phase: str = ""
    process: str = "main"
    paths: list[str] = field(default_factory=list)  # files named by the message or held by the user's frames
    paths_there: list[str] | None = None  # those of them that were there at that moment


@_record
class BadFilesFound(Event):
    """After a failure that speaks of pictures or records: files of the dataset that are not what they should be."""

    files: list[Json] = field(default_factory=list)  # {"path", "what", "offset"}
    looked_at: int = 0
    of: int = 0


@_record
class SignalSeen(Event):
    """A Python signal handler of the child was about to run, or the default action of SIGTERM."""

    signal: str = ""


@_record
class WorkersStarted(Event):
    """Loader processes or threads were started by the script."""

    by: str = ""  # PyDataset | multiprocessing.Pool | Process | ThreadPool
    method: str = ""  # fork | spawn | thread
    count: int = 0
    after_framework: bool | None = None  # forked after TensorFlow or JAX had started its threads
    where: str = ""


@_record
class ExitStarted(Event):
    """The script has ended; the interpreter is shutting down."""

    raised: str = ""
    exit_code: int | None = None
    steps: int = 0


@_record
class NoteMade(Event):
    """Anything worth keeping that has no event of its own yet."""

    text: str = ""
    facts: Json = field(default_factory=dict)


EVENTS: tuple[type[Event], ...] = (
    RunOpened, MachineRead, AttemptStarted, ScriptRead, Stalled, StallEnded, EndlessSeen, StacksCaptured,
    SignalReceived, SignalSent, ChildStateChanged, WorkerGone, OomKillSeen, AttemptEnded, Restarted,
    RestartRefused, WatchFailed, RunClosed, ProcessJoined, ProbeFailed, FrameworkSeen, SeedSet, ModelSeen,
    DatasetSeen, FitStarted, EpochStarted, EpochDone, ValidationStarted, ValidationDone, PredictDone,
    StopRequested, FitDone, LoopSeen, PassDone, LossSeen, NonFiniteSeen, BatchSeen, PipelineSeen, WarningSeen,
    TracesCounted, HoldingsSeen, SaveStarted, SaveDone, SaveFailed, Restored, ExceptionRaised,
    BadFilesFound, SignalSeen, WorkersStarted, ExitStarted, NoteMade,
)  # fmt: skip

_BY_KIND = {event.kind: event for event in EVENTS}
_FIELDS = {event.kind: frozenset(f.name for f in fields(event)) for event in EVENTS}  # type: ignore[arg-type]


def payload(event: Event) -> Json:
    """The event's own fields, as JSON values."""
    return asdict(event)  # type: ignore[call-overload, no-any-return]


def from_json(kind: str, values: Json) -> Event | None:
    """The event, or None for a kind that this version does not know."""
    event = _BY_KIND.get(kind)
    if event is None:
        return None
    known = _FIELDS[kind]
    return event(**{name: value for name, value in values.items() if name in known})
