"""Encoded bytes to the pixels of a tile: decoded small, cut, resized once into its place, uint8 throughout.

Every call into simplejpeg, OpenCV and Pillow that takes long releases the interpreter, so threads decode side by side.
"""

from __future__ import annotations

import threading
from typing import Any

import cv2
import numpy as np
import simplejpeg

from holdfast.data.images.image_file import as_rgb, open_image
from holdfast.pipeline.dataset_columns import JPEG

cv2.setNumThreads(
    1
)  # images are decoded side by side already: threads inside of one would only get in their way

RATIOS = (1, 2, 4, 8)
# EXIF orientation 1 to 8: the upright image is the stored one transposed, then mirrored.
TRANSPOSED = np.array([o >= 5 for o in range(9)])
MIRRORED_X = np.array([o in (2, 3, 6, 7) for o in range(9)])
MIRRORED_Y = np.array([o in (3, 4, 7, 8) for o in range(9)])
SCRATCH_BYTES = 64 << 20  # that a thread keeps for its next image; a larger image is given back at once


class Undecodable(Exception):
    """The bytes are not a whole image, or cannot be read; the text says why."""

    image = 0  # its number in the dataset, where it is of one


class Scratch(threading.local):
    """Memory of a thread for what is read and decoded: fresh pages cost time in every image."""

    def __init__(self) -> None:
        self._kept: dict[str, np.ndarray] = {}

    def bytes(self, use: str, size: int) -> np.ndarray:
        kept = self._kept.get(use)
        if kept is None or len(kept) < size:
            kept = np.empty(size, np.uint8)
            if size <= SCRATCH_BYTES:
                self._kept[use] = kept
        return kept[:size]


_scratch = Scratch()


def stored_window(crop_n4: Any, sizes_n2: Any, orientation_n: Any) -> Any:
    """(n, 4) y, x, height, width in the stored image for x1, y1, x2, y2 of the upright one."""
    x1, y1, x2, y2 = crop_n4.T
    width, height = sizes_n2.T
    mirrored_x, mirrored_y = MIRRORED_X[orientation_n], MIRRORED_Y[orientation_n]
    x1, x2 = np.where(mirrored_x, width - x2, x1), np.where(mirrored_x, width - x1, x2)
    y1, y2 = np.where(mirrored_y, height - y2, y1), np.where(mirrored_y, height - y1, y2)
    upright = np.stack([y1, x1, y2 - y1, x2 - x1], axis=1)
    turned = np.stack([x1, y1, x2 - x1, y2 - y1], axis=1)
    return np.where(TRANSPOSED[orientation_n][:, None], turned, upright)


def scratch_bytes(use: str, size: int) -> np.ndarray:
    """Memory of this thread; the next call for the same use may give the same."""
    return _scratch.bytes(use, size)


