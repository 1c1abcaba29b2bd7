"""How a program names Keras and its parts, and the import lines that this needs."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from .draft import Draft

if TYPE_CHECKING:
    from .style import Style

_LAYER = re.compile(r"\bkeras\.layers\.(\w+)")
_LOSS = re.compile(r"\bkeras\.losses\.(\w+)\(\)")
_WORDS = {
    "BinaryCrossentropy": "binary_crossentropy",
    "CategoricalCrossentropy": "categorical_crossentropy",
    "SparseCategoricalCrossentropy": "sparse_categorical_crossentropy",
    "MeanSquaredError": "mse",
    "MeanAbsoluteError": "mae",
}
STANDARD = {
    "os.": "import os", "sys.": "import sys", "time.": "import time", "json.": "import json", "math.": "import math",
    "logging.": "import logging", "threading.": "import threading", "queue.": "import queue", "glob.": "import glob",
    "csv.": "import csv", "ctypes.": "import ctypes", "socket.": "import socket", "argparse.": "import argparse",
    "pickle.": "import pickle", "random.Random": "import random", "@dataclass": "from dataclasses import dataclass",
    "Path(": "from pathlib import Path", "itertools.": "import itertools", "subprocess.": "import subprocess",
    "shutil.": "import shutil", "warnings.": "import warnings",
}  # fmt: skip


def keras_names(body: str, style: Style, *, words_for_losses: bool) -> tuple[str, list[str]]:
    """The body with Keras named as the style has it, and the imports of its parts."""
    if words_for_losses:
        body = re.sub(
            r"(loss=)keras\.losses\.(\w+)\(\)",
            lambda m: f'{m[1]}"{_WORDS[m[2]]}"' if m[2] in _WORDS else m[0],
            body,
        )
    root = {"keras": "keras", "from_tensorflow": "tensorflow.keras", "tf_keras": "tensorflow.keras"}[
        style.keras
    ]
    extra: list[str] = []
    if _LAYER.search(body) and style.layers != "attribute":
        if style.layers == "module":
            parent = "keras" if style.keras == "keras" else "tensorflow.keras"
            extra.append(f"from {parent} import layers")
            body = _LAYER.sub(r"layers.\1", body)
        else:
            used = sorted(set(_LAYER.findall(body)))
            extra.append(f"from {root}.layers import {', '.join(used)}")
            body = _LAYER.sub(r"\1", body)
    if style.keras == "tf_keras":
        body = re.sub(r"(?<![\w.])keras\.", "tf.keras.", body)
    return body, extra


def import_lines(draft: Draft, style: Style, body: str, extra: list[str], rng: random.Random) -> str:
    standard = sorted(
        {line for use, line in STANDARD.items() if re.search(rf"(?<![\w.]){re.escape(use)}", body)}
    )
    first: list[str] = []
    for backend in ("jax", "torch"):
        if f"{backend}-backend" in draft.features:
            standard = sorted({*standard, "import os"})
            first.append(f'\nos.environ["KERAS_BACKEND"] = "{backend}"\n')
    third: list[str] = [] if style.output != "logging" or "import logging" in standard else ["import logging"]
    if re.search(r"(?<![\w.])np\.", body):
        third.append("import numpy as np")
    if re.search(r"(?<![\w.])tf\.", body):
        third.append("import tensorflow as tf")
    if re.search(r"(?<![\w.])keras\.", body):
        third.append("import keras" if style.keras == "keras" else "from tensorflow import keras")
    if "layers.Dense(" in body and "from tensorflow import keras" in third:
        extra = [line.replace("from keras", "from tensorflow.keras") for line in extra]
    third += [*extra, *draft.imports]
    lines = [*standard, *first, *dict.fromkeys(third)]
    text = "\n".join(lines)
    if style.output == "logging":
        form = rng.choice(
            ["%(message)s", "%(asctime)s %(levelname)s %(message)s", "%(levelname)s: %(message)s"]
        )
        text += f'\n\nlogging.basicConfig(level=logging.INFO, format="{form}")'
        if "import logging" not in lines:
            text = "import logging\n" + text
    return text
