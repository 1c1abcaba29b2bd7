"""JPEG decoders and resizers for Python, by CPU time on one core: what the input pipeline chose from.

    python benchmarks/decoders.py [--images FOLDER]

Takes whatever of them is installed: simplejpeg, opencv-python-headless, pillow, tensorflow-cpu, kornia-rs, av.
Images are those of `benchmarks/pipeline.py`; each number is the best of five rounds, in milliseconds of CPU time.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pipeline import SIZES, generate

COUNTS = {"0.5": 16, "3": 8, "12": 4}
CASES = (("0.5", 1), ("3", 1), ("3", 4), ("12", 1), ("12", 8))  # megapixels, decoded at 1/
TO = (512, 384)
Decode = Callable[[bytes], Any]


def by_simplejpeg(ratio: int, size: tuple[int, int], *, fast: bool) -> Decode:
    import simplejpeg

    width, height = -(-size[0] // ratio), -(-size[1] // ratio)
    least = {"min_width": width, "min_height": height} if ratio > 1 else {}
    into = np.empty(3 * width * height, np.uint8)
    return lambda data: simplejpeg.decode_jpeg(
        data, "RGB", fastdct=fast, fastupsample=fast, buffer=into, **least
    )


def by_opencv(ratio: int, size: tuple[int, int]) -> Decode:
    import cv2

    how = {1: cv2.IMREAD_COLOR_RGB, 2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4,
           8: cv2.IMREAD_REDUCED_COLOR_8}[ratio]  # fmt: skip
    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), how | cv2.IMREAD_IGNORE_ORIENTATION)


def by_pillow(ratio: int, size: tuple[int, int]) -> Decode:
    from PIL import Image

    def decode(data: bytes) -> Any:
        image = Image.open(io.BytesIO(data))
        image.draft("RGB", (-(-size[0] // ratio), -(-size[1] // ratio)))
        return np.asarray(image)

    return decode


def by_tensorflow(ratio: int, size: tuple[int, int]) -> Decode:
    import tensorflow as tf

    return tf.function(lambda data: tf.io.decode_jpeg(data, channels=3, ratio=ratio))


def by_kornia(ratio: int, size: tuple[int, int]) -> Decode:
    import kornia_rs

    if ratio > 1:
        raise NotImplementedError("decodes whole images only")
    return lambda data: kornia_rs.io.decode_image_jpegturbo(data, "rgb")


def by_av(ratio: int, size: tuple[int, int]) -> Decode:
    import av

    context = av.CodecContext.create("mjpeg", "r")
    context.thread_count = 1
    if ratio > 1:
        context.options = {"lowres": str(ratio.bit_length() - 1)}
    return lambda data: context.decode(av.Packet(data))


DECODERS: dict[str, tuple[str, Callable[[int, tuple[int, int]], Decode]]] = {
    "simplejpeg, fast": ("simplejpeg", lambda ratio, size: by_simplejpeg(ratio, size, fast=True)),
    "simplejpeg": ("simplejpeg", lambda ratio, size: by_simplejpeg(ratio, size, fast=False)),
    "OpenCV": ("opencv-python-headless", by_opencv),
    "Pillow": ("pillow", by_pillow),
    "TensorFlow": ("tensorflow-cpu", by_tensorflow),
    "kornia-rs (libjpeg-turbo)": ("kornia-rs", by_kornia),
    "PyAV (FFmpeg, without colour conversion)": ("av", by_av),
}


def resizers() -> dict[str, Callable[[], Callable[[np.ndarray], Any]]]:
    def opencv(name: str) -> Callable[[], Callable[[np.ndarray], Any]]:
        def make() -> Callable[[np.ndarray], Any]:
            import cv2

            cv2.setNumThreads(1)
            into = np.empty((TO[1], TO[0], 3), np.uint8)
            return lambda image: cv2.resize(image, TO, dst=into, interpolation=getattr(cv2, name))

        return make

    def pillow() -> Callable[[np.ndarray], Any]:
        from PIL import Image

        return lambda image: np.asarray(Image.fromarray(image).resize(TO, Image.Resampling.BILINEAR))

    def kornia() -> Callable[[np.ndarray], Any]:
        import kornia_rs

        return lambda image: kornia_rs.resize(image, TO[::-1], "bilinear")

    return {
        **{f"OpenCV, {name}": opencv(name) for name in ("INTER_LINEAR", "INTER_LINEAR_EXACT", "INTER_AREA")},
        "Pillow": pillow,
        "kornia-rs": kornia,
    }


def cpu_ms(work: Callable[[Any], Any], inputs: list[Any], times: int) -> float:
    work(inputs[0])
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for number in range(times):
            work(inputs[number % len(inputs)])
        rounds.append((time.process_time() - began) / times * 1000)
    return min(rounds)


def installed_mb(package: str) -> float:
    """Of its own files; what it requires is not counted."""
    files = metadata.distribution(package).files or []
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--images", type=Path, default=Path(tempfile.gettempdir()) / "holdfast-benchmark-images"
    )
    folder = parser.parse_args().images
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    data = {
        mp: [Path(path).read_bytes() for path in generate(folder, mp, count)] for mp, count in COUNTS.items()
    }
    print(
        f"{'ms of CPU time':42}"
        + "".join(f"{f'{mp} MP, 1/{ratio}':>12}" for mp, ratio in CASES)
        + "  installed"
    )
    for name, (package, make) in DECODERS.items():
        try:
            size = installed_mb(package)
        except metadata.PackageNotFoundError:
            print(f"{name:42}  not installed: LEFT OUT")
            continue
        cells = []
        for megapixels, ratio in CASES:
            try:
                found = cpu_ms(make(ratio, SIZES[megapixels]), data[megapixels], 4 * COUNTS[megapixels])
                cells.append(f"{found:12.2f}")
            except NotImplementedError:
                cells.append(f"{'–':>12}")
        print(f"{name:42}" + "".join(cells) + f"{size:8.1f} MB", flush=True)
    image = np.random.default_rng(0).integers(0, 256, (612, 816, 3), dtype=np.uint8)
    print(f"\n{'816x612 to 512x384, uint8, ms':42}")
    for name, resizer in resizers().items():
        try:
            print(f"{name:42}{cpu_ms(resizer(), [image], 40):12.2f}", flush=True)
        except ImportError:
            print(f"{name:42}  not installed: LEFT OUT")


if __name__ == "__main__":
    main()
