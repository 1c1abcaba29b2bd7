"""A detector over many images by several workers, each of which loads the model once.

A worker gets whole batches of the listing, the same as one process would make: the boxes are the same to the last bit
on processors of one kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.data.files import filesystem, process_pool
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.records import ImageRef
from holdfast.data.workers import worker_choice
from holdfast.data.workers.shard_results import ShardResults

if TYPE_CHECKING:
    from holdfast.detectors.inference import ImageDetections

BATCHES_A_TASK = 4

_loaded: tuple[tuple[str, str], Callable[..., Any]] | None = None  # of this worker


def detect_by_workers(model: Path, images: Sequence[ImageRef], *, batch: int) -> Iterator[ImageDetections]:
    """One answer for each image, in order."""
    where = str(model.resolve())
    batches = (tuple(images[start : start + batch]) for start in range(0, len(images), batch))
    shared = (where, os.environ.get("KERAS_BACKEND", "tensorflow"), batch)
    worker_choice.require_visible(model)
    results = None
    if worker_choice.current().on_ray:
        named = f"detect {shared} {filesystem.size_and_time(where)}"
        results = ShardResults(named, lambda answers: [facts_path for facts_path, _ in answers])
    done = process_pool.run(
        _detect, shared, batches, crashed=_crashed, chunk=BATCHES_A_TASK, memory_limit=False, results=results
    )
    for answers in done:
        yield from (answer for _, answer in answers)


def _detect(shared: tuple[str, str, int], images: tuple[ImageRef, ...]) -> list[tuple[str, ImageDetections]]:
    """In a worker."""
    global _loaded
    model, backend, batch = shared
    if _loaded is None or _loaded[0] != (model, backend):
        os.environ["KERAS_BACKEND"] = backend
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        from holdfast.detectors.inference import compiled_detector
        from holdfast.detectors.model_file import load

        _loaded = ((model, backend), compiled_detector(load(Path(model))))
    answers = _loaded[1](images, batch=batch)
    return [(image.path, answer) for image, answer in zip(images, answers, strict=True)]


def _crashed(images: tuple[ImageRef, ...]) -> list[tuple[str, ImageDetections]]:
    from holdfast.detectors.inference import ImageDetections

    said = "decoding it, or another image of its batch, ended the process that tried"
    nothing = np.zeros((0, 4)), np.zeros(0), np.zeros(0, np.int64)
    return [(image.path, ImageDetections(ImageFacts(), *nothing, said)) for image in images]
