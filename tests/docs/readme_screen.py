"""The first screen of README.md, made by the program itself: `python -m tests.docs.readme_screen`.

Runs a small script with a memory leak under `holdfast run`, inside a control group with a memory limit, and prints what
Holdfast printed. Needs root and a `memory` control group (version 1), as the zoo does. Paste the output into README.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.zoo.trials import World
from tests.zoo.world import control_groups, entering

LIMIT_MIB = 1500
SCRIPT = """\
import keras
import numpy as np


class KeepFeatures(keras.callbacks.Callback):
    def __init__(self, extractor, images):
        super().__init__()
        self.extractor, self.images, self.features = extractor, images, []

    def on_train_batch_end(self, batch, logs=None):
        self.features.append(self.extractor(self.images))


images = np.random.default_rng(0).normal(size=(128, 64, 64, 3)).astype("float32")
inputs = keras.Input((64, 64, 3))
features = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
outputs = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling2D()(features))
model = keras.Model(inputs, outputs)
model.compile("adam", "mse")
keep = KeepFeatures(keras.Model(inputs, features), images[:16])
model.fit(images, images.mean(axis=(1, 2, 3)), batch_size=16, epochs=500, verbose=0, callbacks=[keep])
"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        control_groups(World(memory_mib=LIMIT_MIB), f"readme-{os.getpid()}") as groups,
    ):
        folder = Path(name)
        (folder / "train.py").write_text(SCRIPT)
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "100",
        }
        command = [*entering(groups, {}), "holdfast", "run", "--", "python", "train.py"]
        done = subprocess.run(
            command, cwd=folder, env=environment, text=True, capture_output=True, check=False
        )
    print("$ holdfast run -- python train.py")
    print(done.stderr or done.stdout)


if __name__ == "__main__":
    main()
