"""Event files for TensorBoard with the tags of TensorFlow's Object Detection API, so that its charts and scripts work.

`tensorboard/train` and `tensorboard/eval`, as in the API. Written without TensorFlow: an event is a few
fields in a TFRecord frame. A resumed run starts a new file with a session mark, which makes TensorBoard drop what an
earlier attempt wrote for later steps.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.atomic_write import open_private
from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import delimited, encoded
from holdfast.journal.events import Event, FitDone, FitStarted, LossSeen, RolledBack, ValidationDone

LARGEST = 3.4028234e38
ONE_STAGE = {"classification": "Loss/classification_loss", "localization": "Loss/localization_loss"}
TWO_STAGES = {
    "rpn_objectness": "Loss/RPNLoss/objectness_loss",
    "rpn_localization": "Loss/RPNLoss/localization_loss",
    "classification": "Loss/BoxClassifierLoss/classification_loss",
    "localization": "Loss/BoxClassifierLoss/localization_loss",
}
LOSSES = {"ssd": ONE_STAGE, "retinanet": ONE_STAGE, "faster-rcnn": TWO_STAGES}
METRICS = {
    "AP": "DetectionBoxes_Precision/mAP",
    "AP50": "DetectionBoxes_Precision/mAP@.50IOU",
    "AP75": "DetectionBoxes_Precision/mAP@.75IOU",
    "APs": "DetectionBoxes_Precision/mAP (small)",
    "APm": "DetectionBoxes_Precision/mAP (medium)",
    "APl": "DetectionBoxes_Precision/mAP (large)",
    "AR1": "DetectionBoxes_Recall/AR@1",
    "AR10": "DetectionBoxes_Recall/AR@10",
    "AR100": "DetectionBoxes_Recall/AR@100",
    "ARs": "DetectionBoxes_Recall/AR@100 (small)",
    "ARm": "DetectionBoxes_Recall/AR@100 (medium)",
    "ARl": "DetectionBoxes_Recall/AR@100 (large)",
}


class TensorBoard:
    """An observer. The files are made when there is something to write."""

    name = "TensorBoard"

    def __init__(
        self, folder: Path, detector: str, *, resumed_at: int, clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._losses = LOSSES[detector]
        self._train = _EventFile(folder / "train", resumed_at, clock)
        self._eval = _EventFile(folder / "eval", resumed_at, clock)
        self._monotonic = monotonic
        self._last: tuple[int, float] | None = None  # step and time, for steps per second
        self._step = resumed_at

    def notify(self, event: Event) -> None:
        match event:
            case LossSeen(step=step, gradient_norm=float()):
                self._train.write(step, self._scalars(event))
            case LossSeen(step=step):  # the means before a validation
                self._step = step
                self._last = None
            case ValidationDone(logs=logs):
                metrics = {METRICS[name]: value for name, value in logs.items() if name in METRICS}
                self._eval.write(self._step, metrics)
            case FitStarted():
                self._last = None
            case RolledBack(step=step):
                self._last = None
                self._train.roll_back(step)
                self._eval.roll_back(step)
            case FitDone():
                self._train.close()
                self._eval.close()

    def _scalars(self, loss: LossSeen) -> dict[str, float]:
        tags = {
            self._losses.get(name, f"Loss/{name}"): value
            for name, value in loss.logs.items()
            if name != "loss"
        }
        tags["Loss/total_loss"] = loss.logs["loss"]
        if loss.learning_rate is not None:
            tags["learning_rate"] = loss.learning_rate
        if loss.gradient_norm is not None:
            tags["gradient_norm"] = loss.gradient_norm
        now = self._monotonic()
        if self._last is not None and loss.step > self._last[0] and now > self._last[1]:
            tags["steps_per_sec"] = (loss.step - self._last[0]) / (now - self._last[1])
        self._last = (loss.step, now)
        return tags


class _EventFile:
    def __init__(self, folder: Path, resumed_at: int, clock: Callable[[], float]) -> None:
        self._folder, self._resumed_at, self._clock = folder, resumed_at, clock
        self._fd: int | None = None
        self._files = 0
        self._begins = True  # with the next file, from `resumed_at`

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        try:
            if self._fd is None:
                self._fd = self._opened()
            os.write(self._fd, framed(encode_event(self._clock(), step, scalars=scalars)))
        except OSError:
            self.close()  # a full disk may have cut an event, after which nothing more of a file is read
            raise

    def roll_back(self, step: int) -> None:
        """What was written for later steps is void: the next file has a session mark."""
        self.close()
        self._resumed_at, self._begins = step, True

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self) -> int:
        now = self._clock()
        self._folder.mkdir(parents=True, exist_ok=True)
        again = self._begins and (self._resumed_at > 0 or any(self._folder.glob("events.out.tfevents.*")))
        self._begins = False
        self._files += 1
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{self._files}.v2"
        fd = open_private(self._folder / name, os.O_WRONLY | os.O_APPEND)
        os.write(fd, framed(encode_event(now, 0, version="brain.Event:2")))
        if again:
            os.write(fd, framed(encode_event(now, self._resumed_at + 1, session_start=True)))
        return fd


def to_float32(value: float) -> float:
    """As a float of four bytes: beyond its range it is infinite."""
    return math.copysign(math.inf, value) if abs(value) > LARGEST else value


def encode_event(
    at: float,
    step: int,
    *,
    scalars: Mapping[str, float] | None = None,
    version: str = "",
    session_start: bool = False,
) -> bytes:
    """tensorflow.Event {1: wall time, 2: step, 3: version, 5: Summary {1: Value {1: tag, 2: float}}, 7: SessionLog}."""
    event = b"\x09" + struct.pack("<d", at) + b"\x10" + encoded(step)
    if version:
        event += delimited(3, version.encode())
    if scalars:
        values = [
            delimited(1, tag.encode()) + b"\x15" + struct.pack("<f", to_float32(value))
            for tag, value in scalars.items()
        ]
        event += delimited(5, b"".join(delimited(1, value) for value in values))
    if session_start:
        event += delimited(7, b"\x08\x01")  # status: START
    return event
