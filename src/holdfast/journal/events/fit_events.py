"""Models, fits, epochs, validations, losses."""

from __future__ import annotations

from typing import Any

from .event import Event, Json, field


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
    # {"class", "module", "file", "line", "settings": {"monitor", "patience", …}}
    callbacks: list[Json] = field(default_factory=list)
    iterations: int | None = None  # the optimizer's count at the start
    where: str = ""
    # exact | sampled | none: how waiting for data is separated from computing; none: steps contain both
    data_wait: str = ""


class EpochStarted(Event):
    fit: int = 1
    epoch: int = 0


class EpochDone(Event):
    fit: int = 1
    epoch: int = 0
    steps: int = 0  # training batches that were run
    planned_steps: int | None = None
    logs: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    duration_s: float = 0.0
    first_step_s: float | None = None  # from the epoch's begin to the end of its first step
    rss_bytes: int | None = None


class ValidationStarted(Event):
    fit: int | None = None  # None: an evaluate of its own
    epoch: int | None = None
    planned_batches: int | None = None


class ValidationDone(Event):
    fit: int | None = None
    epoch: int | None = None
    batches: int = 0
    logs: dict[str, float] = field(default_factory=dict)
    duration_s: float = 0.0


class PredictDone(Event):
    batches: int = 0
    duration_s: float = 0.0
    count: int = 0  # how many predicts there were so far


class StopRequested(Event):
    """Somebody set `model.stop_training = True`."""

    by: str = ""  # class of the callback, or "script"
    where: str = ""  # the line that set it
    epoch: int | None = None
    step: int | None = None
    settings: Json = field(default_factory=dict)  # of the callback: monitor, patience, best, stopped_epoch, …
    logs: dict[str, float] = field(default_factory=dict)


class FitDone(Event):
    fit: int = 1
    fits: int = 1  # more: a summary of so many quick fits up to this one
    steps: int = 0  # training batches of this fit, all epochs
    epochs: int = 0  # begun
    epochs_done: int = 0
    stopped: bool = False  # stop_training was set at the end
    raised: str = ""  # the exception that left fit, if one did
    steps_by_epoch: list[int] = field(default_factory=list)  # the first 200 and the last 200
    iterations: int | None = None
    weights_changed: bool | None = None


class LossSeen(Event):
    """A point of the loss curve with its parts, written now and then, and whenever the loss gets worse."""

    step: int = 0
    epoch: int | None = None
    logs: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    gradient_norm: float | None = None
    # of this step alone, worked out where `logs` holds the mean since the epoch began
    step_loss: float | None = None


class NonFiniteSeen(Event):
    """The first value that is not finite, and the values around it."""

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
    # {"boxes": {"inverted", "zero_area", "not_finite", "rows"}}, …
    detail: Json = field(default_factory=dict)


class TracesCounted(Event):
    """How often functions were traced or compiled so far; written when the count has grown."""

    function: str = ""
    where: str = ""
    traces: int = 0
    calls: int = 0
    reason: str = ""  # new-shape | python-value | new-object, as far as the signatures tell
    signatures: list[str] = field(default_factory=list)  # the last few
    expected: int = 0  # of them: while a model is built, and the first ones of each fit
    seconds: float = 0.0  # that JAX took for those that are not expected


class MachineCodeCounted(Event):
    """Executable memory of the process that belongs to no file: XLA leaves some with each program that it compiles."""

    function: str = ""
    where: str = ""
    regions: int = 0
    step: int = 0


class RolledBack(Event):
    """The trainer went back to a checkpoint after a loss that is not finite, with a smaller learning rate."""

    step: int = 0  # of the checkpoint
    learning_rate_scale: float = 1.0
    rollbacks: int = 0  # so far


class WeightsHashed(Event):
    """Checksum of the weights at the end of a run: equal for equal bits."""

    sha256: str = ""
    step: int = 0
