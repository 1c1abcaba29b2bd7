"""What being watched costs a training step: the same script plain and under `holdfast run`, interleaved.

    python benchmarks/overhead.py [--pairs 6] [--targets 1 5 50] [--own]

`--own` measures on a busy machine too: the callbacks of a step are called by themselves some ten thousand times, plain
and watched, and the fastest round of each counts. It leaves out what the step's own function costs to be watched (two
microseconds).

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

def own(rounds):
    # microseconds that the calls around one step take, of the fastest round
    import tensorflow as tf
    made = model(64)
    made.fit(np.zeros((64, 64), "float32"), np.zeros((64, 1), "float32"), verbose=0)
    told = keras.callbacks.CallbackList([], add_history=False, add_progbar=False, model=made, epochs=1, steps=10**9)
    logs = {"loss": tf.constant(0.5)}
    told.on_train_begin()
    told.on_epoch_begin(0)
    best = float("inf")
    for number in range(rounds):
        began = time.perf_counter()
        for batch in range(100):
            told.on_train_batch_begin(100 * number + batch)
            told.on_train_batch_end(100 * number + batch, logs)
        best = min(best, (time.perf_counter() - began) / 100)
        time.sleep(0.002)
    return 1e6 * best

what, value, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
if what == "own":
    result = own(int(value))
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
    parser.add_argument("--own", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.py").write_text(SCRIPT)
        if args.own:
            plain, watched = (
                call(folder, "own", "150", "out.json", watched=with_us) for with_us in (False, True)
            )
            print(json.dumps({"plain_us": plain, "watched_us": watched}))
            return
        for target_ms in args.targets:
            print(json.dumps(compare(folder, target_ms, args.pairs)), flush=True)


if __name__ == "__main__":
    main()
