"""A detector over files: pictures in any number and size, boxes in their own pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from holdfast.data.records import Picture
from holdfast.detectors.build import Detector
from holdfast.detectors.resizing import Placed, place, resized
from holdfast.errors import HoldfastError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found in one picture; `problem` says why nothing could be, and then there are no boxes."""

    size: tuple[int, int]  # width and height, upright
    boxes: Floats  # (k, 4), x1 y1 x2 y2 in pixels of the upright picture
    scores: Floats
    classes: NDArray[np.int64]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    size: tuple[int, int]
    pixels: NDArray[np.uint8] | None
    placed: Placed
    problem: str = ""


def detect_all(
    detector: Detector, pictures: Sequence[Picture], *, batch: int = 8, threads: int = 4
) -> Iterator[Seen]:
    """One answer for each picture, in order. The next batch is decoded while this one is computed."""
    run = compiled(detector)
    batches = [pictures[start : start + batch] for start in range(0, len(pictures), batch)]
    with ThreadPoolExecutor(threads) as pool:
        coming = [pool.submit(_prepare, detector, picture) for picture in (batches[0] if batches else [])]
        for index in range(len(batches)):
            ready = [future.result() for future in coming]
            following = batches[index + 1] if index + 1 < len(batches) else []
            coming = [pool.submit(_prepare, detector, picture) for picture in following]
            yield from _seen(run, ready, batch, detector.spec.input)


def compiled(detector: Detector) -> Callable[[NDArray[np.uint8]], tuple[NDArray[Any], ...]]:
    """`detect` on arrays, compiled once for each batch size."""
    if keras.backend.backend() == "jax":
        return _compiled_jax(detector)
    import tensorflow as tf

    function = tf.function(detector.detect, reduce_retracing=False)
    return lambda images: tuple(ops.convert_to_numpy(part) for part in function(tf.constant(images)))


def _compiled_jax(detector: Detector) -> Callable[[NDArray[np.uint8]], tuple[NDArray[Any], ...]]:
    import jax

    variables = list(detector.variables)

    def stateless(values: list[Any], images: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return detector.detect(images)

    jitted = jax.jit(stateless)
    return lambda images: tuple(
        np.asarray(part) for part in jitted([variable.value for variable in variables], np.asarray(images))
    )


def _prepare(detector: Detector, picture: Picture) -> _Ready:
    from PIL import Image, ImageOps

    nothing = Placed((1.0, 1.0), (0.0, 0.0))
    spec = detector.spec
    try:
        with Image.open(BytesIO(picture.read())) as opened:
            image = ImageOps.exif_transpose(opened).convert("RGB")
    except HoldfastError as error:
        return _Ready((0, 0), None, nothing, error.what)
    except (FileNotFoundError, PermissionError) as error:
        return _Ready((0, 0), None, nothing, f"the picture cannot be opened: {error.strerror}")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return _Ready((0, 0), None, nothing, f"the picture cannot be decoded: {error}")
    return _Ready(
        image.size, resized(image, spec.input, spec.resizing), place(image.size, spec.input, spec.resizing)
    )


def _seen(run: Any, ready: list[_Ready], batch: int, input_size: tuple[int, int]) -> Iterator[Seen]:
    # The last batch is filled up with black, so that it has the shape that was compiled.
    images = np.zeros((batch, *input_size, 3), dtype=np.uint8)
    for row, one in enumerate(ready):
        if one.pixels is not None:
            images[row] = one.pixels
    boxes, scores, classes = run(images)
    for row, one in enumerate(ready):
        kept = classes[row] >= 0 if one.pixels is not None else np.zeros(len(classes[row]), dtype=bool)
        own = one.placed.to_picture(boxes[row][kept].astype(np.float64), one.size)
        yield Seen(
            one.size,
            own,
            scores[row][kept].astype(np.float64),
            classes[row][kept].astype(np.int64),
            one.problem,
        )
