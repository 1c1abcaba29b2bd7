"""The first screen of README.md, made by the program itself: `python -m tests.docs.readme_screen --write`.

Runs a small script with a memory leak under `holdfast run`, inside a control group with a memory limit, and prints what
Holdfast says at its end, or writes it into README.md. Needs root and a `memory` control group (version 1).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import ROOT
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
    screen = "\n".join(["$ holdfast run -- python train.py", *_end_of(_output())])
    if sys.argv[1:] == ["--write"]:
        readme = ROOT / "README.md"
        text = re.sub(
            r"(?<=```console\n).*?(?=\n```)", lambda _: screen, readme.read_text(), count=1, flags=re.S
        )
        readme.write_text(text)
    else:
        print(screen)


def _output() -> str:
    with (
        tempfile.TemporaryDirectory() as name,
        control_groups(World(memory_mib=LIMIT_MIB), f"readme-{os.getpid()}") as groups,
    ):
        (Path(name) / "train.py").write_text(SCRIPT)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        command = [*entering(groups, {}), "holdfast", "run", "--", "python", "train.py"]
        done = subprocess.run(
            command, cwd=name, env={**os.environ, "PATH": path}, text=True, capture_output=True, check=False
        )
    return done.stderr


def _end_of(output: str) -> list[str]:
    """From the line that says how the command ended; before it are TensorFlow's own lines."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("holdfast: the command")) :]


if __name__ == "__main__":
    main()
