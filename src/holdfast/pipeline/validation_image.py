"""One image as a validation stream shows it, pixel for pixel: for those who have bytes and no dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from holdfast.data.images.image_file import ImageFacts, examine_bytes, header_of, unsupported_kind
from holdfast.pipeline import batch_plan, decode
from holdfast.pipeline.dataset_columns import CODECS
from holdfast.pipeline.decode import Undecodable
from holdfast.pipeline.feed import PLAIN, Feed, ResizeMode


class PreparedImage(NamedTuple):
    """`mapping` is x_scale, y_scale, x_shift, y_shift of the upright image's pixels to the input's."""

    pixels: np.ndarray  # (height, width, 3) uint8
    mapping: np.ndarray
    facts: ImageFacts


class ImagePreparer:
    """Decodes, shrinks and places by the very operations of a stream. Threads may share it."""

    def __init__(self, height: int, width: int, fit: ResizeMode) -> None:
        self._feed = Feed(height, width, 1, shuffle=False, endless=False, fit=fit, augment=PLAIN)

    def __call__(self, encoded: bytes) -> PreparedImage:
        facts = header_of(encoded)
        if facts is None or facts.problem:
            raise Undecodable((facts or examine_bytes(encoded)).detail or "no image format begins like this")
        if unsupported_kind(facts):  # a training would not take it as it is; Pillow shows it all the same
            facts = replace(facts, format="PNG", mode="RGB", frames=1)
        size = np.array(facts.upright_size, np.float32)
        codec, orientation = np.int32(CODECS[facts.format]), np.int32(facts.orientation)
        order, mapping = batch_plan.whole_image_instructions(size, codec, orientation, self._feed)
        row = order.tolist()
        try:
            pixels = decode.whole(encoded, row[batch_plan.CODEC], row[batch_plan.RATIO], facts.size)
        except Undecodable as error:
            raise Undecodable(examine_bytes(encoded).detail or str(error)) from None
        canvas = np.empty((self._feed.height, self._feed.width, 3), np.uint8)
        window = decode.cut(pixels, row[batch_plan.WINDOW])
        decode.draw_on_tile(window, row[batch_plan.DRAWN], canvas, self._feed.fill)
        return PreparedImage(canvas, mapping, facts)
