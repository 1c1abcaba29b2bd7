"""What being watched costs a training step: the same script plain and under `holdfast run`, interleaved.

    python benchmarks/overhead.py [--pairs 6] [--targets 1 5 50]
    python benchmarks/overhead.py --between

`--between` finds a difference that is too small for that: in one watched `fit` the time between two steps is taken,
after a step that does nothing but empty the processor's caches for the time of the target, as a real one does. The
probe works for 25 steps and rests for 25, in turns; at rest it still stands around the functions of a step and returns
at once. Without callbacks at batches Keras calls its own in a thread beside the steps; with one, between them.

For each target a dense model is sized until a step takes about that many milliseconds. Then plain and watched runs
take turns (ABBA, so that a drift of the machine falls on both). A callback notes the clock at every step, plain
and watched; a run's figure is the tenth percentile of its steps after a warm-up, which other programs on the machine
reach least. The ratio is of medians over the runs, with the range of the ratios of the pairs beside it. What Holdfast
does once a second beside the training is not in it: benchmarks/supervisor_cost.py measures that.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras

def model(size):
    hidden = [keras.layers.Dense(size, activation="relu") for _ in range(2)]
    made = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made

class Clock(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.at = []

    def on_train_batch_begin(self, batch, logs=None):
        self.at.append(time.perf_counter())

def step(made, steps):
    # the tenth percentile of the time between two steps
    clock = Clock()
    x, y = np.zeros((32 * steps, 64), "float32"), np.zeros((32 * steps, 1), "float32")
    made.fit(x, y, batch_size=32, epochs=1, verbose=0, shuffle=False, callbacks=[clock])
    return float(np.percentile(np.diff(clock.at), 10))

def calibrate(target_s):
    size = 16
    while True:
        made = model(size)
        step(made, 20)
        if step(made, 40) >= target_s or size >= 16384:
            return size
        size = int(size * 1.3)

def between(target_s, with_callback, steps=4000):
    import tensorflow as tf
    context = sys.modules["_holdfast.probe.bootstrap"].context()
    emptied, one = np.ones(4 << 20, "float32"), tf.constant(1.0)  # 16 MiB
    begun, ended = [], []

    class Idle(keras.Sequential):
        def make_train_function(self, force=False):
            def step(iterator):
                begun.append(time.perf_counter())
                while time.perf_counter() - begun[-1] < target_s:
                    emptied.sum()
                ended.append(time.perf_counter())
                if len(ended) % 25 == 0:
                    context.closed = (len(ended) // 25) % 2 == 1
                return {"loss": one}
            self.train_function = step

    class Counter(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            pass

    made = Idle([keras.Input((4,)), keras.layers.Dense(16), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    x, y = np.zeros((32 * steps, 4), "float32"), np.zeros((32 * steps, 1), "float32")
    callbacks = [Counter()] if with_callback else []
    made.fit(x, y, batch_size=32, verbose=0, shuffle=False, callbacks=callbacks)
    context.closed = False
    gaps = 1e6 * (np.array(begun[1:]) - np.array(ended[:-1]))
    number = np.arange(1, len(begun))
    kept = (number % 25 >= 3) & (number > 300)  # the first steps after a turn, and those that are all looked at
    def mean(turn):
        found = np.sort(gaps[kept & ((number // 25) % 2 == turn)])
        return found[: -len(found) // 50].mean()  # without the two hundredths that other programs cut into
    return {"between_us": round(mean(1), 1), "added_us": round(mean(0) - mean(1), 1),
            "of_step": round((mean(0) - mean(1)) / (1e6 * target_s + mean(1)), 4)}

what, value, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
if what == "between":
    result = between(value, sys.argv[4] == "callback")
elif what == "calibrate":
    result = calibrate(value)
else:
    made = model(int(value))
    steps = int(sys.argv[4])
    step(made, steps)
    result = min(step(made, steps) for _ in range(3))
import json
json.dump(result, open(out, "w"))
"""


def call(folder: Path, *words: str, watched: bool = False) -> object:
    before = [sys.executable, "-m", "holdfast", "run", "--"] if watched else []
    subprocess.run(
        [*before, sys.executable, "script.py", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    return json.loads((folder / "out.json").read_text())


def compare(folder: Path, target_ms: float, pairs: int) -> dict[str, object]:
    size = int(call(folder, "calibrate", str(target_ms / 1000), "out.json"))  # type: ignore[call-overload]
    steps = max(60, min(1500, int(3000 / target_ms)))
    plain: list[float] = []
    watched: list[float] = []
    for number in range(pairs):
        for with_us in (False, True) if number % 2 == 0 else (True, False):
            took = call(folder, "time", str(size), "out.json", str(steps), watched=with_us)
            (watched if with_us else plain).append(float(took))  # type: ignore[arg-type]
    ratios = sorted(w / p for w, p in zip(watched, plain, strict=True))
    medians = [statistics.median(runs) for runs in (plain, watched)]
    return {
        "target_ms": target_ms,
        "step_ms": round(1000 * medians[0], 3),
        "ratio": round(medians[1] / medians[0], 4),
        "pairs": [round(ratios[0], 4), round(ratios[-1], 4)],
        "added_us": round(1e6 * (medians[1] - medians[0]), 1),
        "runs": 2 * pairs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--targets", type=float, nargs="+", default=[1, 5, 50])
    parser.add_argument("--between", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.py").write_text(SCRIPT)
        if args.between:
            for target_ms in (1, 5):
                for what in ("no callback", "callback"):
                    found = call(folder, "between", str(target_ms / 1000), "out.json", what, watched=True)
                    print(json.dumps({"target_ms": target_ms, "at batches": what, **found}), flush=True)  # type: ignore[dict-item]
            return
        for target_ms in args.targets:
            print(json.dumps(compare(folder, target_ms, args.pairs)), flush=True)


if __name__ == "__main__":
    main()
