"""Colour and normalisation as the compiled step computes them, against hand-computed pixels."""

from __future__ import annotations

import colorsys
import json
import os
import subprocess
import sys
from typing import Any

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.hot

from holdfast.pipeline import device_transforms  # noqa: E402

NOTHING = [0.0, 1.0, 1.0, 0.0]


def recoloured(pixels: list[list[int]], colour: list[float]) -> np.ndarray:
    image = np.array(pixels, np.uint8).reshape(1, 1, -1, 3)
    return np.asarray(device_transforms.recoloured(image, np.array([colour], np.float32)))[0, 0]


def test_nothing_changes_nothing() -> None:
    pixels = [[0, 0, 0], [255, 255, 255], [10, 200, 90]]
    assert np.abs(recoloured(pixels, NOTHING) - pixels).max() < 0.02


def test_brightness_is_added_and_clipped() -> None:
    assert recoloured([[100, 0, 250]], [0.1, 1, 1, 0])[0].tolist() == pytest.approx(
        [125.5, 25.5, 255.0], abs=0.05
    )


def test_contrast_turns_about_the_mean_luma() -> None:
    """Two greys of 50 and 150: the mean is 100, and twice the contrast makes 0 and 200."""
    assert recoloured([[50] * 3, [150] * 3], [0, 2, 1, 0])[:, 0].tolist() == pytest.approx(
        [0.0, 200.0], abs=0.05
    )


def test_no_saturation_is_grey_of_the_same_luma() -> None:
    assert recoloured([[255, 0, 0]], [0, 1, 0, 0])[0].tolist() == pytest.approx([76.245] * 3, abs=0.05)


def test_hue_turns_red_towards_green_and_keeps_the_luma() -> None:
    turned = recoloured([[150, 100, 100]], [0, 1, 1, 1 / 12])[0]
    assert turned @ device_transforms.LUMA == pytest.approx(
        np.array([150, 100, 100]) @ device_transforms.LUMA, abs=0.05
    )
    hue, _, _ = colorsys.rgb_to_hsv(*(turned / 255))
    assert hue == pytest.approx(1 / 12, abs=0.04) or hue == pytest.approx(11 / 12, abs=0.04)


def test_each_image_has_its_own_change() -> None:
    images = np.full((2, 1, 1, 3), 100, np.uint8)
    out = np.asarray(device_transforms.recoloured(images, np.array([NOTHING, [0.2, 1, 1, 0]], np.float32)))
    assert out[:, 0, 0, 0].tolist() == pytest.approx([100.0, 151.0], abs=0.05)


def test_normalised_as_the_weights_expect() -> None:
    pixel = np.array([[[[0, 127.5, 255]]]], np.float32)
    assert np.asarray(device_transforms.normalised(pixel, "minus-one-to-one")).ravel().tolist() == [
        -1.0,
        0.0,
        1.0,
    ]
    caffe = np.asarray(device_transforms.normalised(pixel, "caffe")).ravel()
    assert caffe.tolist() == pytest.approx([255 - 103.939, 127.5 - 116.779, 0 - 123.68], abs=1e-4)


def test_tensorflow_and_jax_compute_the_same() -> None:
    """The other backend in a process of its own, since Keras has one a process."""
    pytest.importorskip("tensorflow")
    program = (
        "import numpy as np\nfrom holdfast.pipeline import device_transforms as device\n"
        "i=np.arange(2*4*4*3,dtype='uint8').reshape(2,4,4,3)\n"
        "c=np.array([[.1,1.2,.7,.05],[-.1,.8,1.3,-.2]],'float32')\n"
        "found=np.asarray(device.normalised(device.recoloured(i,c),'imagenet')).round(4).tolist()"
    )
    here: dict[str, Any] = {}
    exec(program, here)
    other = {"tensorflow": "jax", "jax": "tensorflow"}[keras.backend.backend()]
    done = subprocess.run(
        [sys.executable, "-c", program + "\nprint(found)"],
        env={**os.environ, "KERAS_BACKEND": other, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    ours, theirs = np.array(here["found"]), np.array(json.loads(done.stdout))
    assert np.abs(ours - theirs).max() < 1e-3
