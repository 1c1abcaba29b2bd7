"""One picture as a validation stream shows it, pixel for pixel: for those who have bytes and no dataset."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from holdfast.data.pictures import Facts, as_rgb, examine, header_of, odd_kind, open_image
from holdfast.pipeline import decode, plan
from holdfast.pipeline.columns import CODECS
from holdfast.pipeline.feed import PLAIN, Feed, Fit


class Shown(NamedTuple):
    """`mapping` is x_scale, y_scale, x_shift, y_shift of the upright picture's pixels to the input's."""

    pixels: np.ndarray  # (height, width, 3) uint8
    mapping: np.ndarray
    facts: Facts


class Undecodable(Exception):
    """The bytes are not a whole picture; the text says why."""


class WholePictures:
    """Decodes, shrinks and places by the very operations of a stream, traced once. Threads may share it."""

    def __init__(self, height: int, width: int, fit: Fit) -> None:
        self._feed = Feed(height, width, 1, shuffle=False, endless=False, fit=fit, augment=PLAIN)
        signature = [
            tf.TensorSpec([], tf.string), tf.TensorSpec([2], tf.float32),
            tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32),
        ]  # fmt: skip
        self._shown = tf.function(self._graph, autograph=False, input_signature=signature)

    def __call__(self, encoded: bytes) -> Shown:
        facts = header_of(encoded)
        if facts is None or facts.problem:
            raise Undecodable((facts or examine(encoded)).detail or "no picture format begins like this")
        if odd_kind(facts):
            encoded, facts = _as_png(encoded, facts)
        size = np.array(facts.upright_size, np.float32)
        codec, orientation = np.int32(CODECS[facts.format]), np.int32(facts.orientation)
        try:
            with tf.device("CPU:0"):
                pixels, mapping = self._shown(encoded, size, codec, orientation)
        except tf.errors.OpError as error:
            raise Undecodable(examine(encoded).detail or _first_line(error)) from None
        return Shown(pixels.numpy(), mapping.numpy(), facts)

    def _graph(self, encoded: Any, size: Any, codec: Any, orientation: Any) -> tuple[Any, Any]:
        order, mapping = plan.whole_picture(size, codec, orientation, self._feed)
        pixels = decode.pixels(
            encoded,
            order[plan.CODEC],
            order[plan.RATIO],
            order[plan.WINDOW],
            codecs=frozenset(CODECS.values()),
        )
        return decode.drawn(pixels, order[plan.DRAWN], order[plan.TILE], self._feed.fill), mapping


def _as_png(encoded: bytes, facts: Facts) -> tuple[bytes, Facts]:
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
