"""The table: each case, and the cause that `holdfast explain` has to name first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM

from . import inputs
from .inputs import Config, Data


@dataclass(frozen=True)
class Case:
    name: str
    causes: tuple[str, ...] = ()  # any of these may come first; empty: nothing may be blamed
    config: Config = field(default_factory=Config)
    record: Callable[[Data, Path], str] = lambda data, folder: str(data.record)
    label_map: Callable[[Data, Path], Path] = lambda data, folder: data.label_map
    true_steps: int | None = None  # how many are done; None: not asserted
    continues: str = ""  # the case whose model folder it is given
    evaluates: bool = False  # the process that waits for checkpoints and evaluates each
    signal: int = 0  # sent to the program once it has trained, or once the evaluator waits
    memory_mib: int | None = None
    on_stall: str = "report"
    has_loss: bool = False  # the run folder has a loss


_HIGH = ("learning-rate-too-high",)

CASES = (
    Case("healthy", true_steps=300, has_loss=True),
    Case("already at the target", ("already-at-target",), continues="healthy", true_steps=0),
    Case("resumed", config=Config(steps=400), continues="healthy", true_steps=100, has_loss=True),
    Case(
        "evaluator waits",
        ("preempted",),
        Config(steps=1000),
        continues="healthy",
        evaluates=True,
        signal=SIGTERM,
    ),
    Case("record cut off", ("corrupt-record",), record=inputs.cut_record),
    Case("one image cut off", ("undecodable-image",), record=inputs.cut_image),
    Case("boxes swapped", ("bad-boxes",), record=inputs.swapped_boxes),
    Case(
        "label map of other names",
        ("class-id-out-of-range",),
        Config(steps=200),
        label_map=inputs.other_class,
    ),
    Case("images of different sizes", ("mixed-image-sizes",), Config(keeps_aspect_ratio=True)),
    Case("loss 1e9", _HIGH, Config(learning_rate=20.0), true_steps=300, has_loss=True),
    Case("loss 1e25", _HIGH, Config(steps=200, learning_rate=2e4), true_steps=200, has_loss=True),
    Case(
        "loss nan",
        (*_HIGH, "loss-not-finite"),
        Config(steps=200, learning_rate=1e18),
        true_steps=200,
        has_loss=True,
    ),
    Case("no such record", ("path-missing",), record=lambda data, folder: str(folder / "no-such-*.record")),
    Case("no such checkpoint", ("path-missing",), Config(fine_tune_checkpoint="no/such/ckpt-1")),
    Case("input blocked", ("input-blocked",), record=inputs.blocked_shard, on_stall="stop"),
    Case("killed for memory", ("killed-for-memory",), Config(batch=512, size=300), memory_mib=2500),
    Case("SIGKILL", ("killed-from-outside",), Config(steps=5000), signal=SIGKILL),
    Case("SIGTERM", ("preempted",), Config(steps=5000), signal=SIGTERM),
)
