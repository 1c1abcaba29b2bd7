"""One image as a validation stream shows it, pixel for pixel: for those who have bytes and no dataset."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from holdfast.data.images.image_file import (
    ImageFacts,
    as_rgb,
    examine_bytes,
    header_of,
    open_image,
    unsupported_kind,
)
from holdfast.pipeline import batch_plan, decode
from holdfast.pipeline.dataset_columns import CODECS
from holdfast.pipeline.feed import PLAIN, Feed, ResizeMode


class PreparedImage(NamedTuple):
    """`mapping` is x_scale, y_scale, x_shift, y_shift of the upright image's pixels to the input's."""

    pixels: np.ndarray  # (height, width, 3) uint8
    mapping: np.ndarray
    facts: ImageFacts


class Undecodable(Exception):
    """The bytes are not a whole image; the text says why."""


class ImagePreparer:
    """Decodes, shrinks and places by the very operations of a stream, traced once. Threads may share it."""

    def __init__(self, height: int, width: int, fit: ResizeMode) -> None:
        self._feed = Feed(height, width, 1, shuffle=False, endless=False, fit=fit, augment=PLAIN)
        signature = [
            tf.TensorSpec([], tf.string), tf.TensorSpec([2], tf.float32),
            tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32),
        ]  # fmt: skip
        self._shown = tf.function(self._graph, autograph=False, input_signature=signature)

    def __call__(self, encoded: bytes) -> PreparedImage:
        facts = header_of(encoded)
        if facts is None or facts.problem:
            raise Undecodable((facts or examine_bytes(encoded)).detail or "no image format begins like this")
        if unsupported_kind(facts):
            encoded, facts = _as_png(encoded, facts)
        size = np.array(facts.upright_size, np.float32)
        codec, orientation = np.int32(CODECS[facts.format]), np.int32(facts.orientation)
        try:
            with tf.device("CPU:0"):
                pixels, mapping = self._shown(encoded, size, codec, orientation)
        except tf.errors.OpError as error:
            raise Undecodable(examine_bytes(encoded).detail or _first_line(error)) from None
        return PreparedImage(pixels.numpy(), mapping.numpy(), facts)

    def _graph(self, encoded: Any, size: Any, codec: Any, orientation: Any) -> tuple[Any, Any]:
        order, mapping = batch_plan.whole_image_instructions(size, codec, orientation, self._feed)
        pixels = decode.pixels(
            encoded,
            order[batch_plan.CODEC],
            order[batch_plan.RATIO],
            order[batch_plan.WINDOW],
            codecs=frozenset(CODECS.values()),
        )
        return decode.draw_on_tile(
            pixels, order[batch_plan.DRAWN], order[batch_plan.TILE], self._feed.fill
        ), mapping


def _as_png(encoded: bytes, facts: ImageFacts) -> tuple[bytes, ImageFacts]:
    """A kind that TensorFlow does not decode, in one that it does, without loss.

    The pixels stay as they are stored, and the orientation with them; a TIFF's facts and pixels are both upright.
    """
    made = BytesIO()
    try:
        image = as_rgb(open_image(encoded))
        image.save(made, "PNG", compress_level=0)
    except Exception as error:  # whatever a decoder of Pillow's may raise about a user's file
        raise Undecodable(str(error) or type(error).__name__) from None
    return made.getvalue(), replace(
        facts, format="PNG", mode="RGB", frames=1, width=image.width, height=image.height
    )


def _first_line(error: Any) -> str:
    return str(error.message).split("\n")[0].split("{{")[0].strip()[:200]
