"""What happens to a batch inside the compiled step: resizing, colour changes and normalisation, in keras.ops.

Batches travel as uint8, a quarter of the bytes of float32; these functions make floats of them where the
model runs. They are pure and take the random numbers as an argument (`batch["colour"]`), so TensorFlow and JAX
compute the same, and a resumed run too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import backend, ops

from holdfast.pipeline.feed import GREY

# Rec. 601 luma, and the rotation of hue in the plane of constant luma (YIQ).
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], np.float32)
FROM_YIQ = np.linalg.inv(TO_YIQ.astype(np.float64)).astype(np.float32)

IMAGENET_MEAN, IMAGENET_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)

#: How each family of ImageNet weights was trained: mean and scale of RGB in 0..255, and whether it saw BGR.
NORMS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float], bool]] = {
    "minus-one-to-one": ((127.5, 127.5, 127.5), (127.5, 127.5, 127.5), False),  # MobileNet
    "zero-to-one": ((0.0, 0.0, 0.0), (255.0, 255.0, 255.0), False),
    "imagenet": (IMAGENET_MEAN, IMAGENET_STD, False),  # torchvision's weights
    "caffe": ((123.68, 116.779, 103.939), (1.0, 1.0, 1.0), True),  # Keras' ResNet50 and VGG16
}


def resized(pixels_bpc: Any, view_b9: Any, height: int, width: int, fill: int = GREY) -> Any:
    """uint8 images (b, height, width, 3) of images that were sent as they are decoded, as `decode.drawn` makes them.

    `view` is a row of `decode.views`. Bilinear with half-pixel centres, four pixels looked up for each of the image: no
    table of weights, and nothing between that is larger than the image.
    """
    count, room = pixels_bpc.shape[:2]
    from_height, from_width, start, by_row, by_column, to_height, to_width, top, left = (
        view_b9[:, place] for place in range(9)
    )
    y, below, down, in_rows = _linear_weights(height, from_height, to_height, top)
    x, beside, along, in_columns = _linear_weights(width, from_width, to_width, left)
    first = (ops.arange(count, dtype="int32") * room + start)[:, None, None]
    flat = ops.reshape(pixels_bpc, (-1, 3))

    def at(row_bh: Any, column_bw: Any) -> Any:
        rows, columns = row_bh * by_row[:, None], column_bw * by_column[:, None]
        return ops.cast(ops.take(flat, first + rows[:, :, None] + columns[:, None, :], axis=0), "float32")

    along, down = along[:, None, :, None], down[:, :, None, None]
    upper, lower = at(y, x), at(below, x)
    upper = upper + (at(y, beside) - upper) * along
    lower = lower + (at(below, beside) - lower) * along
    mixed = upper + (lower - upper) * down
    inside = ops.logical_and(in_rows[:, :, None], in_columns[:, None, :])[..., None]
    return _barrier(ops.cast(ops.where(inside, mixed + 0.5, float(fill)), "uint8"))


def _barrier(images: Any) -> Any:
    """Kept apart from what follows by the compiler: it would look up every pixel again inside the sum that takes the
    mean for the contrast, which took 3.8 ms instead of 0.2 for 32 images on an H200."""
    if backend.backend() != "jax":
        return images
    import jax

    return jax.lax.optimization_barrier(images)


def _linear_weights(count: int, source_b: Any, drawn_b: Any, first_b: Any) -> tuple[Any, Any, Any, Any]:
    """(b, count) along one side of the image: the two pixels that each is made of, the second's share, and whether
    it is of the image at all."""
    place = ops.arange(count, dtype="int32")[None] - first_b[:, None]
    inside = ops.logical_and(place >= 0, place < drawn_b[:, None])
    source, drawn = (ops.cast(side, "float32")[:, None] for side in (source_b, drawn_b))
    at = (ops.cast(place, "float32") + 0.5) * (source / drawn) - 0.5
    at = ops.clip(at, 0.0, source - 1.0)
    low = ops.floor(at)
    one = ops.cast(low, "int32")
    return one, ops.minimum(one + 1, source_b[:, None] - 1), at - low, inside


def recoloured(images_bhwc: Any, colour_b4: Any) -> Any:
    """Float images in 0..255 with brightness, contrast, saturation and hue changed, as the batch says.

    Contrast, saturation and hue are one 3 x 3 matrix and an offset for each image, so the pixels are
    passed over once. A row (0, 1, 1, 0) changes nothing.
    """
    images = ops.cast(images_bhwc, "float32")
    brightness, contrast, saturation, hue = (colour_b4[:, place] for place in range(4))
    matrix = ops.matmul(_hue_matrix(hue), _saturation_matrix(saturation)) * contrast[:, None, None]
    mean_luma = ops.sum(ops.mean(images, axis=(1, 2)) * LUMA, axis=-1)
    offset = mean_luma * (1.0 - contrast) + brightness * 255.0
    # Not as a matrix product: three numbers are too few for one, and a sum of products fuses with what follows.
    by_source = ops.transpose(matrix, (0, 2, 1))[:, None, None]
    changed = (
        sum(images[..., c : c + 1] * by_source[..., c, :] for c in range(3)) + offset[:, None, None, None]
    )
    return ops.clip(changed, 0.0, 255.0)


def _saturation_matrix(saturation_b: Any) -> Any:
    by = saturation_b[:, None, None]
    return by * np.eye(3, dtype=np.float32) + (1.0 - by) * np.tile(LUMA, (3, 1))


def _hue_matrix(hue_b: Any) -> Any:
    angle = hue_b * (2.0 * np.pi)
    cos, sin = ops.cos(angle), ops.sin(angle)
    one, zero = ops.ones_like(cos), ops.zeros_like(cos)
    turned = ops.stack([one, zero, zero, zero, cos, -sin, zero, sin, cos], axis=-1)
    return ops.matmul(FROM_YIQ, ops.matmul(ops.reshape(turned, (-1, 3, 3)), TO_YIQ))


def normalised(images_bhwc: Any, norm: str, dtype: str = "float32") -> Any:
    """Float images as the backbone's weights expect them; `norm` is a name in NORMS."""
    mean, scale, reverse = NORMS[norm]
    images = (ops.cast(images_bhwc, "float32") - np.array(mean, np.float32)) / np.array(scale, np.float32)
    return ops.cast(ops.flip(images, axis=-1) if reverse else images, dtype)
