"""All bases: name -> function from a random generator to a draft of a healthy program."""

from __future__ import annotations

import random
from collections.abc import Callable

from ..draft import Draft
from . import detection, files, jax_bases, keras_loops, near_loops, tasks, torch_bases

Make = Callable[[random.Random], Draft]


def keras_base(task: str, feed: str, loop: str, backend: str, rng: random.Random) -> Draft:
    one: Draft = getattr(tasks, task)(rng)
    if backend != "tensorflow":
        one.features |= {f"{backend}-backend"}
        if backend == "torch":  # its steps are slow
            one.constants |= {"SAMPLES": "1000", "EPOCHS": "6", "LR": "3e-3"}
    else:
        one.features |= {"tensorflow"}
    getattr(keras_loops, f"feed_{feed}")(one)
    keras_loops.model_piece(one)
    {"fit": keras_loops.compile_and_fit, "step": keras_loops.custom_step, "tape": keras_loops.tape_loop}[
        loop
    ](one, rng)
    return one


_KERAS = """
binary arrays fit tensorflow
binary pydataset fit tensorflow
binary tfdata tape tensorflow
binary arrays fit jax
multiclass arrays fit tensorflow
multiclass tfdata fit tensorflow
multiclass generator fit tensorflow
multiclass tfdata step tensorflow
multiclass arrays fit torch
multilabel arrays fit tensorflow
multilabel tfdata fit tensorflow
regression arrays fit tensorflow
regression tfdata tape tensorflow
regression generator fit tensorflow
regression arrays fit jax
regression tfdata step tensorflow
image_classes arrays fit tensorflow
image_classes tfdata tape tensorflow
image_classes pydataset fit torch
image_binary tfdata fit tensorflow
image_binary generator fit tensorflow
segmentation tfdata fit tensorflow
segmentation tfdata tape tensorflow
sequence arrays fit tensorflow
sequence tfdata fit tensorflow
text arrays fit tensorflow
forecast pydataset fit tensorflow
forecast arrays fit tensorflow
autoencoder arrays fit tensorflow
autoencoder tfdata step tensorflow
"""
_TORCH = """
binary dataloader
multiclass dataloader
multiclass torch-dataset
regression dataloader
regression by-hand
multilabel torch-dataset
image_classes torch-dataset
image_binary dataloader
segmentation dataloader
autoencoder by-hand
"""
_JAX = """
binary adam
multiclass adam
multiclass momentum
regression adam
regression sgd
autoencoder adam
"""


def _keras(line: str) -> Make:
    task, feed, loop, backend = line.split()
    return lambda rng: keras_base(task, feed, loop, backend, rng)


def _torch(line: str) -> Make:
    task, feed = line.split()
    return lambda rng: torch_bases.torch_base(task, feed, rng)


def _jax(line: str) -> Make:
    task, update = line.split()
    return lambda rng: jax_bases.jax_base(task, update, rng)


BASES: dict[str, Make] = {
    **{"keras-" + line.replace(" ", "-"): _keras(line) for line in _KERAS.split("\n") if line},
    **{"torch-" + line.replace(" ", "-"): _torch(line) for line in _TORCH.split("\n") if line},
    **{"jax-" + line.replace(" ", "-"): _jax(line) for line in _JAX.split("\n") if line},
    "files-image-folder": files.image_folder,
    "files-image-paths": files.image_paths,
    "files-records": files.records,
    "files-table": files.table,
    "detection-grid-fit": lambda rng: detection.grid("fit", rng),
    "detection-grid-tape": lambda rng: detection.grid("tape", rng),
    "detection-grid-torch": detection.grid_torch,
    "detection-anchors-fit": lambda rng: detection.anchors("fit", rng),
    "detection-anchors-tape": lambda rng: detection.anchors("tape", rng),
}
NEAR_MISSES: dict[str, Make] = {f"near-{name}": make for name, make in near_loops.NEAR_MISSES.items()}


def make(name: str, rng: random.Random) -> Draft:
    one = {**BASES, **NEAR_MISSES}[name](rng)
    one.base = name
    return one
