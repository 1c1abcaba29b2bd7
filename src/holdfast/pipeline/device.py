"""What happens to a batch inside the compiled step: colour changes and normalisation, in keras.ops.

Batches travel as uint8, a quarter of the bytes of float32; these functions make floats of them where the
model runs. They are pure and take the random numbers as an argument (`batch["colour"]`), so TensorFlow and JAX
compute the same, and a resumed run too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

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


def recoloured(images_bhwc: Any, colour_b4: Any) -> Any:
    """Float images in 0..255 with brightness, contrast, saturation and hue changed, as the batch says.

    Contrast, saturation and hue are one 3 x 3 matrix and an offset for each picture, so the pixels are
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
