"""A detector over files: images in any number and size, boxes in their own pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from holdfast.data.images.image_file import ImageFacts, refusal
from holdfast.data.records import ImageRef
from holdfast.detectors.anchors.letterbox import InputMapping
from holdfast.detectors.build import Detector
from holdfast.detectors.spec import DetectorSpec
from holdfast.errors import HoldfastError
from holdfast.pipeline.decode import Undecodable
from holdfast.pipeline.validation_image import ImagePreparer, PreparedImage

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ImageDetections:
    """What was found in one image; `problem` says why nothing could be, and then there are no boxes."""

    facts: ImageFacts
    boxes: Floats  # (k, 4), x1 y1 x2 y2 in pixels of the upright image
    scores: Floats
    classes: NDArray[np.int64]
    problem: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, upright."""
        return self.facts.upright_size


def detect_all(
    detector: Detector, images: Sequence[ImageRef], *, batch: int = 8, threads: int = 4
) -> Iterator[ImageDetections]:
    """One answer for each image, in order. The next batch is decoded while this one is computed."""
    yield from compiled_detector(detector)(images, batch=batch, threads=threads)


def compiled_detector(detector: Detector) -> Callable[..., Iterator[ImageDetections]]:
    """`detect_all` of this detector, for several calls: compiled once."""
    run, shown = compile_detect(detector), as_trained(detector.spec)

    def detect(images: Sequence[ImageRef], *, batch: int = 8, threads: int = 4) -> Iterator[ImageDetections]:
        return _detected(run, shown, images, batch, threads, detector.spec.input)

    return detect


def _detected(
    run: Any,
    shown: ImagePreparer,
    images: Sequence[ImageRef],
    batch: int,
    threads: int,
    input_size: tuple[int, int],
) -> Iterator[ImageDetections]:
    batches = [images[start : start + batch] for start in range(0, len(images), batch)]
    with ThreadPoolExecutor(threads) as pool:
        coming = [pool.submit(_prepare, shown, image) for image in (batches[0] if batches else [])]
        for index in range(len(batches)):
            ready = [future.result() for future in coming]
            following = batches[index + 1] if index + 1 < len(batches) else []
            coming = [pool.submit(_prepare, shown, image) for image in following]
            yield from _detections_of(run, ready, batch, input_size)


def as_trained(spec: DetectorSpec) -> ImagePreparer:
    """Encoded bytes to the input's pixels, as the detector saw them in training."""
    height, width = spec.input
    return ImagePreparer(height, width, spec.resizing)


def compile_detect(detector: Detector) -> Callable[[NDArray[np.uint8]], tuple[NDArray[Any], ...]]:
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


def _prepare(shown: ImagePreparer, image: ImageRef) -> PreparedImage | str:
    not_a_file = refusal(image)  # a pipe would be waited for without end
    if not_a_file is not None:
        return f"the image cannot be opened: {not_a_file.detail}"
    try:
        return shown(image.read())
    except HoldfastError as error:
        return error.what
    except (FileNotFoundError, PermissionError) as error:
        return f"the image cannot be opened: {error.strerror}"
    except (OSError, Undecodable) as error:
        return f"the image cannot be decoded: {error}"


def _detections_of(
    run: Any, ready: list[PreparedImage | str], batch: int, input_size: tuple[int, int]
) -> Iterator[ImageDetections]:
    # The last batch is filled up with black, so that it has the shape that was compiled.
    images = np.zeros((batch, *input_size, 3), dtype=np.uint8)
    for row, one in enumerate(ready):
        if isinstance(one, PreparedImage):
            images[row] = one.pixels
    boxes, scores, classes = run(images)
    for row, one in enumerate(ready):
        if isinstance(one, str):
            yield ImageDetections(ImageFacts(), np.zeros((0, 4)), np.zeros(0), np.zeros(0, np.int64), one)
            continue
        kept = classes[row] >= 0
        placed = InputMapping.of_mapping(one.mapping)
        yield ImageDetections(
            one.facts,
            placed.to_image(boxes[row][kept].astype(np.float64), one.facts.upright_size),
            scores[row][kept].astype(np.float64),
            classes[row][kept].astype(np.int64),
        )
