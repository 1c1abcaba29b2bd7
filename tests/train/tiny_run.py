"""The real loop, step, saver and journal around the tiny detector, in this process or as one of its own.

`python -m tests.train.tiny_run FOLDER [--resume] [--steps N]` is a run that can be killed at any instant.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.journal.events import Event
from holdfast.journal.folder import RunFolder
from holdfast.step.network import Network
from holdfast.step.optimizer import OptimizerConfig
from holdfast.train import loop_state
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.intervals import Interval
from holdfast.train.loop import LoopEffects, TrainingLoop, TrainingPlan
from holdfast.train.loop_state import LoopState
from holdfast.train.observers.observer import JournalObserver, Observer, Observers, TrainerHeartbeat
from holdfast.train.schedules import Schedule
from tests.train import tiny
from tests.waiting import PATIENCE_S

OPTIMIZER = OptimizerConfig(weight_decay=0.01, clip_norm=5.0, ema=0.9)
PLAN = TrainingPlan(
    name="tiny", steps=60, batch=8, images=20, schedule=Schedule("cosine", 0.01, 60, 5), checkpoint=Interval(steps=7),
    validate=Interval(steps=10), freeze_steps=3,
)  # fmt: skip


@contextlib.contextmanager
def exported(step: Any) -> Iterator[None]:
    """JAX keeps the weights apart from the model; a validation needs them in it."""
    step.export()
    yield


class Heard:
    name = "the test"

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class Tiny:
    """One attempt. `batches_seen` are the numbers of the batches that were drawn."""

    def __init__(
        self,
        folder: Path,
        plan: TrainingPlan = PLAN,
        *,
        again: bool = False,
        config: OptimizerConfig = OPTIMIZER,
        micro: int | None = None,
        network: Network | None = None,
        stop_signal: Callable[[], str] = lambda: "",
        batch: Callable[[int], Mapping[str, Any]] = tiny.batch,
        validate: Any = None,
        display: Callable[[TrainerHeartbeat], list[Observer]] = lambda heartbeat: [],
    ) -> None:
        folder.mkdir(exist_ok=True)
        run = RunFolder(folder)
        self.heard, self.drawn = Heard(), batch
        self.batches_seen: list[int] = []
        heartbeat = TrainerHeartbeat(run, 1)
        self.observers = Observers([JournalObserver(run, 1), self.heard, *display(heartbeat)])
        self.saver = AsyncCheckpointWriter(
            run.checkpoints, keep=3, notify=self.observers.notify, retry_after_s=0.05
        )
        step = tiny.step(network or tiny.network(dropout=True), config, size=plan.batch, micro=micro)
        now = LoopState()
        found = resume.newest_checkpoint(run.checkpoints, self.observers.notify) if again else None
        if found is not None:
            step = step.split(found.meta["micro_batch"])
            step.load(found.groups)
            now = loop_state.from_json(dict(found.meta["progress"]))
        self.model = step.network.model
        world = LoopEffects(
            batches=self._batches, image_names=lambda batch: [f"{number}.jpg" for number in batch["image"]],
            validate=validate or self._validate, serving_weights=exported,
            newest_checkpoint=self._newest, run_facts=dict, writer=self.saver, observers=self.observers,
            heartbeat=heartbeat, stop_signal=stop_signal,
        )  # fmt: skip
        self.folder = run
        self.loop = TrainingLoop(plan, step, now, world)

    def run(self) -> str:
        try:
            return self.loop.run()
        finally:
            self.saver.close(PATIENCE_S)

    def digest(self) -> str:
        """Of everything that must be the same: all arrays, and all that is counted beside them."""
        state = {**self.loop.step.export()}
        facts = np.frombuffer(repr(sorted(self.loop.state.as_json().items())).encode(), np.uint8)
        return checkpoint_files.digest_of({**state, "progress": {"json": facts}})

    def _batches(self, first: int) -> Iterator[Mapping[str, Any]]:
        number = first
        with (self.folder.path / "batches.log").open("a", buffering=1) as log:
            log.write("attempt\n")
            while True:
                self.batches_seen.append(number)
                log.write(f"{number}\n")
                yield self.drawn(number)
                number += 1

    def _validate(self, stop_requested: Callable[[], bool]) -> dict[str, float] | None:
        found = np.asarray(self.model(tiny.batch(999)["images"].astype(np.float32), training=False))
        return None if stop_requested() else {"AP": 1.0 / (1.0 + float(np.abs(found).mean()))}

    def _newest(self) -> Snapshot | None:
        self.saver.flush(20.0)
        return resume.newest_checkpoint(self.folder.checkpoints, self.observers.notify)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--steps", type=int, default=PLAN.steps)
    args = parser.parse_args()
    if os.environ.get("KERAS_BACKEND") != "jax":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
    asked: list[str] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append("SIGTERM"))
    plan = replace(PLAN, steps=args.steps, schedule=replace(PLAN.schedule, steps=args.steps))
    made = Tiny(args.folder, plan, again=args.resume, micro=4, stop_signal=lambda: asked[0] if asked else "")
    reason = made.run()
    print(reason, made.digest(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