def whole(
    encoded: Any, codec: int, ratio: int, size: tuple[int, int], into: np.ndarray | None = None
) -> np.ndarray:
    """The stored image at 1/ratio, (height, width, 3); `size` is width and height at ratio 1, as the header has them.

    `into` is flat memory to decode into; what is returned may lie there. Raises Undecodable.
    """
    width, height = -(-size[0] // ratio), -(-size[1] // ratio)
    if codec == JPEG:
        if into is None:
            into = _scratch.bytes("decoded", 3 * width * height)
        try:
            return _as_expected(_jpeg(encoded, width, height, ratio, into), width, height)
        except ValueError as error:  # of four colours, say
            return _as_expected(_by_pillow(encoded, ratio, str(error)), width, height)
    return _as_expected(_by_pillow(encoded, ratio, ""), width, height)


def _jpeg(encoded: Any, width: int, height: int, ratio: int, into: np.ndarray) -> np.ndarray:
    least = {"min_width": width, "min_height": height} if ratio > 1 else {}
    try:
        return simplejpeg.decode_jpeg(
            encoded, "RGB", fastdct=True, fastupsample=True, buffer=into[: 3 * width * height], **least
        )
    except ValueError as error:
        # Stray bytes and the like do not matter; an end that is missing does.
        if "premature end" in str(error).lower() or "corrupt" not in str(error).lower():
            raise
        return simplejpeg.decode_jpeg(
            encoded, "RGB", fastdct=True, fastupsample=True, buffer=into[: 3 * width * height], strict=False, **least
        )  # fmt: skip


def _by_pillow(encoded: Any, ratio: int, why: str) -> np.ndarray:
    """Whatever Pillow reads, in 8-bit RGB as it is stored."""
    try:
        image = open_image(bytes(encoded))
        if ratio > 1:
            image.draft("RGB", (-(-image.width // ratio), -(-image.height // ratio)))
        return np.asarray(as_rgb(image))
    except Exception as error:  # whatever a decoder of Pillow's may raise about a user's file
        raise Undecodable(why or str(error) or type(error).__name__) from None


def _as_expected(image: np.ndarray, width: int, height: int) -> np.ndarray:
    if image.shape != (height, width, 3):
        found = f"{image.shape[1]}x{image.shape[0]}"
        raise Undecodable(f"the image has {found} pixels where its header says {width}x{height}")
    return image


def cut(image: np.ndarray, window: Any) -> np.ndarray:
    y, x, height, width = window
    return image[y : y + height, x : x + width]


def resized(image: np.ndarray, height: int, width: int, into: np.ndarray | None = None) -> np.ndarray:
    """uint8 to uint8: bilinear, after halving for as long as a side shrinks to less than half.

    Bilinear sampling at exactly half averages neighbours, so no pixel is passed over. JPEGs come here at less than
    twice their size.
    """
    if image.shape[:2] == (height, width):
        return image
    while _shrinks_below_half(image.shape[0], image.shape[1], height, width):
        halved = _halved(image.shape[1], width), _halved(image.shape[0], height)
        image = np.asarray(cv2.resize(image, halved, interpolation=cv2.INTER_LINEAR))
    return np.asarray(cv2.resize(image, (width, height), dst=into, interpolation=cv2.INTER_LINEAR))


def _shrinks_below_half(height: Any, width: Any, to_height: Any, to_width: Any) -> Any:
    return (height > 2 * to_height + 1) | (width > 2 * to_width + 1)


def _halved(side: int, to: int) -> int:
    return -(-side // 2) if side > 2 * to + 1 else side


def draw_on_tile(image: np.ndarray, order: Any, tile: np.ndarray, fill: int) -> None:
    """Puts the pixels at their place on a tile of grey.

    `order` is height, width, top, left, transpose, mirror y, mirror x.

    Height and width are those on the tile; the pixels still lie as they are stored.
    """
    height, width, top, left, transposed, mirror_y, mirror_x = order
    if (height, width) != tile.shape[:2]:
        tile[:top] = tile[top + height :] = fill
        tile[top : top + height, :left] = tile[top : top + height, left + width :] = fill
    place = tile[top : top + height, left : left + width]
    straight = not (transposed or mirror_y or mirror_x)
    image = resized(
        image, *((width, height) if transposed else (height, width)), into=place if straight else None
    )
    if transposed:
        image = cv2.transpose(image)
    if mirror_y or mirror_x:
        image = cv2.flip(image, -1 if mirror_y and mirror_x else int(mirror_x), dst=place)
    if not _is_same_memory(image, place):
        place[...] = image


def _is_same_memory(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.__array_interface__["data"] == other.__array_interface__["data"] and one.strides == other.strides
    )


# -- where the compiled step resizes ------------------------------------------------------------------


def device_views(
    window_b4: Any, order_b7: Any, whole_b: Any, size: tuple[int, int], pixels: int
) -> tuple[Any, Any]:
    """(b,) which images the step can resize itself, and (b, 9) how `device.resized` reads what is sent of each.

    The pixel at (y, x) of the upright, mirrored window is number start + y * by_row + x * by_column of those sent, so
    turning and mirroring cost nothing. An image that is no single window (`whole_b`), that has more pixels than are
    sent, or that must be averaged, is drawn here instead, and what is sent is the image itself.
    """
    stored_height, stored_width = window_b4[:, 2], window_b4[:, 3]
    to_height, to_width, top, left, turn, mirror_y, mirror_x = order_b7.T
    turned, one = turn > 0, np.ones_like(turn)
    height = np.where(turned, stored_width, stored_height)
    width = np.where(turned, stored_height, stored_width)
    by_row, by_column = np.where(turned, one, stored_width), np.where(turned, stored_width, one)
    start = mirror_y * (height - 1) * by_row + mirror_x * (width - 1) * by_column
    by_row, by_column = by_row * (1 - 2 * mirror_y), by_column * (1 - 2 * mirror_x)
    view = np.stack([height, width, start, by_row, by_column, to_height, to_width, top, left], axis=1)
    # The product may pass 2^31 for an image that is too large to be sent anyway.
    few = height.astype(np.int64) * width <= pixels
    fits = whole_b & ~_shrinks_below_half(height, width, to_height, to_width) & few
    ready = np.array([*size, 0, size[1], 1, *size, 0, 0], np.int32)
    return fits, np.where(fits[:, None], view, ready)
