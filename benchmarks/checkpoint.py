"""The pause that a save adds to a step, and the time to resume, beside Keras' own callbacks in the same process.

    python benchmarks/checkpoint.py [--megabytes 40] [--saves 12]

The state is weights and AdamW's two moments of the size asked for. Ours is written in the background, so the
pause is the copy to the host; Keras writes while the step waits. Saves of the three take turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import ops

from holdfast.step.network import Network
from holdfast.step.optimizer import OptimizerConfig
from holdfast.step.tensorflow_step import TensorFlowStep
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import Snapshot

LAYERS = 8


def network(megabytes: float) -> Network:
    side = int((megabytes * 2**20 / 4 / 3 / LAYERS) ** 0.5)  # weights and two moments, four bytes each
    inputs = keras.Input((side,))
    x = inputs
    for number in range(LAYERS):
        x = keras.layers.Dense(side, activation="relu", name=f"layer_{number}")(x)
    model = keras.Model(inputs, x)
    return Network(model, lambda batch: {"loss": ops.mean(ops.square(model(batch["images"])), axis=-1)})


def timed(action: Callable[[], Any]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=40.0)
    parser.add_argument("--saves", type=int, default=12)
    args = parser.parse_args()
    net = network(args.megabytes)
    step = TensorFlowStep(net, OptimizerConfig(), batch=64, micro_batch=64)
    batch = {
        "images": np.random.default_rng(0).normal(size=(64, net.model.input_shape[1])).astype(np.float32)
    }
    take = lambda: step.fetch(step(batch, step=0, learning_rate=1e-4, frozen=False))  # noqa: E731
    take()
    net.model.compile(keras.optimizers.AdamW(1e-4), "mse")
    net.model.optimizer.build(net.model.trainable_variables)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), net.model, step, take, args.saves)


def measure(
    folder: Path, model: keras.Model, step: TensorFlowStep, take: Callable[[], Any], saves: int
) -> None:
    saver = AsyncCheckpointWriter(folder / "ours", keep=3, notify=lambda event: None)
    whole = keras.callbacks.ModelCheckpoint(str(folder / "keras.keras"))
    backup = keras.callbacks.BackupAndRestore(str(folder / "backup"))
    for callback in (whole, backup):
        callback.set_model(model)
        callback.on_train_begin()
    quiet: list[float] = []
    behind: list[float] = []
    pauses: dict[str, list[float]] = {"holdfast": [], "ModelCheckpoint": [], "BackupAndRestore": []}
    for number in range(saves):
        quiet += [timed(take) for _ in range(5)]
        pauses["holdfast"].append(timed(lambda n=number: saver.save(Snapshot(n, step.export(), {}))))
        while not saver.flush(0.0):  # the background write is felt here, if at all
            behind.append(timed(take))
        pauses["ModelCheckpoint"].append(timed(lambda n=number: whole.on_epoch_end(n, {})))
        pauses["BackupAndRestore"].append(timed(lambda n=number: backup.on_epoch_end(n, {})))
    saver.close()
    one = statistics.median(quiet)
    size = sum(file.stat().st_size for file in checkpoint_files.committed(folder / "ours")[-1].iterdir())
    print(f"state {size / 2**20:.1f} MiB, step {one * 1e3:.1f} ms (median of {len(quiet)})")
    for name, taken in pauses.items():
        pause = statistics.median(taken)
        print(f"{name:18} pause {pause * 1e3:8.1f} ms   {pause / one:7.2f} steps")
    slower = statistics.median(behind) / one if behind else 1.0
    print(f"steps while ours is written: {slower:.2f} of a step, {len(behind) / saves:.1f} of them a save")
    told = ", ".join(f"{name} {taken * 1e3:.0f} ms" for name, taken in resumes(folder, step, model).items())
    print(f"resume: {told} (ours with checksums; medians of 5)")


def resumes(folder: Path, step: TensorFlowStep, model: keras.Model) -> dict[str, float]:
    def ours() -> None:
        found, _ = checkpoint_files.newest_complete(folder / "ours")
        assert found is not None
        step.load(found.groups)

    def restored() -> None:
        again = keras.callbacks.BackupAndRestore(str(folder / "backup"))
        again.set_model(model)
        again.on_train_begin()

    ways = {
        "holdfast": ours,
        "keras.models.load_model": lambda: keras.models.load_model(folder / "keras.keras"),
        "BackupAndRestore": restored,
    }
    return {name: statistics.median(timed(way) for _ in range(5)) for name, way in ways.items()}


if __name__ == "__main__":
    main()
