"""Our compiled step on TensorFlow against plain Keras `fit` of the same detector, on the CPU, both through XLA or not.

    python benchmarks/step_cpu.py [--no-xla] [--steps 2] [--rounds 24]

Both train SSD on MobileNetV2 with SGD, momentum, decay, clipping by the global norm and an average of the weights, on
the same uint8 batch. Ours also decides whether the step was finite, and could be undone. Rounds take turns, so that a
busy machine slows both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from h200_ours import Size, batch_of

from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec
from holdfast.step.network import detector_network
from holdfast.step.optimizer import OptimizerConfig
from holdfast.step.tensorflow_step import TensorFlowStep

SIZE = Size("ssd", "mobilenet_v2", 160, 4, 5, boxes=4, places=16, precision="float32")


def detector() -> Any:
    names = tuple(f"class {index}" for index in range(SIZE.classes))
    return build(DetectorSpec("ssd", "mobilenet_v2", names, (SIZE.side, SIZE.side)))


class Plain(keras.Model):
    """What a tutorial would write: the loss in `compute_loss`, everything else Keras'."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.inner, self.network = network.model, network

    def call(self, batch: dict[str, Any]) -> Any:
        return self.network.losses(batch)

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, *_: Any, **__: Any) -> Any:
        return sum(tf.reduce_mean(part) for part in y_pred.values())


def plain_fit(batch: dict[str, Any], xla: bool) -> Any:
    model = Plain(detector_network(detector(), changes_colour=True, seed=0))
    optimizer = keras.optimizers.SGD(
        1e-3, momentum=0.9, weight_decay=1e-4, global_clipnorm=10.0, use_ema=True, ema_momentum=0.9998
    )
    model.compile(optimizer, jit_compile=xla)
    data = tf.data.Dataset.from_tensors((batch, np.zeros(SIZE.batch, np.float32))).repeat()
    return lambda steps: model.fit(data, steps_per_epoch=steps, epochs=1, verbose=0)


def our_steps(batch: dict[str, Any], xla: bool) -> Any:
    network = detector_network(detector(), changes_colour=True, seed=0)
    config = OptimizerConfig("sgd", weight_decay=1e-4, clip_norm=10.0, ema=0.9998)
    step = TensorFlowStep(network, config, batch=SIZE.batch, micro_batch=SIZE.batch, jit=xla)

    def run(steps: int) -> None:
        for index in range(steps):
            step.fetch(step(batch, step=index, learning_rate=1e-3, frozen=False))

    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-xla", action="store_true")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=24)
    args = parser.parse_args()
    batch = {name: tf.constant(value) for name, value in batch_of(SIZE, 0).items()}
    with_step = batch | {"step": tf.zeros((SIZE.batch,), tf.int32)}
    contenders = {
        "Keras fit": plain_fit(with_step, not args.no_xla),
        "Holdfast": our_steps(batch, not args.no_xla),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for name, run in contenders.items():
        began = time.perf_counter()
        run(2)
        print(
            f"{name}: the first two steps, compiling included, {time.perf_counter() - began:.1f} s",
            flush=True,
        )
    for _ in range(args.rounds):
        for name, run in contenders.items():
            began = time.perf_counter()
            run(args.steps)
            seconds[name].append((time.perf_counter() - began) / args.steps)
            print(f"{name}: {1e3 * seconds[name][-1]:.0f} ms a step", flush=True)
    for name, each in seconds.items():
        rounds = " ".join(f"{1e3 * one:.0f}" for one in each)
        print(f"{name:10} {1e3 * statistics.median(each):7.1f} ms a step  (rounds: {rounds})")
    ratios = [ours / fit for ours, fit in zip(seconds["Holdfast"], seconds["Keras fit"], strict=True)]
    print(f"Holdfast / Keras fit, round by round: {' '.join(f'{ratio:.3f}' for ratio in ratios)}")
    print(f"the median of them: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
